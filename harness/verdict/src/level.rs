use serde::{Deserialize, Serialize};

use crate::location::Location;
use crate::paired::Lead;
use crate::summary::median;
use crate::{EstimateError, Interval};

/// The scale on which a level was averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Logarithms were averaged: the centre is a geometric mean.
    Log,
    /// The values themselves were averaged, because one of them is zero or negative.
    Linear,
}

/// The absolute level of one side, for example its nanoseconds per iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// The centre, in the unit of the samples.
    pub center: f64,
    /// The interval of the centre, in the unit of the samples; none below
    /// [`MIN_LAUNCHES_FOR_INTERVAL`](crate::MIN_LAUNCHES_FOR_INTERVAL) launches.
    pub interval: Option<Interval>,
    /// The scale of the average.
    pub scale: Scale,
    /// The spread of the launch values, as in [`Estimate`](crate::Estimate); none for a single launch. On the log scale it is
    /// dimensionless, a relative spread; on the linear scale it has the unit of the samples.
    pub sd: Option<f64>,
    /// The confidence of the interval, for example 0.99.
    pub confidence: f64,
    /// The launches that hold a sample.
    pub launches: usize,
    /// The placements that hold a sample.
    pub placements: usize,
    /// The samples.
    pub samples: usize,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
}

/// Estimates the absolute level of one side from its samples, nested as launch > placement > sample.
///
/// A placement is the median of its samples, a launch the median over its placements of the logarithm of that,
/// and the centre and interval follow from the launch values as in [`estimate()`](crate::estimate()), brought
/// back to the unit of the samples by `exp`. A single zero or negative value moves the whole level to
/// [`Scale::Linear`], where the values themselves are averaged. Placements and launches without samples are
/// left out.
///
/// A level carries everything that differs between two sittings of one machine, so two levels make a poor
/// comparison: that is what paired rounds are for.
///
/// # Errors
///
/// Returns an error if there is no sample, one is not finite, the values are too large to average, or `confidence` is
/// one that [`estimate()`](crate::estimate()) refuses.
pub fn level(launches: &[Vec<Vec<f64>>], confidence: f64) -> Result<Level, EstimateError> {
    let mut samples = 0;
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for (launch, of_launch) in launches.iter().enumerate() {
        for (placement, of_placement) in of_launch.iter().enumerate() {
            for (sample, &value) in of_placement.iter().enumerate() {
                if !value.is_finite() {
                    return Err(EstimateError::NonFiniteSample { launch, placement, sample, value });
                }
                (min, max) = (min.min(value), max.max(value));
                samples += 1;
            }
        }
    }
    let scale = if min > 0.0 { Scale::Log } else { Scale::Linear };
    let mut placements = 0;
    let mut launch_values = Vec::with_capacity(launches.len());
    for launch in launches {
        let medians = launch.iter().filter_map(|placement| median(placement));
        let values: Vec<f64> = match scale {
            Scale::Log => medians.map(f64::ln).collect(),
            Scale::Linear => medians.collect(),
        };
        placements += values.len();
        launch_values.extend(median(&values).map(|value| (value, Lead::Unknown)));
    }
    let Location { center, sd, interval, .. } = Location::of(&launch_values, confidence)?;
    let back = |value: f64| match scale {
        Scale::Log => value.exp(),
        Scale::Linear => value,
    };
    // The centre lies between the extremes; the clamp takes off the last bit that `ln` and `exp` may add, so
    // that a constant level is exactly its value. The bounds follow, so that they still hold the centre.
    let center = back(center).clamp(min, max);
    let interval = interval.map(|interval| {
        let bounds = interval.map(back);
        Interval { lower: bounds.lower.min(center), upper: bounds.upper.max(center) }
    });
    if interval.is_some_and(|interval| !interval.upper.is_finite()) {
        return Err(EstimateError::Overflow);
    }
    Ok(Level {
        center,
        interval,
        scale,
        sd,
        confidence,
        launches: launch_values.len(),
        placements,
        samples,
        min,
        max,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::simulation::Normal;

    /// Launches of one placement with one sample.
    fn launches(values: &[f64]) -> Vec<Vec<Vec<f64>>> {
        values.iter().map(|&value| vec![vec![value]]).collect()
    }

    #[test]
    fn a_level_is_the_geometric_mean_of_placement_medians() {
        // Medians 2 and 8 have the geometric mean 4, and 1 stands alone: sqrt(4 * 1) = 2.
        let level = level(&[vec![vec![1.0, 2.0, 50.0], vec![8.0]], vec![vec![1.0]]], 0.99).unwrap();
        assert!((level.center - 2.0).abs() < 1e-12, "{level:?}");
        assert!((level.sd.unwrap() - 4_f64.ln() / 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!((level.launches, level.placements, level.samples), (2, 3, 5));
        assert_eq!((level.min, level.max, level.scale, level.interval), (1.0, 50.0, Scale::Log, None));
    }

    #[rstest]
    #[case::one(&[7.0], 7.0, Scale::Log)]
    #[case::two(&[2.0, 8.0], 4.0, Scale::Log)]
    #[case::descending(&[9.0, 3.0, 1.0], 3.0, Scale::Log)]
    #[case::with_zero(&[0.0, 2.0, 4.0], 2.0, Scale::Linear)]
    #[case::with_negative_zero(&[-0.0, 2.0], 1.0, Scale::Linear)]
    #[case::negative(&[-4.0, -2.0], -3.0, Scale::Linear)]
    #[case::all_zero(&[0.0, 0.0], 0.0, Scale::Linear)]
    fn the_centre_and_scale_are_right_for(#[case] values: &[f64], #[case] center: f64, #[case] scale: Scale) {
        let level = level(&launches(values), 0.99).unwrap();
        assert!((level.center - center).abs() < 1e-12, "{level:?}");
        assert_eq!(level.scale, scale);
    }

    #[rstest]
    #[case::log(0.1)]
    #[case::linear(-0.1)]
    fn a_constant_level_is_exactly_its_value_with_an_interval_of_zero_width(#[case] value: f64) {
        let level = level(&launches(&[value; 6]), 0.99).unwrap();
        assert_eq!((level.center, level.sd), (value, Some(0.0)));
        let interval = level.interval.unwrap();
        assert!(interval.contains(value));
        assert!(interval.half_width() <= value.abs() * f64::EPSILON);
    }

    #[rstest]
    #[case::no_launch(&[])]
    #[case::no_placement(&[vec![]])]
    #[case::no_sample(&[vec![vec![]], vec![]])]
    fn without_a_sample_there_is_no_level(#[case] launches: &[Vec<Vec<f64>>]) {
        assert_eq!(level(launches, 0.99), Err(EstimateError::Empty));
    }

    #[test]
    fn empty_launches_and_placements_are_left_out() {
        let level = level(&[vec![], vec![vec![], vec![5.0]], vec![vec![]]], 0.99).unwrap();
        assert_eq!((level.center, level.launches, level.placements, level.samples), (5.0, 1, 1, 1));
    }

    #[rstest]
    #[case::not_a_number(f64::NAN)]
    #[case::infinite(f64::INFINITY)]
    fn a_sample_that_is_not_finite_is_named_by_its_place(#[case] bad: f64) {
        let error = level(&[vec![vec![1.0]], vec![vec![1.0], vec![1.0, bad]]], 0.99).unwrap_err();
        assert!(matches!(error, EstimateError::NonFiniteSample { launch: 1, placement: 1, sample: 1, .. }));
    }

    #[rstest]
    #[case::on_the_log_scale(&[1e-300, 1e300, 1e-300, 1e300])]
    #[case::on_the_linear_scale(&[-1e300, 1e300, -1e300, 1e300])]
    fn an_interval_too_wide_for_a_number_is_an_error(#[case] values: &[f64]) {
        assert_eq!(level(&launches(values), 0.99), Err(EstimateError::Overflow));
    }

    #[test]
    fn a_bad_confidence_is_an_error() {
        let error = level(&launches(&[1.0]), 0.0);
        assert_eq!(error, Err(EstimateError::BadConfidence { confidence: 0.0 }));
    }

    #[test]
    fn a_level_survives_json() {
        let level = level(&launches(&[0.1, 0.7, 1.0, 3.0]), 0.99).unwrap();
        let json = serde_json::to_string(&level).unwrap();
        assert!(json.contains(r#""scale":"log""#), "{json}");
        assert_eq!(serde_json::from_str::<Level>(&json).unwrap(), level);
    }

    #[rstest]
    #[case::log(Scale::Log)]
    #[case::linear(Scale::Linear)]
    fn the_interval_covers_the_truth_as_often_as_it_promises(#[case] scale: Scale) {
        // Over 40000 trials the standard error is 0.11 %: the band is 3.7 of them.
        const TRIALS: usize = 40_000;
        let mut normal = Normal::seeded(11);
        let mut covered = 0;
        for _ in 0..TRIALS {
            let values: Vec<f64> = (0..6)
                .map(|_| match scale {
                    Scale::Log => 250.0 * (0.03 * normal.next()).exp(),
                    Scale::Linear => -250.0 + 8.0 * normal.next(),
                })
                .collect();
            let level = level(&launches(&values), 0.95).unwrap();
            assert_eq!(level.scale, scale);
            let truth = if scale == Scale::Log { 250.0 } else { -250.0 };
            covered += usize::from(level.interval.unwrap().contains(truth));
        }
        let covered = covered as f64 / TRIALS as f64;
        assert!((0.946..=0.954).contains(&covered), "{covered}");
    }

    proptest! {
        #[test]
        fn the_centre_lies_between_the_extremes_and_within_its_interval(
            values in prop::collection::vec(-10.0..100.0, 1..12),
        ) {
            let level = level(&launches(&values), 0.99).unwrap();
            prop_assert!(level.min <= level.center && level.center <= level.max);
            prop_assert!(level.interval.is_none_or(|interval| interval.contains(level.center)));
        }

        #[test]
        fn another_unit_scales_a_positive_level_and_keeps_its_relative_spread(
            values in prop::collection::vec(0.1..100.0, 4..12),
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * 1e6).collect();
            let here = level(&launches(&values), 0.99).unwrap();
            let there = level(&launches(&scaled), 0.99).unwrap();
            prop_assert!((there.center / here.center / 1e6 - 1.0).abs() < 1e-12);
            prop_assert!((there.sd.unwrap() - here.sd.unwrap()).abs() < 1e-12);
        }
    }
}
