//! Transfer from the host to the device, through preallocated memory.

use std::cell::Cell;
use std::rc::Rc;

use crate::buffer::Buffer;
use crate::mapping::{Mapping, Turn};
use crate::{Gpu, GpuError};

/// Staging buffers in rotation, for repeated uploads.
///
/// Each upload takes the next slot. With two slots the host fills one while the device reads the other. If the device
/// still uses a slot, the host waits: that time is host wait, but no sync, because it depends on the pace of the
/// device.
#[derive(Debug)]
pub struct Staging {
    gpu: Gpu,
    slots: Vec<Rc<Mapping>>,
    next: Cell<usize>,
}

const USAGE: wgpu::BufferUsages = wgpu::BufferUsages::MAP_WRITE.union(wgpu::BufferUsages::COPY_SRC);

impl Gpu {
    /// Creates `slots` staging buffers, each for uploads of up to `bytes`.
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn staging(&self, label: &str, bytes: u64, slots: usize) -> Result<Staging, GpuError> {
        let slot = |_| {
            let buffer = self.create(label, bytes, USAGE, true)?;
            Ok(Rc::new(Mapping::new(buffer, wgpu::MapMode::Write, Turn::Host)))
        };
        let slots = (0..slots.max(1)).map(slot).collect::<Result<_, GpuError>>()?;
        Ok(Staging { gpu: self.clone(), slots, next: Cell::new(0) })
    }

    /// Returns a filled staging buffer for one upload.
    pub(crate) fn stage_once(&self, data: &[u8]) -> Result<Buffer, GpuError> {
        let buffer = self.create("staging", data.len() as u64, USAGE, true)?;
        fill(&buffer, data)?;
        Ok(buffer)
    }
}

impl Staging {
    /// Fills the next slot. The caller copies from it, submits, and reports the submit to it.
    pub(crate) fn fill_next(&mut self, data: &[u8]) -> Result<Rc<Mapping>, GpuError> {
        let slot = &self.slots[self.next.get()];
        if data.len() as u64 > slot.buffer.bytes() {
            return Err(slot.invalid(&format!(
                "has {} bytes in a slot and cannot take {}",
                slot.buffer.bytes(),
                data.len()
            )));
        }
        if slot.turn() == Turn::Device {
            self.gpu.poll()?;
        }
        if slot.turn() == Turn::Recorded {
            return Err(slot.invalid("has more uploads in one submit than slots"));
        }
        slot.settle(&self.gpu)?;
        fill(&slot.buffer, data)?;
        slot.set(Turn::Recorded);
        self.next.set((self.next.get() + 1) % self.slots.len());
        Ok(Rc::clone(slot))
    }
}

/// Writes to a mapped buffer and unmaps it.
fn fill(buffer: &Buffer, data: &[u8]) -> Result<(), GpuError> {
    let words = (data.len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
    let mapped = buffer.raw().get_mapped_range_mut(0..words);
    let mut view = mapped.map_err(|error| GpuError::Driver(error.to_string()))?;
    view.slice(..data.len()).copy_from_slice(data);
    drop(view);
    buffer.raw().unmap();
    Ok(())
}
