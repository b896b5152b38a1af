//! Number of iterations of a sample.

/// Fewest steps of the worker's clock in a sample, so that reading the clock costs below 0.1 %.
pub const MIN_CLOCK_STEPS: u64 = 1_000;
/// Intended time of the untimed lead-in before a sample: enough to refill caches and to raise the core's clock after the
/// hand-over from another process.
pub const LEAD_IN_TARGET_NS: u64 = 1_000_000;
/// Time from which an iteration needs no lead-in, because its cold start is a negligible part of it.
const LONG_ITERATION_NS: f64 = 50_000_000.0;
/// Most iterations of a sample, however fast they are.
const MAX_ITERATIONS: f64 = 100_000_000.0;

/// Iterations of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleLength {
    /// Timed iterations.
    pub iterations: u64,
    /// Untimed iterations before them.
    pub lead_in: u64,
}

impl SampleLength {
    /// Chooses the length of samples for iterations of `iteration_ns`, aiming at `target_ns` per sample.
    pub fn choose(iteration_ns: f64, target_ns: u64, clock_step_ns: Option<u64>) -> Self {
        let floor = clock_step_ns.unwrap_or(1_000).saturating_mul(MIN_CLOCK_STEPS);
        let target = target_ns.max(floor) as f64;
        let per = iteration_ns.max(0.1);
        let iterations = (target / per).ceil().clamp(1.0, MAX_ITERATIONS) as u64;
        let lead_in = if per > LONG_ITERATION_NS {
            0
        } else {
            (LEAD_IN_TARGET_NS as f64 / per).ceil().clamp(1.0, MAX_ITERATIONS) as u64
        };
        Self { iterations, lead_in }
    }

    /// Returns the length with a planted slowdown: at least one iteration more, while the nominal ones are counted.
    #[must_use]
    pub fn planted(self, share: f64) -> Self {
        let more = (self.iterations as f64 * share).round().max(1.0) as u64;
        Self { iterations: self.iterations + more, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_is_planted_in_whole_iterations() {
        let length = SampleLength { iterations: 200, lead_in: 10 };
        assert_eq!(length.planted(0.05), SampleLength { iterations: 210, lead_in: 10 });
        assert_eq!(SampleLength { iterations: 1, lead_in: 0 }.planted(0.05).iterations, 2);
    }

    #[test]
    fn short_iterations_are_bundled_and_long_ones_stand_alone() {
        let length = |ns| SampleLength::choose(ns, 5_000_000, Some(20));
        assert_eq!(length(1_000.0), SampleLength { iterations: 5_000, lead_in: 1_000 });
        assert_eq!(length(12e6), SampleLength { iterations: 1, lead_in: 1 });
        assert_eq!(length(3e9), SampleLength { iterations: 1, lead_in: 0 });
    }

    #[test]
    fn a_coarse_clock_makes_samples_longer() {
        let coarse = SampleLength::choose(1_000.0, 5_000_000, Some(15_000_000));
        assert_eq!(coarse.iterations, 15_000_000);
        assert_eq!(SampleLength::choose(1_000.0, 5_000_000, None).iterations, 5_000);
    }

    #[test]
    fn an_iteration_of_no_time_gives_a_bounded_sample() {
        for nothing in [0.0, -1.0, f64::NAN, 1e-300] {
            assert!(SampleLength::choose(nothing, 5_000_000, Some(1)).iterations <= 100_000_000);
        }
    }
}
