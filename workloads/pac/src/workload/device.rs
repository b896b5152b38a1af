//! The best GPU implementation that we know: signals that stay on the device, and an index that is read back.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::{Buffer, Gpu};

use super::budget;
use super::measured::{Told, Variant};
use super::signal::{POOL, Params};
use crate::{GpuPlan, Settings, Shape};

/// A plan, and the signals of the pool on the device.
pub(crate) struct Device {
    gpu: Gpu,
    inputs: Vec<Buffer>,
    plan: GpuPlan,
}

impl Device {
    pub(crate) fn new(
        setup: &Setup,
        params: &Params,
        settings: &Settings,
        shape: Shape,
    ) -> Result<Self, Failure> {
        let budget = budget::of_device(setup, params.budget())?;
        let gpu = Gpu::open(setup)?;
        let input = |_| gpu.buffer_for::<f32>("signals", shape.len() as u64);
        let inputs = (0..POOL).map(input).collect::<Result<Vec<_>, _>>()?;
        let plan = GpuPlan::new(&gpu, settings, shape, &inputs, budget)?;
        Ok(Self { gpu, inputs, plan })
    }
}

impl Variant for Device {
    const TOLERANCE: f64 = 2e-6;

    fn load(&mut self, pool: &[Vec<f32>]) -> Result<(), Failure> {
        for (signals, buffer) in pool.iter().zip(&self.inputs) {
            self.gpu.commands("load").upload(buffer, signals).submit()?;
        }
        Ok(self.gpu.fence()?)
    }

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.plan.index(at, index)?;
        let (copied_bytes, chunks) = (self.plan.copied_bytes(), self.plan.chunks());
        Ok(Told { copied_bytes, chunks, ..Told::default() })
    }
}
