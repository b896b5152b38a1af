//! The best that we know on the GPU: signals that lie there, and an index that comes back.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::{Buffer, Gpu};

use super::measured::Variant;
use super::signal::POOL;
use crate::{GpuPlan, Settings, Shape};

/// What the transforms of a chunk may take, in bytes.
pub(crate) const BUDGET: u64 = 64 << 20;

/// A plan, and the signals of the pool on the device.
pub(crate) struct Device {
    gpu: Gpu,
    inputs: Vec<Buffer>,
    plan: GpuPlan,
}

impl Device {
    pub(crate) fn new(setup: &Setup, settings: &Settings, shape: Shape) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let input = |_| gpu.buffer_for::<f32>("signals", shape.len() as u64);
        let inputs = (0..POOL).map(input).collect::<Result<Vec<_>, _>>()?;
        let plan = GpuPlan::new(&gpu, settings, shape, &inputs, BUDGET)?;
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

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<u64, Failure> {
        self.plan.index(at, index)?;
        Ok(self.plan.copied_bytes())
    }
}
