//! Intermediate buffers of a call.

use perfharness_gpu::{Buffer, Gpu, GpuError};

/// Makes buffers and takes them back.
pub(crate) struct Memory {
    gpu: Gpu,
    returns: Returns,
    returned: Vec<Buffer>,
}

/// Treatment of a buffer that is no longer needed.
enum Returns {
    /// It is freed after the submit that uses it, and another one is created for each need.
    Freed,
    /// It is kept for the next need of the same size, also in later calls.
    Pooled,
}

impl Memory {
    /// Memory that creates a buffer for each need.
    pub(crate) fn fresh(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), returns: Returns::Freed, returned: Vec::new() }
    }

    /// Memory that creates a buffer only if none of its size is free.
    pub(crate) fn pooled(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), returns: Returns::Pooled, returned: Vec::new() }
    }

    /// Returns a buffer with any contents.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn take(&mut self, label: &str, bytes: u64) -> Result<Buffer, GpuError> {
        if let Returns::Pooled = self.returns
            && let Some(at) = self.returned.iter().position(|buffer| buffer.bytes() == bytes)
        {
            // Commands are executed in their order, so earlier ones are done with it before later ones write it.
            return Ok(self.returned.swap_remove(at));
        }
        self.gpu.buffer(label, bytes)
    }

    /// Takes a buffer back that no later command of the call needs.
    pub(crate) fn give(&mut self, buffer: Buffer) {
        self.returned.push(buffer);
    }

    /// Frees what was given back, unless it is pooled. Called after a submit: until then the device needs the memory.
    pub(crate) fn submitted(&mut self) {
        if let Returns::Freed = self.returns {
            self.returned.clear();
        }
    }
}
