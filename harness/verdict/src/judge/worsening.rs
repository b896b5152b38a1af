use perfharness_contract::Direction;

use crate::{Estimate, Interval, student};

/// An effect with noise, turned so that a positive one is for the worse. All are log-ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worsening {
    /// The effect.
    pub(super) effect: f64,
    /// The interval of the effect.
    pub(super) interval: Interval,
    /// The standard error of the effect.
    pub(super) standard_error: f64,
    /// The degrees of freedom behind the standard error.
    pub(super) df: f64,
}

impl Worsening {
    /// An effect where `sign` is that of a change for the worse; none without an interval that is one, or a spread.
    pub(super) fn of(estimate: &Estimate, sign: f64) -> Option<Self> {
        let (standard_error, df) = estimate.error()?;
        let interval = estimate.interval.filter(|interval| is_proper(*interval))?;
        Some(Self { effect: sign * estimate.theta, interval: turned(interval, sign), standard_error, df })
    }

    /// The one-sided p-value of "it is not worse", by Student's t:
    ///
    /// ```text
    /// p = P(t(df) >= effect / standard_error)
    /// ```
    ///
    /// None without a spread, which is evidence of a coarse clock and not of a precise time.
    pub(super) fn p_value(&self) -> Option<f64> {
        if self.standard_error.is_nan() || self.standard_error <= 0.0 {
            return None;
        }
        // The lower tail of the negated value, because 1 - cdf loses the digits of a small p-value.
        student::cdf(-self.effect / self.standard_error, self.df).ok()
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

/// An interval turned so that positive values are for the worse, where `sign` is that of a change for the worse.
pub(super) fn turned(interval: Interval, sign: f64) -> Interval {
    if sign < 0.0 { Interval { lower: -interval.upper, upper: -interval.lower } } else { interval }
}

/// A log-ratio as a ratio. The largest number stands for what is beyond all numbers, because JSON has no infinity.
pub(super) fn ratio(log_ratio: f64) -> f64 {
    log_ratio.exp().min(f64::MAX)
}

/// A log-ratio as a share: 0.03 is 3 % more. The share that a threshold was written as comes back to the last digit.
pub(super) fn share(log_ratio: f64) -> f64 {
    (log_ratio.exp_m1() * 1e12).round() / 1e12
}

/// Whether the bounds are numbers in order.
pub(super) fn is_proper(interval: Interval) -> bool {
    interval.lower.is_finite() && interval.upper.is_finite() && interval.lower <= interval.upper
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn worsening(effect: f64, standard_error: f64, df: f64) -> Worsening {
        Worsening { effect, interval: Interval::around(effect, 0.01), standard_error, df }
    }

    #[test]
    fn the_p_value_is_that_of_a_worked_example() {
        // 0.02 / 0.01 = 2 with 7 degrees of freedom has the upper tail 0.042809 (R: pt(2, 7, lower = FALSE)).
        let p = worsening(0.02, 0.01, 7.0).p_value().unwrap();
        assert!((p - 0.042_809).abs() < 1e-6, "{p}");
        // Without an effect a half.
        assert_eq!(worsening(0.0, 0.01, 7.0).p_value(), Some(0.5));
    }

    #[rstest]
    #[case::no_spread(0.05, 0.0, 7.0)]
    #[case::no_degrees_of_freedom(0.05, 0.01, 0.0)]
    #[case::effect_not_a_number(f64::NAN, 0.01, 7.0)]
    #[case::spread_not_a_number(0.05, f64::NAN, 7.0)]
    fn there_is_no_p_value_for(#[case] effect: f64, #[case] standard_error: f64, #[case] df: f64) {
        assert_eq!(worsening(effect, standard_error, df).p_value(), None);
    }

    #[rstest]
    #[case::none(0.0)]
    #[case::three_percent(0.03)]
    #[case::half(0.5)]
    #[case::thirty_times(29.5)]
    fn a_share_survives_being_a_log_ratio(#[case] threshold: f64) {
        assert_eq!(share(threshold.ln_1p()), threshold);
    }
}
