//! Where a worker's clock is beside the harness's.

use perfharness_contract::protocol::SampleReply;

/// What has to be added to a worker's moments, between bounds: a sample begins after it was asked for, and ends before its
/// answer is here. Short samples say it most exactly, and all of them together better than each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkerClock {
    bounds: Option<(i64, i64)>,
}

impl WorkerClock {
    /// Takes in a sample, with the harness's time when it was asked for and when its answer was there.
    pub(super) fn see(&mut self, reply: &SampleReply, sent_ns: u64, answered_ns: u64) {
        let Some(start_ns) = start_ns(reply) else { return };
        let start = start_ns.cast_signed();
        let end = start.saturating_add(reply.wall_ns.cast_signed());
        let here =
            (sent_ns.cast_signed().saturating_sub(start), answered_ns.cast_signed().saturating_sub(end));
        let joint = match self.bounds {
            Some((low, high)) => (low.max(here.0), high.min(here.1)),
            None => here,
        };
        // A worker may count its time in another way than we do; the latest sample is the one that matters then.
        let latest = if joint.0 <= joint.1 { joint } else { here };
        self.bounds = Some((latest.0.min(latest.1), latest.1.max(latest.0)));
    }

    /// What to add, in ns, and by how much that may be off. Both are 0 as long as nothing is known.
    pub(super) fn offset_ns(&self) -> (i64, u64) {
        let Some((low, high)) = self.bounds else { return (0, 0) };
        // Most systems have one clock for all processes.
        let offset = if low <= 0 && high >= 0 { 0 } else { i64::midpoint(low, high) };
        (offset, low.abs_diff(offset).max(high.abs_diff(offset)))
    }
}

/// Where a sample begins by the worker's clock: as it says, or else at the first thing that it traced.
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
        clock.see(&sample(Some(100), 10), 1_000, 1_110);
        assert_eq!(clock.offset_ns(), (950, 50));
        clock.see(&sample(Some(200), 10), 1_160, 1_260);
        assert_eq!(clock.offset_ns(), (980, 20), "between 960 and 1000");
        clock.see(&sample(None, 10), 0, 10);
        assert_eq!(clock.offset_ns(), (980, 20), "it says nothing of its clock");
    }

    #[test]
    fn one_clock_for_all_is_assumed_where_it_can_be() {
        let mut clock = WorkerClock::default();
        clock.see(&sample(Some(1_010), 20), 1_000, 1_100);
        assert_eq!(clock.offset_ns(), (0, 70));
    }

    #[test]
    fn a_clock_that_jumps_is_where_it_was_last() {
        let mut clock = WorkerClock::default();
        clock.see(&sample(Some(100), 0), 200, 200);
        clock.see(&sample(Some(500), 0), 550, 560);
        assert_eq!(clock.offset_ns(), (55, 5));
        // By its own account it took longer than it did.
        clock.see(&sample(Some(900), 100), 1_000, 1_060);
        assert_eq!(clock.offset_ns(), (80, 20));
    }
}
