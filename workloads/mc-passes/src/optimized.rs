//! The best implementation that we know: the device accumulates too, and the host waits once per snapshot.

use perfharness_contract::Failure;
use perfharness_gpu::{Gpu, GpuError, Readback};

use crate::encoder::{Batch, Encoder, Kernels, Sink};
use crate::kit::Kit;
use crate::moments::{Moments, snapshots};
use crate::params::Trial;
use crate::plan::Plan;
use crate::storage::Storage;
use crate::tensor::Tensor;
use crate::trials::Variant;

/// If the pixels do not fit, one batch is copied while another one is computed.
pub(crate) struct Optimized {
    gpu: Gpu,
    schedule: Vec<Trial>,
    tensor: Tensor,
    encoder: Encoder,
    /// Whether the passes share the part before any dropout.
    prefix_once: bool,
    batches: Vec<Batch>,
    /// Used alternately by successive trials, so that the next trial runs while the host reads the last one.
    kept: [Kept; 2],
}

/// Snapshots of a trial: numbers of passes and their statistics.
type Kept = Vec<(u64, Readback<f32>)>;

impl Optimized {
    /// Creates the variant with pixels that are copied to the device.
    pub(crate) fn new(kit: &Kit, storage: Storage, kernels: Kernels) -> Result<Self, Failure> {
        Self::with(kit, Tensor::new(kit, storage, 2)?, storage, kernels)
    }

    /// Creates the variant with pixels that are written in place.
    pub(crate) fn unified(kit: &Kit) -> Result<Self, Failure> {
        Self::with(kit, Tensor::shared(kit, Storage::Single)?, Storage::Single, Kernels::Four)
    }

    fn with(kit: &Kit, tensor: Tensor, storage: Storage, kernels: Kernels) -> Result<Self, Failure> {
        let encoder = kit.encoder(tensor.plan.batch, storage, Sink::Moments, kernels)?;
        let ranges = tensor.plan.batches();
        let batches = ranges.iter().enumerate().map(|(i, range)| encoder.bind(tensor.buffer(i), range));
        let batches = batches.collect::<Result<_, GpuError>>()?;
        let readback = |passes| Ok((passes, kit.gpu.readback("snapshot", encoder.output.count::<f32>())?));
        let kept =
            || snapshots(kit.params.passes).into_iter().map(readback).collect::<Result<Kept, GpuError>>();
        let kept = [kept()?, kept()?];
        Ok(Self {
            gpu: kit.gpu.clone(),
            schedule: kit.params.schedule(),
            tensor,
            encoder,
            prefix_once: kernels == Kernels::PrefixOnce,
            batches,
            kept,
        })
    }

    /// Starts a pass of a trial: with one submit, or with one per batch if the pixels are streamed.
    fn pass(&mut self, key: u32, trial: usize, pass: u64) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("pass");
        if pass == 0 {
            self.encoder.start_trial(&mut commands, key, trial as u64, self.schedule[trial].passes);
        }
        // A shared prefix needs the pixels in the first pass only.
        let needs_pixels = !self.prefix_once || (trial == 0 && pass == 0);
        for (i, batch) in self.batches.iter().enumerate() {
            if needs_pixels {
                self.tensor.bring(&mut commands, i);
                batch.record_prefix(&mut commands);
            }
            self.encoder.forward(&mut commands, batch);
            if needs_pixels && !self.tensor.plan.resident && i + 1 < self.batches.len() {
                commands.submit()?;
            }
        }
        self.encoder.end_pass(&mut commands);
        let kept = &self.schedule[trial].kept;
        if let Some((_, readback)) =
            self.kept[trial % 2].iter_mut().find(|(passes, _)| *passes == pass + 1 && kept.contains(passes))
        {
            commands.download(&self.encoder.output, readback);
        }
        commands.submit()?;
        Ok(())
    }

    /// Waits for the snapshots of a trial.
    fn take(&mut self, trial: usize, result: &mut Vec<Moments>) -> Result<(), GpuError> {
        let kept = &self.schedule[trial].kept;
        for (passes, readback) in self.kept[trial % 2].iter_mut().filter(|(passes, _)| kept.contains(passes))
        {
            result.push(Moments::of_device(&readback.wait()?, *passes));
        }
        Ok(())
    }
}

impl Variant for Optimized {
    fn run(&mut self, order: &[usize], key: u32) -> Result<Vec<Moments>, Failure> {
        self.tensor.load(order)?;
        let mut result = Vec::new();
        for trial in 0..self.schedule.len() {
            for pass in 0..self.schedule[trial].passes {
                self.pass(key, trial, pass)?;
            }
            if trial > 0 {
                self.take(trial - 1, &mut result)?;
            }
        }
        self.take(self.schedule.len() - 1, &mut result)?;
        Ok(result)
    }

    fn plan(&self) -> &Plan {
        &self.tensor.plan
    }
}
