//! Reading one tensor and waiting for it.

use perfharness_gpu::{Gpu, GpuError, Readback};

use crate::training::Training;

/// Stands for the source's `.cpu().item()`: a copy in a submit of its own, and a wait.
///
/// The readback buffer is kept and used again, as a runtime that caches its host memory would. So what a slow variant
/// pays for is its waits and its copies, not the making of buffers.
#[derive(Debug)]
pub(crate) struct Item {
    readback: Readback<f32>,
    values: Vec<f32>,
}

impl Item {
    /// Reads up to `most` values at a time.
    pub(crate) fn new(gpu: &Gpu, most: u64) -> Result<Self, GpuError> {
        Ok(Self { readback: gpu.readback("item", most)?, values: vec![0.0; most as usize] })
    }

    /// The first `count` values of a scalar that the device keeps.
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
