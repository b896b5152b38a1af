//! Parts that all variants share: a training loop, and the host's history of it.

use perfharness_contract::{Check, Failure, Measured, Setup, Tolerance};
use perfharness_gpu::{Gpu, GpuError};
use serde::Serialize;

use crate::batch::{Batch, POOL, SCALARS};
use crate::history::History;
use crate::training::Training;

/// Number of steps between two displays: the source redraws its progress bar at every 50th step.
pub(crate) const DISPLAY: u64 = 50;

pub(crate) const VALUES: &str = "values";

/// The largest deviation seen is 4e-7, on a software adapter over twenty seeds. WGSL allows `exp` and the division a
/// few times the error that they have there. The scalars of steps that could be confused are at least 1e-4 apart.
const TOLERANCE: Tolerance = Tolerance::Relative(5e-6);

/// Parameters of a case.
#[derive(Debug, Serialize)]
pub(crate) struct Params {
    /// Number of training steps in one iteration.
    pub(crate) steps: u64,
}

/// A variant: a way to bring the scalars to the host.
pub(crate) trait Delivery: Sized {
    /// Number of steps whose scalars the device keeps.
    const KEPT: u64;

    fn new(gpu: &Gpu) -> Result<Self, GpuError>;

    /// Runs the training. When it returns, the history has all scalars of all steps.
    fn run(&mut self, training: &Training, history: &mut History) -> Result<(), GpuError>;
}

/// A placement.
#[derive(Debug)]
pub(crate) struct Loop<D> {
    seed: u64,
    pool: Option<[Batch; POOL]>,
    training: Training,
    pub(crate) history: History,
    delivery: D,
}

impl<D: Delivery> Loop<D> {
    pub(crate) fn new(params: &Params, setup: &Setup) -> Result<Self, Failure> {
        Ok(Self::on(Gpu::open(setup)?, params, setup)?)
    }

    pub(crate) fn on(gpu: Gpu, params: &Params, setup: &Setup) -> Result<Self, GpuError> {
        Ok(Self {
            seed: setup.seed(),
            pool: None,
            history: History::new(params.steps, setup.counter(VALUES)),
            delivery: D::new(&gpu)?,
            training: Training::new(gpu, params.steps, D::KEPT)?,
        })
    }
}

/// Memory of a placement: its batches on host and device, and the scalars on the host.
pub(crate) fn memory_bytes(params: &Params) -> u64 {
    2 * POOL as u64 * Batch::BYTES + params.steps * (SCALARS * size_of::<f32>()) as u64
}

fn batch_of(index: u64) -> usize {
    index as usize % POOL
}

impl<D: Delivery> Measured for Loop<D> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.history.clear();
        let pool = self.pool.insert(Batch::pool(self.seed, round));
        Ok(self.training.load(pool)?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.training.start(batch_of(index));
        self.history.clear();
        Ok(self.delivery.run(&self.training, &mut self.history)?)
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.training.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let Some(pool) = &self.pool else {
            return Err(Failure::Failed("no round is loaded".into()));
        };
        let batch = &pool[batch_of(index)];
        let due: Vec<_> = self.training.steps().map(|step| batch.scalars(step)).collect();
        let due: Vec<f64> =
            (0..SCALARS).flat_map(|scalar| due.iter().map(move |scalars| scalars[scalar])).collect();
        let delivered: Vec<f64> = self.history.scalars.iter().flatten().map(|v| f64::from(*v)).collect();
        Ok(Check::compare(&due, &delivered, TOLERANCE).with_input(batch.digest()))
    }
}
