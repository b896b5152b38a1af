//! The signals of the pool on the device.

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Gpu, GpuError};

use super::signal::POOL;
use crate::Shape;

/// A buffer for each signal of a round.
pub(crate) struct Pool {
    gpu: Gpu,
    inputs: Vec<Buffer>,
}

impl Pool {
    pub(crate) fn new(gpu: &Gpu, shape: Shape) -> Result<Self, GpuError> {
        let input = |_| gpu.buffer_for::<f32>("signals", shape.len() as u64);
        Ok(Self { gpu: gpu.clone(), inputs: (0..POOL).map(input).collect::<Result<_, _>>()? })
    }

    pub(crate) fn inputs(&self) -> &[Buffer] {
        &self.inputs
    }

    /// Uploads the signals, and waits so that the copies are not timed.
    pub(crate) fn load(&self, signals: &[Vec<f32>]) -> Result<(), Failure> {
        for (signals, buffer) in signals.iter().zip(&self.inputs) {
            self.gpu.commands("load").upload(buffer, signals).submit()?;
        }
        Ok(self.gpu.fence()?)
    }
}
