//! The best GPU implementation that we know: signals that stay on the device, and an index that is read back.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::Gpu;

use super::budget;
use super::measured::{Told, Variant};
use super::pool::Pool;
use super::signal::Params;
use crate::{GpuPlan, Settings, Shape};

/// A plan, and the signals of the pool on the device.
pub(crate) struct Device {
    pool: Pool,
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
        let pool = Pool::new(&gpu, shape)?;
        let plan = GpuPlan::new(&gpu, settings, shape, pool.inputs(), budget)?;
        Ok(Self { pool, plan })
    }
}

impl Variant for Device {
    const TOLERANCE: f64 = 2e-6;

    fn load(&mut self, pool: &[Vec<f32>]) -> Result<(), Failure> {
        self.pool.load(pool)
    }

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.plan.index(at, index)?;
        let (copied_bytes, chunks) = (self.plan.copied_bytes(), self.plan.chunks());
        Ok(Told { copied_bytes, chunks, ..Told::default() })
    }
}
