//! The best CPU implementation that we know: a plan that is made once.

use perfharness_contract::Failure;

use super::measured::{Told, Variant};
use crate::{Plan, Scalar, Settings, Shape};

/// A plan on all processors, in f32.
pub(crate) struct Cpu(Plan<f32>);

impl Cpu {
    pub(crate) fn new(settings: &Settings, shape: Shape) -> Result<Self, Failure> {
        Ok(Self(Plan::new(settings, shape, 0)?))
    }
}

impl Variant for Cpu {
    const TOLERANCE: f64 = 2e-6;

    fn index(&mut self, _at: usize, x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.0.index(x, index)?;
        Ok(Told { copied_bytes: self.0.copied_bytes(), ..Told::default() })
    }
}

/// A plan on all processors, in f64, for signals that were widened on loading.
pub(crate) struct CpuF64 {
    plan: Plan<f64>,
    pool: Vec<Vec<f64>>,
}

impl CpuF64 {
    pub(crate) fn new(settings: &Settings, shape: Shape) -> Result<Self, Failure> {
        Ok(Self { plan: Plan::new(settings, shape, 0)?, pool: Vec::new() })
    }
}

impl Variant for CpuF64 {
    const TOLERANCE: f64 = 1e-12;

    fn load(&mut self, pool: &[Vec<f32>]) -> Result<(), Failure> {
        self.pool = pool.iter().map(|x| x.iter().map(|x| x.widen()).collect()).collect();
        Ok(())
    }

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.plan.index(&self.pool[at], index)?;
        Ok(Told { copied_bytes: self.plan.copied_bytes(), ..Told::default() })
    }
}
