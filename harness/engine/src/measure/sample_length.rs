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
        let floor = Self::least_iterations(iteration_ns, clock_step_ns);
        let iterations = iterations_in(target_ns, iteration_ns).max(floor);
        let lead_in =
            if iteration_ns > LONG_ITERATION_NS { 0 } else { iterations_in(LEAD_IN_TARGET_NS, iteration_ns) };
        Self { iterations, lead_in }
    }

    /// Returns the fewest iterations of a sample that the steps of its clock allow.
    pub fn least_iterations(iteration_ns: f64, clock_step_ns: Option<u64>) -> u64 {
        iterations_in(clock_step_ns.unwrap_or(1_000).saturating_mul(MIN_CLOCK_STEPS), iteration_ns)
    }

    /// Chooses one length for sides that run the same benchmark, given the time of an iteration and the step of the clock
    /// of each: the one that suits the slowest of them, unless the clock of another one needs more iterations. `None`
    /// without sides.
    ///
    /// With lengths of their own, sides of equal code would run other iterations on other inputs and in other states of the
    /// caches, and differ by that in every launch.
    pub fn choose_shared(sides: &[(f64, Option<u64>)], target_ns: u64) -> Option<Self> {
        let (slowest_ns, step_ns) = *sides.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let chosen = Self::choose(slowest_ns, target_ns, step_ns);
        let floor = sides.iter().map(|(ns, step_ns)| Self::least_iterations(*ns, *step_ns)).max()?;
        Some(Self { iterations: chosen.iterations.max(floor), ..chosen })
    }

    /// Returns the length with a planted slowdown: at least one iteration more, while the nominal ones are counted.
    #[must_use]
    pub fn planted(self, share: f64) -> Self {
        let more = (self.iterations as f64 * share).round().max(1.0) as u64;
        Self { iterations: self.iterations + more, ..self }
    }
}

/// Returns the iterations that take `ns`: at least one, and a bounded number.
fn iterations_in(ns: u64, iteration_ns: f64) -> u64 {
    (ns as f64 / iteration_ns.max(0.1)).ceil().clamp(1.0, MAX_ITERATIONS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_length_suits_the_slowest_of_several_sides_and_the_clock_of_the_fastest() {
        let shared = |sides: &[(f64, Option<u64>)]| SampleLength::choose_shared(sides, 5_000_000);
        let steps = Some(20);
        let slow = SampleLength::choose(10_000.0, 5_000_000, steps);
        assert_eq!(shared(&[(10_000.0, steps)]), Some(slow));
        assert_eq!(shared(&[(9_000.0, steps), (10_000.0, steps), (8_000.0, steps)]), Some(slow));
        // 20 us of a clock with steps of 20 ns are 2,000 iterations of 10 ns.
        assert_eq!(
            shared(&[(10.0, steps), (10_000.0, steps)]),
            Some(SampleLength { iterations: 2_000, ..slow })
        );
        assert_eq!(shared(&[]), None);
    }

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
