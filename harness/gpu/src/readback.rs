//! Transfer from the device to the host.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use bytemuck::Pod;

use crate::mapping::{Mapping, Turn};
use crate::{Gpu, GpuError};

/// A reusable buffer through which results are read back.
///
/// The downloads of one submit are stored one after the other and read together: three values cost one sync, not three.
pub struct Readback<T> {
    gpu: Gpu,
    pub(crate) mapping: Rc<Mapping>,
    element: PhantomData<T>,
}

impl<T> fmt::Debug for Readback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readback").field("buffer", &self.mapping.buffer).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Creates a readback buffer for up to `count` elements.
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn readback<T: Pod>(&self, label: &str, count: u64) -> Result<Readback<T>, GpuError> {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let buffer = self.buffer_with(label, count.saturating_mul(size_of::<T>() as u64), usage)?;
        let mapping = Rc::new(Mapping::new(buffer, wgpu::MapMode::Read, Turn::Idle));
        Ok(Readback { gpu: self.clone(), mapping, element: PhantomData })
    }
}

impl<T: Pod> Readback<T> {
    /// Waits for the downloaded data and returns it: one sync, even if the data has already arrived.
    ///
    /// # Errors
    /// Returns an error if nothing was downloaded and submitted, or the device fails.
    pub fn wait(&mut self) -> Result<Vec<T>, GpuError> {
        let mut values = vec![T::zeroed(); self.downloaded()];
        self.wait_into(&mut values)?;
        Ok(values)
    }

    /// Like [`wait`](Self::wait), without allocating: `values` must have as many elements as were downloaded.
    ///
    /// # Errors
    /// See [`wait`](Self::wait).
    pub fn wait_into(&mut self, values: &mut [T]) -> Result<(), GpuError> {
        self.gpu.count(|counts| counts.syncs += 1);
        self.mapping.settle(&self.gpu)?;
        self.take_into(values)
    }

    /// Returns the downloaded data if it has arrived, without waiting for it.
    ///
    /// # Errors
    /// See [`wait`](Self::wait).
    pub fn poll(&mut self) -> Result<Option<Vec<T>>, GpuError> {
        if self.mapping.turn() == Turn::Device {
            self.gpu.poll()?;
        }
        if self.mapping.turn() == Turn::Device {
            return Ok(None);
        }
        self.mapping.settle(&self.gpu)?;
        let mut values = vec![T::zeroed(); self.downloaded()];
        self.take_into(&mut values)?;
        Ok(Some(values))
    }

    /// Number of elements that were downloaded since the last read.
    fn downloaded(&self) -> usize {
        let bytes = self.mapping.used.get().min(self.mapping.buffer.bytes());
        bytes as usize / size_of::<T>().max(1)
    }

    /// Copies the mapped bytes once, because mapped memory can be slow to read.
    fn take_into(&mut self, values: &mut [T]) -> Result<(), GpuError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let raw = self.mapping.buffer.raw();
        let taken = match raw.get_mapped_range(0..self.mapping.used.get()) {
            Ok(view) if bytes.len() <= view.len() && view.len() - bytes.len() < size_of::<T>().max(4) => {
                bytes.copy_from_slice(&view[..bytes.len()]);
                Ok(())
            }
            Ok(view) => Err(self.mapping.invalid(&format!(
                "holds {} downloaded bytes, which do not fit {} bytes exactly",
                view.len(),
                bytes.len()
            ))),
            Err(error) => Err(GpuError::Driver(error.to_string())),
        };
        raw.unmap();
        self.mapping.used.set(0);
        self.mapping.set(Turn::Idle);
        taken
    }
}
