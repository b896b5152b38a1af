//! The anchor: a fixed workload that is timed through every run, so that figures of different days can be corrected for
//! the speed of the machine.
//!
//! It is a chain of multiplications and of reads in 512 KiB, about half the time each, so that it slows down with a lower
//! clock and with a neighbour that uses the cache. It must never change, because stored baselines are relative to it.

use std::hint::black_box;

use perfharness_platform::clock;

/// Words of the buffer: 512 KiB.
const WORDS: usize = 1 << 16;
/// Steps of one timing, about a millisecond.
const STEPS: u64 = 120_000;
/// Timings that the median is taken of.
const TIMINGS: usize = 5;
/// Factor and increment of Knuth's MMIX generator, whose low bits are not used.
const FACTOR: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// Buffer of the anchor. It is kept, so that the anchor is timed warm.
#[derive(Debug)]
pub(super) struct Anchor {
    words: Vec<u64>,
}

impl Anchor {
    pub(super) fn new() -> Self {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(FACTOR).wrapping_add(INCREMENT);
            state
        };
        Self { words: (0..WORDS).map(|_| next()).collect() }
    }

    /// Returns the time of the work in ns: the median of a few timings, after one that warms up.
    pub(super) fn time_ns(&self) -> f64 {
        self.walk();
        let mut times: Vec<u64> = (0..TIMINGS)
            .map(|_| {
                let start = clock::monotonic_ns();
                self.walk();
                clock::monotonic_ns().saturating_sub(start)
            })
            .collect();
        times.sort_unstable();
        times[TIMINGS / 2] as f64
    }

    /// Does the work. Every step needs the result of the one before it, so that none can run early or in parallel.
    fn walk(&self) -> u64 {
        let mut state = black_box(1_u64);
        for _ in 0..STEPS {
            state = state.wrapping_mul(FACTOR).wrapping_add(INCREMENT);
            let at = (state >> 48) as usize % WORDS;
            state ^= self.words[at];
        }
        black_box(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of stored baselines are relative to this very work.
    #[test]
    fn the_work_never_changes() {
        assert_eq!(Anchor::new().walk(), 2_241_317_705_935_302_498);
    }

    #[test]
    fn it_takes_time() {
        assert!(Anchor::new().time_ns() > 0.0);
    }
}
