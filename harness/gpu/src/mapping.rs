//! States of a buffer that host and device use alternately.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{Buffer, Gpu, GpuError};

/// Current user of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody: free for commands.
    Idle,
    /// Commands that are not submitted yet.
    Recorded,
    /// The device, and then the host as soon as the device is done.
    Device,
    /// The host: the buffer is mapped.
    Host,
    /// Mapping failed.
    Failed,
}

impl Turn {
    const ALL: [Self; 5] = [Self::Idle, Self::Recorded, Self::Device, Self::Host, Self::Failed];
}

/// A mappable buffer and its current user.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) buffer: Buffer,
    mode: wgpu::MapMode,
    /// Atomic, because wgpu may call back from any thread.
    turn: Arc<AtomicU8>,
    submission: RefCell<Option<wgpu::SubmissionIndex>>,
    /// Number of bytes in use, from the start.
    pub(crate) used: Cell<u64>,
}

impl Mapping {
    pub(crate) fn new(buffer: Buffer, mode: wgpu::MapMode, turn: Turn) -> Self {
        Self {
            buffer,
            mode,
            turn: Arc::new(AtomicU8::new(turn as u8)),
            submission: RefCell::default(),
            used: Cell::new(0),
        }
    }

    pub(crate) fn turn(&self) -> Turn {
        Turn::ALL[usize::from(self.turn.load(Ordering::Acquire))]
    }

    pub(crate) fn set(&self, turn: Turn) {
        self.turn.store(turn as u8, Ordering::Release);
    }

    /// Marks the commands that use it as submitted: the host gets it when they are done.
    pub(crate) fn submitted(&self, submission: Option<wgpu::SubmissionIndex>) {
        *self.submission.borrow_mut() = submission;
        self.set(Turn::Device);
        let turn = Arc::clone(&self.turn);
        let done = match self.mode {
            wgpu::MapMode::Read => 0..self.used.get(),
            wgpu::MapMode::Write => 0..self.buffer.raw().size(),
        };
        self.buffer.raw().map_async(self.mode, done, move |mapped| {
            let next = if mapped.is_ok() { Turn::Host } else { Turn::Failed };
            turn.store(next as u8, Ordering::Release);
        });
    }

    /// Marks the commands that use it as discarded.
    pub(crate) fn abandoned(&self) {
        match self.mode {
            wgpu::MapMode::Read => self.set(Turn::Idle),
            wgpu::MapMode::Write => self.submitted(None),
        }
    }

    /// Waits until the host has it.
    pub(crate) fn settle(&self, gpu: &Gpu) -> Result<(), GpuError> {
        if self.turn() == Turn::Device {
            gpu.wait_for(self.submission.borrow().clone(), self.buffer.label())?;
        }
        match self.turn() {
            Turn::Host => Ok(()),
            Turn::Failed => Err(self.invalid("could not be mapped")),
            Turn::Idle => Err(self.invalid("has nothing to wait for")),
            Turn::Recorded => Err(self.invalid("is used by commands that were not submitted")),
            Turn::Device => Err(GpuError::Driver(format!(
                "the buffer `{}` was not mapped when its commands were done",
                self.buffer.label()
            ))),
        }
    }

    pub(crate) fn invalid(&self, what: &str) -> GpuError {
        GpuError::Invalid(format!("the buffer `{}` {what}", self.buffer.label()))
    }
}
