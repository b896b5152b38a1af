//! Buffers.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wgpu::custom::{
    BufferInterface, BufferMapCallback, BufferMappedRangeInterface, DispatchBufferMappedRange,
};
use wgpu::{MapMode, MapRangeError, WriteOnly};

use crate::memory::Shared;
use crate::session::SharedSession;

/// Memory of a device. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    session: SharedSession,
    memory: Arc<Mutex<Shared>>,
}

impl Buffer {
    /// Creates a buffer of zeros, as WebGPU does.
    pub(crate) fn new(session: SharedSession, bytes: u64) -> Self {
        let shared = Shared { bytes: vec![0; bytes as usize], ..Shared::default() };
        Self { session, memory: Arc::new(Mutex::new(shared)) }
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Shared> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are the same memory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Returns the bytes of a range, which wgpu has checked against its own record of the size.
    pub(crate) fn read(&self, range: Range<u64>) -> Vec<u8> {
        self.memory().bytes[range.start as usize..range.end as usize].to_vec()
    }

    pub(crate) fn write(&self, at: u64, data: &[u8]) {
        self.memory().bytes[at as usize..at as usize + data.len()].copy_from_slice(data);
    }
}

impl BufferInterface for Buffer {
    fn map_async(&self, _: MapMode, _: Range<u64>, callback: BufferMapCallback) {
        self.session.later(Box::new(|| callback(Ok(()))));
    }

    fn get_mapped_range(&self, range: Range<u64>) -> Result<DispatchBufferMappedRange, MapRangeError> {
        let mapped =
            Mapped { at: range.start, bytes: self.read(range), written: false, buffer: self.clone() };
        Ok(DispatchBufferMappedRange::custom(mapped))
    }

    fn unmap(&self) {}

    fn destroy(&self) {}
}

/// A copy of a mapped range, which is written back when it is dropped.
#[derive(Debug)]
struct Mapped {
    buffer: Buffer,
    at: u64,
    bytes: Vec<u8>,
    written: bool,
}

impl BufferMappedRangeInterface for Mapped {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[expect(unsafe_code, reason = "wgpu declares it so, because a real mapping may be of the other kind")]
    unsafe fn read_slice(&self) -> &[u8] {
        &self.bytes
    }

    #[expect(unsafe_code, reason = "as above")]
    unsafe fn write_slice(&mut self) -> WriteOnly<'_, [u8]> {
        self.written = true;
        WriteOnly::from_mut(&mut self.bytes[..])
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.written {
            self.buffer.write(self.at, &self.bytes);
        }
    }
}
