//! Device time from pairs of timestamps. Pure functions on ticks.

/// Kind of the commands in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SpanKind {
    /// A compute pass with its dispatches.
    Compute,
    /// Consecutive copies.
    Copy,
    /// Clears of buffers: the device is busy, but nothing is copied.
    Clear,
}

/// A stretch of device time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Span {
    /// Converts a pair of timestamps of the device. Zero stands for a slot that was never written, and drivers are
    /// known to return reversed pairs: both are missing, which differs from short.
    pub(crate) fn from_pair(begin: u64, end: u64) -> Option<Self> {
        (begin != 0 && end != 0 && end >= begin).then_some(Self { begin, end })
    }
}

/// Fewest bits of a device's counter that has timestamps; wgpu offers none with fewer.
const FEWEST_BITS: u32 = 36;

/// Returns a tick as it would be in a counter without an end, given an earlier one. Counters of 36 bits start anew from 0
/// after a minute or more: a tick in the lowest quarter, after one in the highest, is later. Pairs that drivers return
/// reversed lie much closer together and stay as they are.
pub(crate) fn unwrapped(tick: u64, earlier: u64) -> u64 {
    let bits = (u64::BITS - earlier.leading_zeros()).max(FEWEST_BITS);
    let Some(end) = 1_u64.checked_shl(bits) else { return tick };
    let quarter = end / 4;
    if earlier >= end - quarter && tick > 0 && tick < quarter { tick + end } else { tick }
}

/// Returns the device ticks in which at least one of the spans was running; overlaps count once.
pub(crate) fn merged_ticks(spans: impl IntoIterator<Item = Span>) -> u64 {
    let mut sorted: Vec<Span> = spans.into_iter().collect();
    sorted.sort_unstable();
    let mut total = 0;
    let mut covered_to = 0;
    for span in sorted {
        let begin = span.begin.max(covered_to);
        // Ticks are subtracted as integers, because an absolute tick count has more digits than a float64 holds.
        total += span.end.saturating_sub(begin);
        covered_to = covered_to.max(span.end);
    }
    total
}

/// A span that was read back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) kind: SpanKind,
    /// Mark of the span in a trace.
    pub(crate) mark: u32,
    pub(crate) span: Span,
}

/// Spans of one stretch: those that were read back, and the number of missing ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpanTally {
    pub(crate) found: Vec<Found>,
    pub(crate) missing: u64,
}

impl SpanTally {
    /// Creates a tally with room for `spans` spans, so that adding them allocates nothing.
    pub(crate) fn with_room(spans: usize) -> Self {
        Self { found: Vec::with_capacity(spans), missing: 0 }
    }

    /// Adds the timestamps of one submitted span.
    pub(crate) fn add(&mut self, kind: SpanKind, mark: u32, begin: u64, end: u64) {
        // A counter that starts anew does so at most once in a stretch, and everything after that is later.
        let earlier = self.found.first().map_or(begin, |found| found.span.begin);
        let begin = unwrapped(begin, earlier);
        let end = unwrapped(end, earlier.min(begin));
        match Span::from_pair(begin, end) {
            Some(span) => self.found.push(Found { kind, mark, span }),
            None => self.missing += 1,
        }
    }

    /// Returns the number of submitted spans.
    pub(crate) fn expected(&self) -> u64 {
        self.found.len() as u64 + self.missing
    }

    /// Returns the ticks in which the device was busy.
    pub(crate) fn busy_ticks(&self) -> u64 {
        merged_ticks(self.found.iter().map(|found| found.span))
    }

    /// Returns the ticks in which a copy was running.
    pub(crate) fn copy_ticks(&self) -> u64 {
        merged_ticks(self.found.iter().filter(|found| found.kind == SpanKind::Copy).map(|found| found.span))
    }
}

/// Converts ticks to nanoseconds; `period` is the length of a tick in ns.
pub(crate) fn nanoseconds(ticks: u64, period: f32) -> f64 {
    ticks as f64 * f64::from(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64) -> Span {
        Span::from_pair(begin, end).unwrap()
    }

    #[test]
    fn zero_and_reversed_pairs_are_missing_but_equal_ones_are_short() {
        for (begin, end) in [(0, 0), (0, 5), (5, 0), (6, 5)] {
            assert_eq!(Span::from_pair(begin, end), None, "({begin}, {end})");
        }
        assert_eq!(merged_ticks([span(5, 5)]), 0);
    }

    #[test]
    fn nothing_takes_no_time() {
        assert_eq!(merged_ticks([]), 0);
        assert_eq!(SpanTally::default().busy_ticks(), 0);
        assert_eq!(SpanTally::default().expected(), 0);
    }

    #[test]
    fn spans_apart_add_up_in_any_order() {
        assert_eq!(merged_ticks([span(100, 110), span(10, 30), span(200, 201)]), 31);
    }

    #[test]
    fn overlaps_count_once() {
        assert_eq!(merged_ticks([span(10, 30), span(20, 40)]), 30);
        assert_eq!(merged_ticks([span(10, 100), span(20, 30), span(40, 50)]), 90, "within another");
        assert_eq!(merged_ticks([span(10, 20), span(10, 20)]), 10, "twice the same");
        assert_eq!(merged_ticks([span(10, 20), span(20, 30)]), 20, "end to end");
        assert_eq!(merged_ticks([span(10, 100), span(20, 30), span(90, 120)]), 110, "out of a long one");
    }

    #[test]
    fn large_tick_counts_keep_their_last_digit() {
        let now = 1_700_000_000_000_000_000;
        assert_eq!(merged_ticks([span(now, now + 1)]), 1);
        assert_eq!(merged_ticks([span(u64::MAX - 2, u64::MAX)]), 2);
    }

    #[test]
    fn a_tally_tells_copies_from_the_rest_and_counts_what_is_missing() {
        let mut tally = SpanTally::default();
        tally.add(SpanKind::Compute, 0, 10, 20);
        tally.add(SpanKind::Copy, 0, 15, 30);
        tally.add(SpanKind::Copy, 0, 28, 33);
        tally.add(SpanKind::Clear, 0, 40, 41);
        tally.add(SpanKind::Compute, 0, 0, 0);
        tally.missing += 2;
        assert_eq!(tally.copy_ticks(), 18);
        assert_eq!(tally.busy_ticks(), 24);
        assert_eq!((tally.expected(), tally.missing), (7, 3));
    }

    #[test]
    fn a_counter_may_start_anew_within_a_stretch() {
        const END: u64 = 1 << 36;
        let mut tally = SpanTally::default();
        tally.add(SpanKind::Compute, 0, END - 100, END - 50);
        tally.add(SpanKind::Compute, 0, END - 20, 30);
        tally.add(SpanKind::Copy, 0, 10, 40);
        tally.add(SpanKind::Copy, 0, 1000, 1001);
        assert_eq!((tally.busy_ticks(), tally.copy_ticks(), tally.missing), (50 + 60 + 1, 31, 0));
        let mut reversed = SpanTally::default();
        for (begin, end) in [(END - 50, END - 60), (500, 400), (END / 2, 100), (0, 5), (END - 5, 0)] {
            reversed.add(SpanKind::Compute, 0, begin, end);
        }
        assert_eq!((reversed.found.len(), reversed.missing), (0, 5));
        assert_eq!(unwrapped(7, u64::MAX - 1), 7, "64 bits last for centuries");
        assert_eq!(unwrapped(7, (1 << 40) - 9), (1 << 40) + 7, "a counter of 40 bits");
    }

    #[test]
    fn a_tick_may_be_any_length() {
        assert_eq!(nanoseconds(3, 1.0), 3.0);
        assert!((nanoseconds(12, 83.333) - 999.996).abs() < 1e-3);
    }

    #[test]
    fn merging_agrees_with_marking_every_tick() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let spans: Vec<Span> = (0..next(12))
                .map(|_| {
                    let begin = 1 + next(100);
                    span(begin, begin + next(30))
                })
                .collect();
            let marked = (0..200).filter(|t| spans.iter().any(|s| s.begin <= *t && *t < s.end)).count();
            assert_eq!(merged_ticks(spans.clone()), marked as u64, "{spans:?}");
        }
    }
}
