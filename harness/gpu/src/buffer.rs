//! Buffers with labels and sizes that are tracked for as long as they live.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use bytemuck::{NoUninit, Pod};

use crate::flights::Flights;
use crate::memory::EntryId;
use crate::{Gpu, GpuError};

/// wgpu copies whole words.
const WORD: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// Device memory. Clones share the memory, which is freed with the last of them.
#[derive(Clone)]
pub struct Buffer {
    inner: Rc<Inner>,
}

struct Inner {
    raw: wgpu::Buffer,
    label: Rc<str>,
    bytes: u64,
    entry: EntryId,
    /// Number of the last submit that uses it, 0 if none does; only metered and traced samples set it.
    used: Cell<u64>,
    flights: Rc<Flights>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.flights.drop_buffer(self.entry, self.used.get());
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("label", &self.label()).field("bytes", &self.bytes()).finish()
    }
}

impl Buffer {
    /// Returns the label, which appears in errors and in the holders of memory peaks.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// Returns the requested size in bytes.
    pub fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    /// Returns how many elements of a type fit in the buffer.
    pub fn count<T>(&self) -> u64 {
        self.bytes() / size_of::<T>().max(1) as u64
    }

    /// Returns a part of the buffer, in elements of a type. The bounds are checked on use.
    pub fn range<T>(&self, elements: Range<u64>) -> Slice<'_> {
        let each = size_of::<T>() as u64;
        let bytes = elements.end.saturating_sub(elements.start) * each;
        Slice { buffer: self, offset: elements.start * each, bytes }
    }

    /// Notes that the commands of a submit use it.
    pub(crate) fn used_by(&self, submit: u64) {
        self.inner.used.set(submit);
    }

    /// Returns wgpu's buffer, for operations that this crate does not offer. They are not counted.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.inner.raw
    }
}

/// A buffer or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl<'a> From<&'a Buffer> for Slice<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self { buffer, offset: 0, bytes: buffer.bytes() }
    }
}

impl Slice<'_> {
    pub(crate) fn check_bounds(&self) -> Result<(), GpuError> {
        let end = self.offset.checked_add(self.bytes);
        if self.bytes > 0 && end.is_some_and(|end| end <= self.buffer.bytes()) {
            return Ok(());
        }
        Err(GpuError::Invalid(format!(
            "{} bytes from byte {} on are not in the buffer `{}` of {} bytes",
            self.bytes,
            self.offset,
            self.buffer.label(),
            self.buffer.bytes()
        )))
    }

    /// Returns the number of bytes to copy: whole words, which may exceed the request only at the end of a buffer.
    pub(crate) fn copy_bytes(&self) -> Result<u64, GpuError> {
        self.check_bounds()?;
        let at_end = self.offset + self.bytes == self.buffer.bytes();
        if self.offset.is_multiple_of(WORD) && (self.bytes.is_multiple_of(WORD) || at_end) {
            return Ok(self.bytes.next_multiple_of(WORD));
        }
        Err(GpuError::Invalid(format!(
            "cannot copy {} bytes from byte {} on of the buffer `{}`: copies start and end at multiples of {WORD}",
            self.bytes,
            self.offset,
            self.buffer.label()
        )))
    }

    pub(crate) fn holds(&self, bytes: usize) -> Result<(), GpuError> {
        if bytes as u64 == self.bytes {
            return Ok(());
        }
        Err(GpuError::Invalid(format!(
            "{bytes} bytes of data do not fit {} bytes of the buffer `{}`",
            self.bytes,
            self.buffer.label()
        )))
    }
}

impl Gpu {
    /// Creates a buffer that shaders can read and write, and that can be copied from and to. Its memory reads as zeros,
    /// because wgpu clears it before its first use.
    ///
    /// # Errors
    /// Returns [`GpuError::OutOfMemory`] if there is not enough memory, or the adapter has no buffers of this size.
    pub fn buffer(&self, label: &str, bytes: u64) -> Result<Buffer, GpuError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        self.buffer_with(label, bytes, usage)
    }

    /// Creates a buffer for `count` elements of a type.
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn buffer_for<T>(&self, label: &str, count: u64) -> Result<Buffer, GpuError> {
        self.buffer(label, count.saturating_mul(size_of::<T>() as u64))
    }

    /// Creates a buffer for other uses.
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn buffer_with(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<Buffer, GpuError> {
        self.create(label, bytes, usage, false)
    }

    /// Creates a uniform buffer and writes a value to it with [`write_buffer`](Self::write_buffer).
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn uniform<T: NoUninit>(&self, label: &str, value: &T) -> Result<Buffer, GpuError> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.buffer_with(label, size_of::<T>() as u64, usage)?;
        self.write_buffer(&buffer, std::slice::from_ref(value))?;
        Ok(buffer)
    }

    /// Creates a buffer and uploads data to it in a separate submit, through a separate staging buffer.
    ///
    /// # Errors
    /// See [`buffer`](Self::buffer).
    pub fn upload<T: NoUninit>(&self, label: &str, data: &[T]) -> Result<Buffer, GpuError> {
        let buffer = self.buffer(label, size_of_val(data) as u64)?;
        self.commands(label).upload(&buffer, data).submit()?;
        Ok(buffer)
    }

    /// Makes wgpu copy data to a buffer before the next submit. The copy uses memory of wgpu, and its device time
    /// cannot be measured, so it is counted separately from uploads.
    ///
    /// # Errors
    /// Returns an error if the data does not fit, or wgpu rejects the copy.
    pub fn write_buffer<'a, T: NoUninit>(
        &self,
        to: impl Into<Slice<'a>>,
        data: &[T],
    ) -> Result<(), GpuError> {
        let to = to.into();
        let bytes: &[u8] = bytemuck::cast_slice(data);
        to.holds(bytes.len())?;
        to.check_bounds()?;
        self.inner.queue.write_buffer(to.buffer.raw(), to.offset, bytes);
        self.count(|counts| {
            counts.write_buffer_calls += 1;
            counts.write_buffer_bytes += to.bytes;
        });
        self.check_faults()
    }

    /// Reads a buffer: creates a readback buffer, copies, submits, waits (one sync) and copies out. A loop that reads
    /// repeatedly should use a [`Readback`](crate::Readback) instead.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn read<'a, T: Pod>(&self, from: impl Into<Slice<'a>>) -> Result<Vec<T>, GpuError> {
        let from = from.into();
        let mut readback = self.readback::<T>("readback", from.bytes / size_of::<T>().max(1) as u64)?;
        self.commands("read").download(from, &mut readback).submit()?;
        readback.wait()
    }

    pub(crate) fn create(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
        mapped_at_creation: bool,
    ) -> Result<Buffer, GpuError> {
        if bytes == 0 {
            return Err(GpuError::Invalid(format!("the buffer `{label}` would be empty")));
        }
        let limit = self.inner.limits.max_buffer_size;
        let Some(size) = bytes.checked_next_multiple_of(WORD).filter(|size| *size <= limit) else {
            return Err(GpuError::OutOfMemory(format!(
                "the buffer `{label}` would take {bytes} bytes, and the largest of {} has {limit}",
                self.inner.facts.name
            )));
        };
        let raw = self.inner.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation,
        });
        self.check_faults().map_err(|error| match error {
            GpuError::OutOfMemory(cause) => {
                GpuError::OutOfMemory(format!("the buffer `{label}` would take {bytes} bytes: {cause}"))
            }
            other => other,
        })?;
        self.count(|counts| counts.buffer_creates += 1);
        let label: Rc<str> = label.into();
        let entry = self.inner.memory.borrow_mut().create(Rc::clone(&label), size);
        let (used, flights) = (Cell::new(0), Rc::clone(&self.inner.flights));
        Ok(Buffer { inner: Rc::new(Inner { raw, label, bytes, entry, used, flights }) })
    }
}
