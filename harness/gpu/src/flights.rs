//! Submits that the device has not finished, and buffers that are freed when it has.
//!
//! A dropped buffer keeps its memory until the device is done with the commands that use it. Only metered and traced
//! samples follow this: they are the ones that report a peak.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use crate::memory::{EntryId, MemoryLedger};

/// Number of submits after which those at the front are looked at, so that the list does not grow without a wait.
const LOOKED_AT: usize = 64;

/// Submits in order, by number. They finish in that order.
pub(crate) struct Flights {
    device: wgpu::Device,
    memory: Rc<RefCell<MemoryLedger>>,
    /// True while a metered or traced sample is running.
    followed: Cell<bool>,
    /// Number of the last submit, from 1.
    last: Cell<u64>,
    unfinished: RefCell<VecDeque<(u64, wgpu::SubmissionIndex)>>,
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Flights {
    pub(crate) fn new(device: wgpu::Device, memory: Rc<RefCell<MemoryLedger>>) -> Self {
        // Room for all, because memory for metering must not look like growth of the hot path.
        let unfinished = RefCell::new(VecDeque::with_capacity(2 * LOOKED_AT));
        Self { device, memory, followed: Cell::new(false), last: Cell::new(0), unfinished }
    }

    /// Starts or stops to follow submits. Buffers that are still in use when it stops count as freed.
    pub(crate) fn follow(&self, followed: bool) {
        self.followed.set(followed);
        self.unfinished.borrow_mut().clear();
        self.memory.borrow_mut().free(u64::MAX);
    }

    /// Returns the number of the next submit, if submits are followed.
    pub(crate) fn next(&self) -> Option<u64> {
        self.followed.get().then(|| self.last.get() + 1)
    }

    /// Notes a submit.
    pub(crate) fn submitted(&self, index: &wgpu::SubmissionIndex) {
        let Some(number) = self.next() else { return };
        self.last.set(number);
        self.unfinished.borrow_mut().push_back((number, index.clone()));
        if self.unfinished.borrow().len() > LOOKED_AT || self.memory.borrow().has_retired() {
            self.look();
        }
    }

    /// Notes that the device is done with everything.
    pub(crate) fn all_done(&self) {
        self.unfinished.borrow_mut().clear();
        self.memory.borrow_mut().free(self.last.get());
    }

    /// Frees what the device is done with, after a wait for a part of the submits.
    pub(crate) fn some_done(&self) {
        if self.memory.borrow().has_retired() {
            self.look();
        }
    }

    /// Drops a buffer that the submit `used` is the last to use, 0 if none is.
    pub(crate) fn drop_buffer(&self, entry: EntryId, used: u64) {
        if used > 0 && self.followed.get() && !self.is_done(used) {
            self.memory.borrow_mut().retire(entry, used);
        } else {
            self.memory.borrow_mut().release(entry);
        }
    }

    /// True if the device is done with a submit, or it was never made.
    fn is_done(&self, number: u64) -> bool {
        self.look();
        // Commands that were recorded and not yet submitted use their buffers as well.
        number <= self.last.get() && self.unfinished.borrow().front().is_none_or(|(first, _)| number < *first)
    }

    /// Removes the submits that are done from the front, without waiting, and frees their buffers.
    fn look(&self) {
        let mut unfinished = self.unfinished.borrow_mut();
        while let Some((number, index)) = unfinished.front() {
            let now =
                wgpu::PollType::Wait { submission_index: Some(index.clone()), timeout: Some(Duration::ZERO) };
            if self.device.poll(now).is_err() {
                break;
            }
            self.memory.borrow_mut().free(*number);
            unfinished.pop_front();
        }
    }
}
