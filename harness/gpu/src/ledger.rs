//! Counts of one metered or traced stretch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use perfharness_contract::protocol::Kernels;
use perfharness_platform::clock;

use crate::kernels::{Dispatched, Shader};

/// Requests to the device. Commands are counted when they are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) upload_bytes: u64,
    pub(crate) upload_copies: u64,
    pub(crate) download_bytes: u64,
    pub(crate) download_copies: u64,
    pub(crate) device_copy_bytes: u64,
    pub(crate) device_copies: u64,
    pub(crate) write_buffer_bytes: u64,
    pub(crate) write_buffer_calls: u64,
    pub(crate) syncs: u64,
    pub(crate) submits: u64,
    pub(crate) dispatches: u64,
    pub(crate) buffer_creates: u64,
    /// Number of passes, and of runs of copies or clears, without a pair of timestamps.
    pub(crate) untimed_passes: u64,
    pub(crate) untimed_copies: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.upload_bytes += other.upload_bytes;
        self.upload_copies += other.upload_copies;
        self.download_bytes += other.download_bytes;
        self.download_copies += other.download_copies;
        self.device_copy_bytes += other.device_copy_bytes;
        self.device_copies += other.device_copies;
        self.write_buffer_bytes += other.write_buffer_bytes;
        self.write_buffer_calls += other.write_buffer_calls;
        self.syncs += other.syncs;
        self.submits += other.submits;
        self.dispatches += other.dispatches;
        self.buffer_creates += other.buffer_creates;
        self.untimed_passes += other.untimed_passes;
        self.untimed_copies += other.untimed_copies;
    }
}

/// The counts, and whether counting is on.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Start of the stretch; `None` outside one.
    start: Cell<Option<Instant>>,
    counts: RefCell<Counts>,
    dispatched: RefCell<Dispatched>,
    host_wait: Cell<Duration>,
}

impl Ledger {
    /// Whether a metered or traced sample is running. In all other samples this check is the only overhead of metering.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.start.get().is_some()
    }

    #[inline]
    pub(crate) fn count(&self, add: impl FnOnce(&mut Counts)) {
        if self.is_on() {
            add(&mut self.counts.borrow_mut());
        }
    }

    pub(crate) fn add_host_wait(&self, wait: Duration) {
        self.host_wait.set(self.host_wait.get() + wait);
    }

    pub(crate) fn start(&self) {
        *self.counts.borrow_mut() = Counts::default();
        self.dispatched.borrow_mut().clear();
        self.host_wait.set(Duration::ZERO);
        self.start.set(Some(clock::now()));
    }

    /// Adds submitted dispatches.
    pub(crate) fn dispatched(&self, shaders: impl Iterator<Item = Rc<Shader>>) {
        if self.is_on() {
            let mut dispatched = self.dispatched.borrow_mut();
            shaders.for_each(|shader| dispatched.add(shader));
        }
    }

    /// Returns the kernels of the last stretch.
    pub(crate) fn kernels(&self) -> Kernels {
        self.dispatched.borrow().kernels(self.counts.borrow().dispatches)
    }

    /// Ends the stretch, and returns its wall-clock time, its counts, and the time that the host waited.
    pub(crate) fn stop(&self) -> (Duration, Counts, Duration) {
        let wall = self.start.take().map_or(Duration::ZERO, |start| start.elapsed());
        (wall, *self.counts.borrow(), self.host_wait.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_outside_a_stretch() {
        let ledger = Ledger::default();
        ledger.count(|counts| counts.syncs += 1);
        ledger.start();
        ledger.count(|counts| counts.syncs += 2);
        assert_eq!(ledger.stop().1, Counts { syncs: 2, ..Counts::default() });
        ledger.count(|counts| counts.syncs += 4);
        ledger.start();
        assert_eq!(ledger.stop().1, Counts::default());
    }
}
