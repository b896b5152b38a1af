//! Live buffers, those at the peak of their bytes, and in a traced sample the course over time. Without a device.

use std::collections::BTreeMap;
use std::rc::Rc;

use perfharness_contract::PointLog;
use perfharness_contract::protocol::{Holder, Trace, TraceCounter};
use perfharness_platform::clock;

/// Number of points that are kept of a traced sample.
const POINTS_KEPT: usize = 8192;
/// Name of the live bytes in a trace.
const DEVICE_LIVE: &str = "device-live";

/// Identifies an entry of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryId(usize);

#[derive(Clone, Debug)]
struct Entry {
    label: Rc<str>,
    bytes: u64,
}

/// Live buffers and the peak since the last `restart`. It is kept in every mode, because buffers that live at the start
/// of a sample were created before it.
#[derive(Debug, Default)]
pub(crate) struct MemoryLedger {
    entries: Vec<Option<Entry>>,
    vacant: Vec<usize>,
    pub(crate) live: u64,
    /// Dropped entries whose memory the device still uses, with the number of the submit that does, in order of their drop.
    retired: Vec<(u64, EntryId)>,
    retired_bytes: u64,
    /// Most bytes, live and retired together.
    pub(crate) peak: u64,
    /// Buffers at the peak. `None` as long as the present buffers are the peak; they are listed when one is freed.
    holders: Option<Vec<Holder>>,
    /// Live bytes over time, in a traced sample.
    points: Option<Box<PointLog<POINTS_KEPT>>>,
}

impl MemoryLedger {
    pub(crate) fn create(&mut self, label: Rc<str>, bytes: u64) -> EntryId {
        let entry = Some(Entry { label, bytes });
        let at = if let Some(at) = self.vacant.pop() {
            self.entries[at] = entry;
            at
        } else {
            self.entries.push(entry);
            self.entries.len() - 1
        };
        self.live += bytes;
        if self.held() > self.peak {
            self.peak = self.held();
            self.holders = None;
        }
        self.note();
        EntryId(at)
    }

    /// Bytes that are not free.
    fn held(&self) -> u64 {
        self.live + self.retired_bytes
    }

    /// Frees a buffer.
    pub(crate) fn release(&mut self, id: EntryId) {
        self.list_holders();
        self.live -= self.remove(id);
        self.note();
    }

    /// Drops a buffer that the device uses until it has finished the submit of this number.
    pub(crate) fn retire(&mut self, id: EntryId, submit: u64) {
        let bytes = self.entries[id.0].as_ref().map_or(0, |entry| entry.bytes);
        self.live -= bytes;
        self.retired_bytes += bytes;
        self.retired.push((submit, id));
        self.note();
    }

    /// Frees the retired buffers that the submits up to this number were the last to use.
    pub(crate) fn free(&mut self, submit: u64) {
        while let Some(at) = self.retired.iter().position(|(last, _)| *last <= submit) {
            self.list_holders();
            let (_, id) = self.retired.swap_remove(at);
            self.retired_bytes -= self.remove(id);
        }
    }

    pub(crate) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Lists the buffers at the peak before one of them is freed.
    fn list_holders(&mut self) {
        if self.holders.is_none() && self.held() == self.peak {
            self.holders = Some(self.list_held());
        }
    }

    /// Removes an entry, and returns its bytes.
    fn remove(&mut self, id: EntryId) -> u64 {
        let bytes = self.entries[id.0].take().map(|entry| entry.bytes);
        if bytes.is_some() {
            self.vacant.push(id.0);
        }
        bytes.unwrap_or(0)
    }

    fn note(&self) {
        if let Some(points) = &self.points {
            points.push(clock::monotonic_ns(), self.live as i64);
        }
    }

    /// Starts to record the live bytes over time.
    pub(crate) fn start_trace(&mut self) {
        self.points = Some(Box::default());
        self.note();
    }

    /// Stops the recording, and adds it to the trace.
    pub(crate) fn stop_trace(&mut self, trace: &mut Trace) {
        let Some(log) = self.points.take() else { return };
        let mut points = log.points();
        points.push((clock::monotonic_ns(), self.live as i64));
        trace.dropped += log.missed();
        trace.counters.push(TraceCounter {
            name: DEVICE_LIVE.into(),
            unit: "bytes".into(),
            relative: false,
            changes_per_point: log.changes_per_point(),
            points,
        });
    }

    /// Restarts the peak at the present bytes.
    pub(crate) fn restart(&mut self) {
        self.peak = self.held();
        self.holders = None;
    }

    /// Returns the buffers at the peak, by label, largest first.
    pub(crate) fn peak_buffers(&self) -> Vec<Holder> {
        self.holders.clone().unwrap_or_else(|| self.list_held())
    }

    fn list_held(&self) -> Vec<Holder> {
        let mut by_label: BTreeMap<&str, Holder> = BTreeMap::new();
        for entry in self.entries.iter().flatten() {
            let sum = by_label.entry(&entry.label).or_insert_with(|| Holder {
                label: entry.label.to_string(),
                count: 0,
                bytes: 0,
            });
            sum.count += 1;
            sum.bytes += entry.bytes;
        }
        let mut list: Vec<Holder> = by_label.into_values().collect();
        list.sort_by_key(|sum| std::cmp::Reverse(sum.bytes));
        list
    }
}

/// Returns the share of the reserved bytes without an allocation; `None` if nothing is reserved.
pub(crate) fn fragmentation(allocated: u64, reserved: u64) -> Option<f64> {
    (reserved > 0).then(|| 1.0 - allocated.min(reserved) as f64 / reserved as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ledger: &MemoryLedger) -> Vec<(String, u64, u64)> {
        ledger.peak_buffers().into_iter().map(|b| (b.label, b.count, b.bytes)).collect()
    }

    #[test]
    fn a_trace_has_what_lived_from_its_start_to_its_end() {
        let mut ledger = MemoryLedger::default();
        ledger.create("before".into(), 100);
        ledger.start_trace();
        let inside = ledger.create("inside".into(), 20);
        ledger.release(inside);
        let mut trace = Trace::default();
        ledger.stop_trace(&mut trace);
        ledger.create("after".into(), 7);
        ledger.stop_trace(&mut trace);
        let [counter] = &trace.counters[..] else { panic!("{trace:?}") };
        let values: Vec<i64> = counter.points.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [100, 120, 100, 100]);
        assert!(counter.points.is_sorted_by_key(|(at_ns, _)| *at_ns), "{counter:?}");
        assert!(!counter.relative);
    }

    #[test]
    fn an_empty_ledger_has_no_peak() {
        let ledger = MemoryLedger::default();
        assert_eq!((ledger.live, ledger.peak), (0, 0));
        assert_eq!(labels(&ledger), []);
    }

    #[test]
    fn the_peak_outlives_its_buffers_and_names_them() {
        let mut ledger = MemoryLedger::default();
        let big = ledger.create("big".into(), 100);
        let first = ledger.create("small".into(), 10);
        let second = ledger.create("small".into(), 20);
        ledger.release(first);
        ledger.release(big);
        ledger.release(second);
        ledger.create("later".into(), 50);
        assert_eq!((ledger.live, ledger.peak), (50, 130));
        assert_eq!(labels(&ledger), [("big".into(), 1, 100), ("small".into(), 2, 30)]);
    }

    #[test]
    fn a_higher_peak_replaces_the_list() {
        let mut ledger = MemoryLedger::default();
        let a = ledger.create("a".into(), 100);
        ledger.release(a);
        assert_eq!(labels(&ledger), [("a".into(), 1, 100)]);
        let b = ledger.create("b".into(), 60);
        let _c = ledger.create("c".into(), 60);
        ledger.release(b);
        assert_eq!(ledger.peak, 120);
        assert_eq!(labels(&ledger), [("b".into(), 1, 60), ("c".into(), 1, 60)]);
    }

    #[test]
    fn a_restart_begins_with_what_lives() {
        let mut ledger = MemoryLedger::default();
        let gone = ledger.create("gone".into(), 1000);
        let kept = ledger.create("kept".into(), 10);
        ledger.release(gone);
        ledger.restart();
        assert_eq!((ledger.live, ledger.peak), (10, 10));
        assert_eq!(labels(&ledger), [("kept".into(), 1, 10)]);
        ledger.release(kept);
        assert_eq!((ledger.live, ledger.peak), (0, 10));
        assert_eq!(labels(&ledger), [("kept".into(), 1, 10)]);
    }

    #[test]
    fn a_buffer_that_the_device_uses_counts_until_its_submit_is_done() {
        let mut ledger = MemoryLedger::default();
        let (first, second) = (ledger.create("used".into(), 100), ledger.create("used".into(), 10));
        ledger.retire(first, 1);
        ledger.retire(second, 2);
        assert_eq!((ledger.live, ledger.peak), (0, 110));
        ledger.create("next".into(), 50);
        assert_eq!((ledger.live, ledger.peak), (50, 160));
        ledger.free(1);
        assert_eq!(labels(&ledger), [("used".into(), 2, 110), ("next".into(), 1, 50)]);
        ledger.create("later".into(), 90);
        assert_eq!((ledger.live, ledger.peak), (140, 160), "100 bytes are free, and 10 are not");
        assert!(ledger.has_retired());
        ledger.free(2);
        assert!(!ledger.has_retired());
        ledger.restart();
        assert_eq!((ledger.live, ledger.peak), (140, 140));
    }

    #[test]
    fn vacant_entries_are_used_again() {
        let mut ledger = MemoryLedger::default();
        for _ in 0..1000 {
            let id = ledger.create("x".into(), 8);
            ledger.release(id);
        }
        assert_eq!(ledger.entries.len(), 1);
        assert_eq!((ledger.live, ledger.peak), (0, 8));
    }

    #[test]
    fn fragmentation_is_what_is_reserved_and_not_used() {
        assert_eq!(fragmentation(25, 100), Some(0.75));
        assert_eq!(fragmentation(100, 100), Some(0.0));
        assert_eq!(fragmentation(0, 100), Some(1.0));
        assert_eq!(fragmentation(0, 0), None);
        assert_eq!(fragmentation(110, 100), Some(0.0), "the two figures are not read at once");
    }
}
