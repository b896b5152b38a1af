//! The index on its way to the host.

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Commands, Gpu, GpuError, Readback};

use crate::settings::check_length;
use crate::{PacError, Shape};

/// Result of a call: position and bits of a non-finite sample for each channel, followed by the index.
#[derive(Debug)]
pub(crate) struct Outcome {
    shape: Shape,
    buffer: Buffer,
    readback: Readback<u32>,
    values: Vec<u32>,
}

impl Outcome {
    /// Creates the buffers for `indexes` indexes of signals of `shape`.
    pub(crate) fn new(gpu: &Gpu, shape: Shape, indexes: usize) -> Result<Self, GpuError> {
        let values = vec![0; 2 * shape.channels + indexes];
        let buffer = gpu.buffer_for::<u32>("result", values.len() as u64)?;
        let readback = gpu.readback("result on the host", values.len() as u64)?;
        Ok(Self { shape, buffer, readback, values })
    }

    /// Buffer that the kernels write.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Checks the length of a slice for the index.
    pub(crate) fn check_length(&self, index: &[f64]) -> Result<(), PacError> {
        check_length("indexes", index.len(), self.values.len() - 2 * self.shape.channels)
    }

    /// Submits the commands with a download after them, waits for it, and writes the index: one sync.
    ///
    /// # Errors
    /// Returns an error if a sample is NaN or infinite, which leaves `index` unchanged, or if the device fails.
    pub(crate) fn fetch(&mut self, commands: &mut Commands, index: &mut [f64]) -> Result<(), Failure> {
        commands.download(&self.buffer, &mut self.readback).submit()?;
        self.readback.wait_into(&mut self.values)?;
        let (faults, values) = self.values.split_at(2 * self.shape.channels);
        for (channel, fault) in faults.chunks(2).enumerate() {
            let sample = fault[0] as usize;
            if sample < self.shape.samples {
                let value = f32::from_bits(fault[1]).to_string();
                return Err(PacError::NotFinite { channel, sample, value }.into());
            }
        }
        for (to, bits) in index.iter_mut().zip(values) {
            let value = f64::from(f32::from_bits(*bits));
            // `index.wgsl` makes an index that is NaN -1.
            *to = if value == -1.0 { f64::NAN } else { value };
        }
        Ok(())
    }
}
