use perfharness_contract::Direction;

use super::{Reason, Verdict};
use crate::{Detection, Interval, student};

/// An effect with noise, turned so that a positive one is for the worse. All are log-ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worsening {
    /// The effect.
    pub(super) effect: f64,
    /// The standard error of the effect.
    pub(super) standard_error: f64,
    /// The degrees of freedom behind the standard error.
    pub(super) df: f64,
}

impl Worsening {
    /// The one-sided p-value of "the effect is at most `delta`", by Student's t:
    ///
    /// ```text
    /// p = P(t(df) >= (effect - delta) / standard_error)
    /// ```
    ///
    /// None without a spread, which is evidence of a coarse clock and not of a precise time.
    pub(super) fn p_value(&self, delta: f64) -> Option<f64> {
        if self.standard_error.is_nan() || self.standard_error <= 0.0 {
            return None;
        }
        // The lower tail of the negated value, because 1 - cdf loses the digits of a small p-value.
        student::cdf((delta - self.effect) / self.standard_error, self.df).ok()
    }
}

/// The sign of a change for the worse; none where no change is.
pub(super) fn worse(direction: Direction) -> Option<f64> {
    match direction {
        Direction::Lower => Some(1.0),
        Direction::Higher => Some(-1.0),
        Direction::Neutral => None,
    }
}

/// Turns an interval so that positive values are for the worse; none where no direction is.
pub(super) fn worsening(interval: Interval, direction: Direction) -> Option<Interval> {
    let sign = worse(direction)?;
    Some(if sign < 0.0 { Interval { lower: -interval.upper, upper: -interval.lower } } else { interval })
}

/// The verdict on an interval, turned so that positive is worse: changes beyond `delta` matter, and those within
/// `±delta` do not.
pub(super) fn zone(worsening: Interval, delta: f64) -> (Verdict, Reason) {
    match worsening.is_beyond(delta) {
        Some(true) => (Verdict::Regressed, Reason::BeyondThreshold),
        Some(false) if worsening.upper < -delta => (Verdict::Improved, Reason::BeyondThreshold),
        Some(false) if worsening.lower >= -delta => (Verdict::Unchanged, Reason::WithinThreshold),
        Some(false) => (Verdict::Inconclusive, Reason::NotWorse),
        None => (Verdict::Inconclusive, Reason::AcrossThreshold),
    }
}

/// The detection by an interval of `confidence`, one of whose bounds lies beyond `delta`.
pub(super) fn detection(delta: f64, confidence: f64) -> Detection {
    Detection::new(delta, (1.0 - confidence) / 2.0)
}

/// A log-ratio as a ratio. The largest number stands for what is beyond all numbers, because JSON has no infinity.
pub(super) fn ratio(log_ratio: f64) -> f64 {
    log_ratio.exp().min(f64::MAX)
}

/// Whether the bounds are numbers in order.
pub(super) fn is_proper(interval: Interval) -> bool {
    interval.lower.is_finite() && interval.upper.is_finite() && interval.lower <= interval.upper
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::{Evidence, Judgement};

    #[rstest]
    #[case::wholly_beyond(0.031, 0.05, Verdict::Regressed, Reason::BeyondThreshold)]
    #[case::touching_from_above(0.03, 0.05, Verdict::Inconclusive, Reason::AcrossThreshold)]
    #[case::across(0.01, 0.05, Verdict::Inconclusive, Reason::AcrossThreshold)]
    #[case::touching_from_within(-0.03, 0.03, Verdict::Unchanged, Reason::WithinThreshold)]
    #[case::within(-0.01, 0.02, Verdict::Unchanged, Reason::WithinThreshold)]
    #[case::within_and_above_zero(0.001, 0.02, Verdict::Unchanged, Reason::WithinThreshold)]
    #[case::better_or_unchanged(-0.05, 0.03, Verdict::Inconclusive, Reason::NotWorse)]
    #[case::touching_from_below(-0.05, -0.03, Verdict::Inconclusive, Reason::NotWorse)]
    #[case::wholly_below(-0.05, -0.031, Verdict::Improved, Reason::BeyondThreshold)]
    #[case::everything(-1.0, 1.0, Verdict::Inconclusive, Reason::AcrossThreshold)]
    #[case::a_point_at_the_threshold(0.03, 0.03, Verdict::Unchanged, Reason::WithinThreshold)]
    fn an_interval_is_judged_by_its_bounds(
        #[case] lower: f64,
        #[case] upper: f64,
        #[case] verdict: Verdict,
        #[case] reason: Reason,
    ) {
        assert_eq!(zone(Interval { lower, upper }, 0.03), (verdict, reason));
    }

    #[test]
    fn the_p_value_is_that_of_a_worked_example() {
        // (0.05 - 0.03) / 0.01 = 2 with 7 degrees of freedom has the upper tail 0.042809 (R: pt(2, 7, lower = FALSE)).
        let p = Worsening { effect: 0.05, standard_error: 0.01, df: 7.0 }.p_value(0.03).unwrap();
        assert!((p - 0.042_809).abs() < 1e-6, "{p}");
        // At the threshold a half.
        assert_eq!(Worsening { effect: 0.03, standard_error: 0.01, df: 7.0 }.p_value(0.03), Some(0.5));
    }

    #[rstest]
    #[case::no_spread(0.05, 0.0, 7.0)]
    #[case::no_degrees_of_freedom(0.05, 0.01, 0.0)]
    #[case::effect_not_a_number(f64::NAN, 0.01, 7.0)]
    #[case::spread_not_a_number(0.05, f64::NAN, 7.0)]
    fn there_is_no_p_value_for(#[case] effect: f64, #[case] standard_error: f64, #[case] df: f64) {
        assert_eq!(Worsening { effect, standard_error, df }.p_value(0.03), None);
    }

    fn outcome(interval: Interval) -> crate::judge::GateOutcome {
        let (verdict, reason) = zone(interval, 0.03);
        Judgement::new(verdict, reason, Evidence::None).outcome()
    }

    proptest! {
        #[test]
        fn a_larger_effect_is_never_less_severe(
            center in -0.2..0.2, half in 0.0..0.1, more in 0.0..0.2,
        ) {
            let here = outcome(Interval::around(center, half));
            let there = outcome(Interval::around(center + more, half));
            prop_assert!(here <= there);
        }

        #[test]
        fn swapping_the_sides_swaps_regressed_and_improved(center in -0.2..0.2, half in 0.0..0.1) {
            let interval = Interval::around(center, half);
            let forth = zone(worsening(interval, Direction::Lower).unwrap(), 0.03).0;
            let back = zone(worsening(interval, Direction::Higher).unwrap(), 0.03).0;
            let swapped = match forth {
                Verdict::Regressed => Verdict::Improved,
                Verdict::Improved => Verdict::Regressed,
                other => other,
            };
            prop_assert_eq!(back, swapped);
        }

        #[test]
        fn a_wider_interval_only_moves_towards_inconclusive(
            center in -0.2..0.2, half in 0.0..0.1, more in 0.0..0.1,
        ) {
            let narrow = zone(Interval::around(center, half), 0.03).0;
            let wide = zone(Interval::around(center, half + more), 0.03).0;
            prop_assert!(wide == narrow || wide == Verdict::Inconclusive);
        }
    }
}
