//! When a placement is warm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the warm-up of one placement saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Batches that were run.
    pub batches: u32,
    /// Time of the first batch's iterations, in ns each.
    pub first_ns: f64,
    /// Time of the fastest batch's iterations, in ns each.
    pub best_ns: f64,
    /// Whether it got steady; false where the time for warming up ran out first.
    pub steady: bool,
}

/// How long to look for a steady state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Batches at the end that must not be faster than the best before them.
    pub(super) confirming: usize,
    /// Time after which it is given up.
    pub(super) limit_ns: u64,
}

/// The first placement of a launch: code, caches and pools are cold.
pub(super) const FIRST: Patience = Patience { confirming: 2, limit_ns: 400_000_000 };
/// A later placement: only its buffers are.
pub(super) const LATER: Patience = Patience { confirming: 1, limit_ns: 100_000_000 };

/// A batch that is less than this much faster than the best one before is as fast.
const FASTER: f64 = 0.95;
/// More batches than this are never run: a benchmark that gets faster for ever is not waited for.
pub(super) const MAX_BATCHES: usize = 50;

/// Whether the batches so far show a steady state: the last `confirming` ones are not faster than the best before
/// them. A single slow first batch (compilation, page faults) is followed by one much faster, which restarts the wait.
pub(super) fn is_steady(batches: &[f64], confirming: usize) -> bool {
    let Some(split) = batches.len().checked_sub(confirming).filter(|split| *split > 0) else {
        return false;
    };
    let (before, last) = batches.split_at(split);
    let best = before.iter().copied().fold(f64::INFINITY, f64::min);
    last.iter().all(|time| *time >= FASTER * best)
}

impl WarmUp {
    pub(super) fn of(batches: &[f64], steady: bool) -> Self {
        Self {
            batches: batches.len() as u32,
            first_ns: batches.first().copied().unwrap_or(0.0),
            best_ns: batches.iter().copied().fold(f64::INFINITY, f64::min),
            steady,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_first_batch_is_waited_out() {
        assert!(!is_steady(&[20.0], 2));
        assert!(!is_steady(&[20.0, 1.0], 2));
        assert!(!is_steady(&[20.0, 1.0, 1.0], 2));
        assert!(is_steady(&[20.0, 1.0, 1.0, 1.0], 2));
    }

    #[test]
    fn steady_batches_are_seen_at_once_whatever_their_noise() {
        assert!(is_steady(&[1.0, 1.3, 0.99], 2));
        assert!(is_steady(&[1.0, 1.0], 1));
        assert!(!is_steady(&[1.0], 1));
        assert!(!is_steady(&[], 1));
    }

    #[test]
    fn something_that_keeps_getting_faster_is_not_steady() {
        let times: Vec<f64> = (0..20).map(|i| 0.9_f64.powi(i)).collect();
        assert!((1..=20).all(|n| !is_steady(&times[..n], 2)));
    }
}
