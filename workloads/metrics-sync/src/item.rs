//! Reads one tensor and waits for it.

use perfharness_gpu::{Gpu, GpuError, Readback};

use crate::training::Training;

/// Equivalent of the source's `.cpu().item()`: a copy in its own submit, and a wait.
///
/// The readback buffer is kept and reused, as by a runtime that caches its host memory. A slow variant therefore pays
/// for its waits and copies, and not for the creation of buffers.
#[derive(Debug)]
pub(crate) struct Item {
    readback: Readback<f32>,
    values: Vec<f32>,
}

impl Item {
    /// Creates a reader of up to `most` values at a time.
    pub(crate) fn new(gpu: &Gpu, most: u64) -> Result<Self, GpuError> {
        Ok(Self { readback: gpu.readback("item", most)?, values: vec![0.0; most as usize] })
    }

    /// Reads the first `count` values of a scalar that the device keeps.
    pub(crate) fn read(
        &mut self,
        training: &Training,
        scalar: usize,
        count: u64,
    ) -> Result<&[f32], GpuError> {
        let from = training.scalar(scalar, count);
        training.gpu.commands("item").download(from, &mut self.readback).submit()?;
        let values = &mut self.values[..count as usize];
        self.readback.wait_into(values)?;
        Ok(values)
    }
}
