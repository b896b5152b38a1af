//! The training loop on the device, the same for all variants.

use std::ops::Range;

use perfharness_gpu::{Bound, Buffer, Commands, Gpu, GpuError, Slice};

use crate::batch::{Batch, Element, POOL, SCALARS};

/// A training loop whose scalars stay on the device until they are read.
#[derive(Debug)]
pub(crate) struct Training {
    pub(crate) gpu: Gpu,
    steps: u64,
    /// Number of steps whose scalars the device keeps: step `n` overwrites the scalars of step `n - kept`.
    kept: u64,
    /// Number of the next step. It is kept on the device, so that a step needs nothing from the host.
    counter: Buffer,
    scalars: Buffer,
    batches: Vec<Buffer>,
    kernels: Vec<Bound>,
    /// Batch of this iteration.
    current: usize,
}

impl Training {
    pub(crate) fn new(gpu: Gpu, steps: u64, kept: u64) -> Result<Self, GpuError> {
        let counter = gpu.buffer_for::<u32>("step", 1)?;
        let scalars = gpu.buffer_for::<f32>("scalars", SCALARS as u64 * kept)?;
        let pipeline = gpu.pipeline("training-step", include_str!("kernel.wgsl"), "main")?;
        let mut batches = Vec::with_capacity(POOL);
        let mut kernels = Vec::with_capacity(POOL);
        for _ in 0..POOL {
            let batch = gpu.buffer_for::<Element>("batch", Batch::ELEMENTS)?;
            kernels.push(pipeline.bind([("batch", &batch), ("step", &counter), ("scalars", &scalars)])?);
            batches.push(batch);
        }
        Ok(Self { gpu, steps, kept, counter, scalars, batches, kernels, current: 0 })
    }

    /// Uploads the batches of a round, and waits for the copies.
    pub(crate) fn load(&self, pool: &[Batch; POOL]) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("load");
        for (buffer, batch) in self.batches.iter().zip(pool) {
            commands.upload(buffer, &batch.elements);
        }
        commands.submit()?;
        self.gpu.fence()
    }

    /// Makes a batch current.
    pub(crate) fn start(&mut self, batch: usize) {
        self.current = batch;
    }

    pub(crate) fn steps(&self) -> Range<u64> {
        0..self.steps
    }

    /// Returns the commands of one step. They are a separate submit in every variant, since a training loop launches
    /// its kernels step by step.
    pub(crate) fn step(&self, step: u64) -> Commands {
        let mut commands = self.gpu.commands("step");
        // From then on the device increments the counter itself.
        if step == 0 {
            commands.clear(&self.counter);
        }
        commands.dispatch(&self.kernels[self.current], [1, 1, 1]);
        commands
    }

    /// Returns how many values of each scalar to read after a step that ends a full block or the whole loop; `None`
    /// after any other step.
    pub(crate) fn due(&self, step: u64) -> Option<u64> {
        let count = step % self.kept + 1;
        (count == self.kept || step + 1 == self.steps).then_some(count)
    }

    /// Returns the first values of one scalar that the device keeps.
    pub(crate) fn scalar(&self, scalar: usize, count: u64) -> Slice<'_> {
        let first = scalar as u64 * self.kept;
        self.scalars.range::<f32>(first..first + count)
    }

    /// Returns all values of all scalars that the device keeps.
    pub(crate) fn scalars(&self) -> &Buffer {
        &self.scalars
    }
}
