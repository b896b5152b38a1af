//! Warm-up of a placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Warm-up of one placement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Batches that were run.
    pub batches: u32,
    /// Time of the first batch's iterations, in ns each.
    pub first_ns: f64,
    /// Time of the fastest batch's iterations, in ns each.
    pub best_ns: f64,
    /// Whether times became steady; false if the time for warming up ran out first.
    pub steady: bool,
}

/// Limits of a warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarmUpLimits {
    /// Last batches that must not be faster than the best before them.
    pub(super) confirming: usize,
    /// Ratio to the best time of earlier warm-ups up to which a batch is warm at once. Later batches would only confirm it.
    pub(super) as_fast: f64,
    /// Least time of the batches together.
    pub(super) least_ns: u64,
    /// Time after which the warm-up ends.
    pub(super) limit_ns: u64,
    /// Intended time of a batch, in ns.
    pub(super) batch_ns: f64,
}

/// Limits for the first placement of a launch: code, caches and pools are cold.
pub(super) const FIRST: WarmUpLimits =
    WarmUpLimits { confirming: 2, as_fast: 1.25, least_ns: 0, limit_ns: 400_000_000, batch_ns: BATCH_NS };
/// Time of an iteration from which a first placement that is not the first of all is warmed up as a later one: the cold
/// start is a small part of one iteration.
const LONG_ITERATION_NS: f64 = 10_000_000.0;
/// Limits for a later placement: only its buffers are cold, and one batch touches them.
pub(super) const LATER: WarmUpLimits =
    WarmUpLimits { confirming: 1, as_fast: 2.0, least_ns: 0, limit_ns: 100_000_000, batch_ns: BATCH_NS };
/// Limits for every placement on a GPU: it lowers its clock while nothing runs, such as during a launch, and takes up to
/// 100 ms of work to raise it again. Until then all batches may be equally slow, and as fast as earlier ones.
pub(super) const ON_GPU: WarmUpLimits = WarmUpLimits {
    confirming: 2,
    as_fast: 0.0,
    least_ns: 100_000_000,
    limit_ns: 400_000_000,
    batch_ns: 10_000_000.0,
};

/// Returns the limits for a placement; `known_ns` is the best time of an iteration so far, 0 if there is none. `on_gpu` is
/// that of the side.
pub(super) fn limits(placement: u32, known_ns: f64, on_gpu: bool) -> WarmUpLimits {
    if on_gpu {
        return ON_GPU;
    }
    if placement == 0 && known_ns < LONG_ITERATION_NS { FIRST } else { LATER }
}

/// Ratio to the best time before, below which a batch counts as faster.
const FASTER: f64 = 0.95;
/// Intended time of a batch. Where it decides how long samples are, it is as long as one: after each wait for the next
/// request, the first iterations of a loaded machine may take several times as long as others.
pub(super) const BATCH_NS: f64 = 1_000_000.0;
/// Most batches, for benchmarks that never stop getting faster.
pub(super) const MAX_BATCHES: usize = 50;

/// Returns the iterations of a next batch of `target_ns`; `iteration_ns` is the best time so far, 0 before the first.
pub(super) fn batch_iterations(iteration_ns: f64, target_ns: f64) -> u64 {
    if iteration_ns > 0.0 { (target_ns / iteration_ns).ceil().max(1.0) as u64 } else { 1 }
}

/// Returns the best time of an iteration after one more batch; `best_ns` is that so far, 0 before the first.
pub(super) fn faster(best_ns: f64, batch_ns: f64) -> f64 {
    if best_ns > 0.0 { best_ns.min(batch_ns) } else { batch_ns }
}

/// Whether the batches show a steady state: the last one is as fast as an iteration in earlier warm-ups, whose best time is
/// `known_ns` (0 if there was none), or the last `confirming` ones are not faster than the best before them. After a slow first
/// batch (compilation, page faults) comes a much faster one, which restarts the wait.
pub(super) fn is_steady(batches: &[f64], known_ns: f64, limits: WarmUpLimits) -> bool {
    let WarmUpLimits { confirming, as_fast, .. } = limits;
    if batches.last().is_some_and(|last| *last <= as_fast * known_ns) {
        return true;
    }
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
        assert!(!is_steady(&[20.0], 0.0, FIRST));
        assert!(!is_steady(&[20.0, 1.0], 0.0, FIRST));
        assert!(!is_steady(&[20.0, 1.0, 1.0], 0.0, FIRST));
        assert!(is_steady(&[20.0, 1.0, 1.0, 1.0], 0.0, FIRST));
    }

    #[test]
    fn steady_batches_are_seen_at_once_whatever_their_noise() {
        assert!(is_steady(&[1.0, 1.3, 0.99], 0.0, FIRST));
        assert!(is_steady(&[1.0, 1.0], 0.0, LATER));
        assert!(!is_steady(&[1.0], 0.0, LATER));
        assert!(!is_steady(&[], 1.0, LATER));
    }

    #[test]
    fn a_batch_that_is_as_fast_as_earlier_ones_needs_no_other() {
        assert!(is_steady(&[1.2], 1.0, FIRST) && is_steady(&[0.5], 1.0, FIRST));
        assert!(!is_steady(&[1.3], 1.0, FIRST));
        assert!(is_steady(&[1.3], 1.0, LATER));
        assert!(!is_steady(&[2.1], 1.0, LATER) && is_steady(&[2.1, 2.1], 1.0, LATER));
        assert!(is_steady(&[20.0, 1.0], 1.0, FIRST), "compiled");
    }

    #[test]
    fn long_iterations_are_warmed_up_thoroughly_once() {
        let confirming = |placement, known_ns| limits(placement, known_ns, false).confirming;
        assert_eq!(
            [confirming(0, 0.0), confirming(0, 1e6), confirming(0, 2e7), confirming(1, 1e6)],
            [2, 2, 1, 1]
        );
    }

    #[test]
    fn something_that_keeps_getting_faster_is_not_steady() {
        let times: Vec<f64> = (0..20).map(|i| 0.9_f64.powi(i)).collect();
        assert!((1..=20).all(|n| !is_steady(&times[..n], 0.0, FIRST)));
    }
}
