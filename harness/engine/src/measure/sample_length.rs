//! Number of iterations of a sample.

/// Fewest steps of the worker's clock in a sample, so that reading the clock costs below 0.1 %.
pub const MIN_CLOCK_STEPS: u64 = 1_000;
/// Intended time of the untimed lead-in before a sample: enough to refill caches and to raise the core's clock after the
/// hand-over from another process.
pub const LEAD_IN_TARGET_NS: u64 = 1_000_000;
/// Time from which an iteration needs no lead-in, because its cold start is a negligible part of it.
const LONG_ITERATION_NS: f64 = 10_000_000.0;
/// Most iterations of a sample, however fast they are.
const MAX_ITERATIONS: f64 = 100_000_000.0;

/// Factor by which a planted slowdown may exceed the intended share.
const PLANT_ERROR: f64 = 1.05;
/// Distance from a whole number of iterations that is due to rounding.
const WHOLE: f64 = 1e-6;

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

    /// Returns the length that a sample needs to carry a planted slowdown: so many iterations that the next whole number
    /// of further ones is that share of them, or exceeds it by a twentieth of it at most.
    #[must_use]
    pub fn carrying(self, share: f64) -> Self {
        let is_exact = |iterations: &u64| {
            let length = Self { iterations: *iterations, ..self };
            length.planted(share) as f64 <= *iterations as f64 * share * PLANT_ERROR
        };
        // Rounding up adds less than one iteration, which is a twentieth of twenty.
        let most = self.iterations.saturating_add((20.0 / share).ceil() as u64);
        let iterations = (self.iterations..most).find(is_exact).unwrap_or(most);
        Self { iterations, ..self }
    }

    /// Returns the iterations of a planted slowdown, which are run and not counted: at least one.
    pub fn planted(self, share: f64) -> u64 {
        (self.iterations as f64 * share - WHOLE).ceil().max(1.0) as u64
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
        let planted = |iterations, share| {
            let length = SampleLength { iterations, lead_in: 10 }.carrying(share);
            assert_eq!(length.lead_in, 10);
            (length.iterations, length.planted(share))
        };
        assert_eq!(planted(200, 0.05), (200, 10));
        assert_eq!(planted(1, 1.0), (1, 1));
        assert_eq!(planted(1, 2.0), (1, 2));
        // The one sample in which a single iteration more is just the share, and not twice the work.
        assert_eq!(planted(1, 0.03), (32, 1));
        assert_eq!(planted(1, 0.3), (10, 3));
        assert_eq!(planted(100_000_000, 0.015), (100_000_000, 1_500_000));
        for (iterations, share) in (1..200).flat_map(|n| [0.01, 0.015, 0.07, 0.5, 0.75, 4.0].map(|s| (n, s)))
        {
            let (length, more) = planted(iterations, share);
            let is = more as f64 / length as f64;
            assert!(
                length >= iterations && (share - 1e-9..=share * 1.05).contains(&is),
                "{iterations} {share}"
            );
        }
    }

    #[test]
    fn short_iterations_are_bundled_and_long_ones_stand_alone() {
        let length = |ns| SampleLength::choose(ns, 5_000_000, Some(20));
        assert_eq!(length(1_000.0), SampleLength { iterations: 5_000, lead_in: 1_000 });
        assert_eq!(length(9e6), SampleLength { iterations: 1, lead_in: 1 });
        assert_eq!(length(12e6), SampleLength { iterations: 1, lead_in: 0 });
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
