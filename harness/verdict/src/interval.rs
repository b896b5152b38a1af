use serde::{Deserialize, Serialize};

/// A two-sided confidence interval, in the unit of the quantity that it belongs to. `lower <= upper` in every
/// interval that this crate returns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
}

impl Interval {
    /// The interval `center ± half_width`, for a half-width that is not negative.
    pub(crate) fn around(center: f64, half_width: f64) -> Self {
        Self { lower: center - half_width, upper: center + half_width }
    }

    /// Whether `value` lies within the bounds, which count as within.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Whether every value is beyond `limit`, `Some(true)`, or none is, `Some(false)`; none where the interval holds
    /// both.
    pub fn is_beyond(&self, limit: f64) -> Option<bool> {
        if self.lower > limit { Some(true) } else { (self.upper <= limit).then_some(false) }
    }

    /// Half the distance between the bounds.
    pub fn half_width(&self) -> f64 {
        self.upper / 2.0 - self.lower / 2.0
    }

    /// The bounds passed through a rising function, for example from log-ratios to ratios by `f64::exp`.
    #[must_use]
    pub fn map(&self, rising: impl Fn(f64) -> f64) -> Self {
        Self { lower: rising(self.lower), upper: rising(self.upper) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::below(-1.5, false)]
    #[case::lower_bound(-1.0, true)]
    #[case::inside(0.0, true)]
    #[case::upper_bound(3.0, true)]
    #[case::above(3.5, false)]
    #[case::not_a_number(f64::NAN, false)]
    fn an_interval_contains_its_bounds_and_what_lies_between(#[case] value: f64, #[case] expected: bool) {
        assert_eq!(Interval { lower: -1.0, upper: 3.0 }.contains(value), expected);
    }

    #[rstest]
    #[case::below_both(-2.0, Some(true))]
    #[case::at_the_lower_bound(-1.0, None)]
    #[case::inside(0.0, None)]
    #[case::at_the_upper_bound(3.0, Some(false))]
    #[case::above_both(4.0, Some(false))]
    #[case::not_a_number(f64::NAN, None)]
    fn an_interval_is_beyond_a_limit_that_it_does_not_hold(#[case] limit: f64, #[case] beyond: Option<bool>) {
        assert_eq!(Interval { lower: -1.0, upper: 3.0 }.is_beyond(limit), beyond);
    }

    #[test]
    fn around_and_half_width_undo_each_other() {
        let interval = Interval::around(-0.25, 0.5);
        assert_eq!(interval, Interval { lower: -0.75, upper: 0.25 });
        assert_eq!(interval.half_width(), 0.5);
    }

    #[test]
    fn mapping_by_exp_turns_log_ratios_into_ratios() {
        let mapped = Interval { lower: 0.0, upper: 2_f64.ln() }.map(f64::exp);
        assert_eq!(mapped.lower, 1.0);
        assert!((mapped.upper - 2.0).abs() < 1e-15);
    }
}
