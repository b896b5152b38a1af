use crate::summary::{mean, sd};
use crate::{EstimateError, Interval, student};

/// The fewest launches for which an interval is given. With three, Student's t at 99 % is 9.9 standard errors
/// wide on each side, and rests on two degrees of freedom.
pub const MIN_LAUNCHES_FOR_INTERVAL: usize = 4;

/// The mean of one value per launch, with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LaunchMean {
    pub(crate) mean: f64,
    pub(crate) sd: Option<f64>,
    pub(crate) interval: Option<Interval>,
}

impl LaunchMean {
    /// The mean of the launch values `y`, and `mean ± t(L - 1, 1 - alpha/2) * s_y / sqrt(L)` with
    /// `alpha = 1 - confidence`, from [`MIN_LAUNCHES_FOR_INTERVAL`] launches on.
    pub(crate) fn of(values: &[f64], confidence: f64) -> Result<Self, EstimateError> {
        // Checked also where no interval is due, so that a wrong policy shows with the first launch.
        let bad_confidence = EstimateError::BadConfidence { confidence };
        let p = 0.5 + confidence / 2.0;
        if !(confidence > 0.0 && student::has_tails(p)) {
            return Err(bad_confidence);
        }
        let mean = mean(values).ok_or(EstimateError::Empty)?;
        let sd = sd(values);
        let interval = match sd {
            Some(sd) if values.len() >= MIN_LAUNCHES_FOR_INTERVAL => {
                let launches = values.len() as f64;
                let t = student::quantile(p, launches - 1.0).map_err(|_| bad_confidence)?;
                Some(Interval::around(mean, t * sd / launches.sqrt()))
            }
            _ => None,
        };
        let bounds = interval.map(|interval| [interval.lower, interval.upper]);
        let figures = [Some(mean), sd].into_iter().flatten().chain(bounds.into_iter().flatten());
        if !figures.into_iter().all(f64::is_finite) {
            return Err(EstimateError::Overflow);
        }
        Ok(Self { mean, sd, interval })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_interval_is_that_of_a_worked_example() {
        // Mean 2.5, sd sqrt(5/3), t(3, 0.975) = 3.18245: half-width 3.18245 * 1.29099 / 2 = 2.05426.
        let result = LaunchMean::of(&[1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        let interval = result.interval.unwrap();
        assert_eq!(result.mean, 2.5);
        assert!((result.sd.unwrap() - 1.290_994).abs() < 1e-6);
        assert!((interval.lower - 0.445_74).abs() < 1e-5, "{interval:?}");
        assert!((interval.upper - 4.554_26).abs() < 1e-5, "{interval:?}");
    }

    #[rstest]
    #[case::one(&[1.0], false, false)]
    #[case::two(&[1.0, 2.0], true, false)]
    #[case::one_too_few(&[1.0, 2.0, 4.0], true, false)]
    #[case::just_enough(&[1.0, 2.0, 4.0, 3.0], true, true)]
    fn an_interval_needs_enough_launches(#[case] values: &[f64], #[case] sd: bool, #[case] interval: bool) {
        let result = LaunchMean::of(values, 0.99).unwrap();
        assert_eq!((result.sd.is_some(), result.interval.is_some()), (sd, interval));
    }

    #[rstest]
    #[case::zero(0.0)]
    #[case::one(1.0)]
    #[case::percent(99.0)]
    #[case::negative(-0.5)]
    #[case::not_a_number(f64::NAN)]
    #[case::next_to_one(1.0 - f64::EPSILON / 2.0)]
    #[case::tails_too_small(0.999_999)]
    fn a_confidence_outside_of_zero_to_one_is_refused_even_for_one_launch(#[case] confidence: f64) {
        for values in [&[1.0][..], &[1.0, 2.0, 3.0, 4.0]] {
            let result = LaunchMean::of(values, confidence);
            assert!(matches!(result, Err(EstimateError::BadConfidence { .. })), "{result:?}");
        }
    }

    #[rstest]
    #[case::variance(&[1e200, -1e200])]
    #[case::mean(&[f64::MAX, f64::MIN])]
    fn finite_values_with_an_infinite_spread_are_an_error(#[case] values: &[f64]) {
        assert_eq!(LaunchMean::of(values, 0.99), Err(EstimateError::Overflow));
    }
}
