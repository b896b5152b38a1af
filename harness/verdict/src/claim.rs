use serde::{Deserialize, Serialize};

use crate::Interval;

/// A figure that a promise is held against, in the unit of the promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClaimFigure {
    /// A figure without noise, such as a count of bytes.
    Exact(f64),
    /// A figure with noise, such as a speed-up; the interval is absent if there were too few launches for
    /// one.
    Estimated {
        /// The estimate.
        value: f64,
        /// Its interval.
        interval: Option<Interval>,
    },
}

/// Whether a promise was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The figure is as promised, beyond its noise.
    Met,
    /// The figure is not as promised, beyond its noise.
    NotMet,
    /// The noise leaves it open, or there is no figure to judge by.
    Undecided,
}

/// Judges the promise that a figure is at least `promised`.
///
/// An exact figure is compared as it is. An estimate has met the promise if its whole interval is at or above
/// it, and has not if its whole interval is below; otherwise, and without an interval, the promise stays
/// undecided. The same holds for a promise or figure that is not a number.
pub fn judge_at_least(promised: f64, measured: ClaimFigure) -> ClaimVerdict {
    judge_within(promised, f64::INFINITY, measured)
}

/// Judges the promise that a figure is from `least` to `most`, which may be infinite.
///
/// An exact figure is compared as it is. An estimate has met the promise if its whole interval is within the range,
/// and has not if its whole interval is below or above it; otherwise, and without an interval, the promise stays
/// undecided. The same holds for a bound or figure that is not a number.
pub fn judge_within(least: f64, most: f64, measured: ClaimFigure) -> ClaimVerdict {
    let bounds = match measured {
        ClaimFigure::Exact(value) => Some(Interval { lower: value, upper: value }),
        ClaimFigure::Estimated { interval, .. } => interval,
    };
    match bounds {
        Some(bounds) if bounds.lower >= least && bounds.upper <= most => ClaimVerdict::Met,
        Some(bounds) if bounds.upper < least || bounds.lower > most => ClaimVerdict::NotMet,
        _ => ClaimVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn estimated(lower: f64, upper: f64) -> ClaimFigure {
        ClaimFigure::Estimated { value: lower.midpoint(upper), interval: Some(Interval { lower, upper }) }
    }

    #[rstest]
    #[case::exact_above(ClaimFigure::Exact(2.5), ClaimVerdict::Met)]
    #[case::exact_at(ClaimFigure::Exact(2.0), ClaimVerdict::Met)]
    #[case::exact_below(ClaimFigure::Exact(1.999), ClaimVerdict::NotMet)]
    #[case::exact_not_a_number(ClaimFigure::Exact(f64::NAN), ClaimVerdict::Undecided)]
    #[case::wholly_above(estimated(2.1, 3.0), ClaimVerdict::Met)]
    #[case::lower_bound_at(estimated(2.0, 3.0), ClaimVerdict::Met)]
    #[case::across(estimated(1.9, 3.0), ClaimVerdict::Undecided)]
    #[case::upper_bound_at(estimated(1.0, 2.0), ClaimVerdict::Undecided)]
    #[case::wholly_below(estimated(1.0, 1.9), ClaimVerdict::NotMet)]
    #[case::without_interval(ClaimFigure::Estimated { value: 9.0, interval: None }, ClaimVerdict::Undecided)]
    #[case::interval_not_a_number(estimated(f64::NAN, f64::NAN), ClaimVerdict::Undecided)]
    fn a_promise_of_at_least_two_is_judged(#[case] measured: ClaimFigure, #[case] expected: ClaimVerdict) {
        assert_eq!(judge_at_least(2.0, measured), expected);
    }

    #[rstest]
    #[case::exact_within(ClaimFigure::Exact(2.5), ClaimVerdict::Met)]
    #[case::exact_at_the_lower_bound(ClaimFigure::Exact(2.0), ClaimVerdict::Met)]
    #[case::exact_at_the_upper_bound(ClaimFigure::Exact(3.0), ClaimVerdict::Met)]
    #[case::exact_below(ClaimFigure::Exact(1.999), ClaimVerdict::NotMet)]
    #[case::exact_above(ClaimFigure::Exact(3.001), ClaimVerdict::NotMet)]
    #[case::exact_not_a_number(ClaimFigure::Exact(f64::NAN), ClaimVerdict::Undecided)]
    #[case::wholly_within(estimated(2.0, 3.0), ClaimVerdict::Met)]
    #[case::across_the_lower_bound(estimated(1.9, 2.5), ClaimVerdict::Undecided)]
    #[case::across_the_upper_bound(estimated(2.5, 3.1), ClaimVerdict::Undecided)]
    #[case::across_both(estimated(1.0, 4.0), ClaimVerdict::Undecided)]
    #[case::wholly_below(estimated(1.0, 1.9), ClaimVerdict::NotMet)]
    #[case::wholly_above(estimated(3.1, 4.0), ClaimVerdict::NotMet)]
    #[case::without_interval(ClaimFigure::Estimated { value: 2.5, interval: None }, ClaimVerdict::Undecided)]
    #[case::interval_not_a_number(estimated(f64::NAN, f64::NAN), ClaimVerdict::Undecided)]
    fn a_promise_of_two_to_three_is_judged(#[case] measured: ClaimFigure, #[case] expected: ClaimVerdict) {
        assert_eq!(judge_within(2.0, 3.0, measured), expected);
    }

    #[test]
    fn an_upper_bound_alone_and_a_bound_that_is_not_a_number_are_judged() {
        let at_most = |figure| judge_within(f64::NEG_INFINITY, 0.05, ClaimFigure::Exact(figure));
        assert_eq!((at_most(0.05), at_most(0.051)), (ClaimVerdict::Met, ClaimVerdict::NotMet));
        assert_eq!(at_most(f64::NEG_INFINITY), ClaimVerdict::Met);
        assert_eq!(judge_within(f64::NAN, 3.0, ClaimFigure::Exact(2.5)), ClaimVerdict::Undecided);
        assert_eq!(judge_within(2.0, f64::NAN, estimated(2.1, 2.2)), ClaimVerdict::Undecided);
    }

    #[test]
    fn a_promise_that_is_not_a_number_stays_undecided() {
        assert_eq!(judge_at_least(f64::NAN, ClaimFigure::Exact(1.0)), ClaimVerdict::Undecided);
        assert_eq!(judge_at_least(f64::NAN, estimated(1.0, 2.0)), ClaimVerdict::Undecided);
    }

    #[test]
    fn verdicts_have_stable_names_in_json() {
        let names =
            serde_json::to_string(&[ClaimVerdict::Met, ClaimVerdict::NotMet, ClaimVerdict::Undecided]);
        assert_eq!(names.unwrap(), r#"["met","not-met","undecided"]"#);
    }

    fn rank(verdict: ClaimVerdict) -> u8 {
        match verdict {
            ClaimVerdict::NotMet => 0,
            ClaimVerdict::Undecided => 1,
            ClaimVerdict::Met => 2,
        }
    }

    proptest! {
        #[test]
        fn a_larger_promise_is_never_easier_and_a_larger_figure_never_harder(
            promised in -5.0..5.0, lower in -5.0..5.0, width in 0.0..3.0, more in 0.0..3.0, exact: bool,
        ) {
            let measured = |lower: f64| if exact {
                ClaimFigure::Exact(lower)
            } else {
                estimated(lower, lower + width)
            };
            let verdict = rank(judge_at_least(promised, measured(lower)));
            prop_assert!(rank(judge_at_least(promised + more, measured(lower))) <= verdict);
            prop_assert!(rank(judge_at_least(promised, measured(lower + more))) >= verdict);
        }

        #[test]
        fn a_wider_interval_only_moves_towards_undecided(
            promised in -5.0..5.0, lower in -5.0..5.0, width in 0.0..3.0, more in 0.0..3.0,
        ) {
            let narrow = judge_at_least(promised, estimated(lower, lower + width));
            let wide = judge_at_least(promised, estimated(lower - more, lower + width + more));
            prop_assert!(wide == narrow || wide == ClaimVerdict::Undecided);
        }
    }
}
