//! Offset of a worker's clock from the harness's.

use perfharness_contract::protocol::SampleReply;

/// Bounds of the offset that is added to a worker's moments: a sample begins after its request, and ends before its
/// answer. Short samples narrow it down most, and all of them together more than each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkerClock {
    bounds: Option<(i64, i64)>,
}

impl WorkerClock {
    /// Adds a sample, with the harness's times of its request and its answer.
    pub(super) fn add(&mut self, reply: &SampleReply, sent_ns: u64, answered_ns: u64) {
        let Some(start_ns) = start_ns(reply) else { return };
        let start = start_ns.cast_signed();
        let end = start.saturating_add(reply.wall_ns.cast_signed());
        let here =
            (sent_ns.cast_signed().saturating_sub(start), answered_ns.cast_signed().saturating_sub(end));
        let joint = match self.bounds {
            Some((low, high)) => (low.max(here.0), high.min(here.1)),
            None => here,
        };
        // If the worker's clock jumped or runs at another pace, the bounds do not meet; then the latest sample counts.
        let latest = if joint.0 <= joint.1 { joint } else { here };
        self.bounds = Some((latest.0.min(latest.1), latest.1.max(latest.0)));
    }

    /// Returns the offset to add and its uncertainty, in ns. Both are 0 before the first sample.
    pub(super) fn offset_ns(&self) -> (i64, u64) {
        let Some((low, high)) = self.bounds else { return (0, 0) };
        // Most systems have one clock for all processes.
        let offset = if low <= 0 && high >= 0 { 0 } else { i64::midpoint(low, high) };
        (offset, low.abs_diff(offset).max(high.abs_diff(offset)))
    }
}

/// Returns the start of a sample on the worker's clock: the reported one, else that of the first span of its trace.
pub(super) fn start_ns(reply: &SampleReply) -> Option<u64> {
    let first = || reply.trace.as_ref()?.spans.iter().map(|span| span.start_ns).min();
    reply.start_ns.or_else(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(start_ns: Option<u64>, wall_ns: u64) -> SampleReply {
        SampleReply { start_ns, wall_ns, ..SampleReply::default() }
    }

    #[test]
    fn samples_narrow_each_other_down() {
        let mut clock = WorkerClock::default();
        assert_eq!(clock.offset_ns(), (0, 0));
        clock.add(&sample(Some(100), 10), 1_000, 1_110);
        assert_eq!(clock.offset_ns(), (950, 50));
        clock.add(&sample(Some(200), 10), 1_160, 1_260);
        assert_eq!(clock.offset_ns(), (980, 20), "between 960 and 1000");
        clock.add(&sample(None, 10), 0, 10);
        assert_eq!(clock.offset_ns(), (980, 20), "it says nothing of its clock");
    }

    #[test]
    fn one_clock_for_all_is_assumed_where_it_can_be() {
        let mut clock = WorkerClock::default();
        clock.add(&sample(Some(1_010), 20), 1_000, 1_100);
        assert_eq!(clock.offset_ns(), (0, 70));
    }

    #[test]
    fn a_clock_that_jumps_is_where_it_was_last() {
        let mut clock = WorkerClock::default();
        clock.add(&sample(Some(100), 0), 200, 200);
        clock.add(&sample(Some(500), 0), 550, 560);
        assert_eq!(clock.offset_ns(), (55, 5));
        // The worker reports a longer time than passed.
        clock.add(&sample(Some(900), 100), 1_000, 1_060);
        assert_eq!(clock.offset_ns(), (80, 20));
    }
}
