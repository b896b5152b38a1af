use serde::{Deserialize, Serialize};

/// The order statistics and moments of a set of values, in the unit of the values.
///
/// Quartiles and median are type-7 quantiles: linear interpolation at position `(n - 1) p` of the sorted
/// values, as in R, `NumPy` and Julia (R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages",
/// The American Statistician 50(4), 1996, <https://doi.org/10.2307/2684934>).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The number of values; never 0.
    pub n: usize,
    /// The smallest value.
    pub min: f64,
    /// The first quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
    /// The largest value.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation with divisor `n - 1`; none for a single value.
    pub sd: Option<f64>,
}

impl Summary {
    /// Summarises `values`; none if there are none, or if one of them is infinite or not a number.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        Some(Self {
            n: sorted.len(),
            min: *sorted.first()?,
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
            max: *sorted.last()?,
            mean: mean(values)?,
            sd: variance(values).map(f64::sqrt),
        })
    }
}

/// The median; none if there are no values, or if one of them is infinite or not a number.
///
/// The median of the negated values is exactly the negated median.
pub fn median(values: &[f64]) -> Option<f64> {
    Some(quantile(&sorted(values)?, 0.5))
}

/// The arithmetic mean of finite values; none if there are none.
///
/// The sum runs over the distances from the first value, so that the mean of equal values is that value to
/// the last bit, and a constant series has a standard deviation of exactly 0.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    let distance: f64 = values.iter().map(|value| value - first).sum();
    Some(first + distance / values.len() as f64)
}

/// The variance `sum((x - mean)^2) / (n - 1)`; none for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The values in rising order; none if there are none or one is not finite.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The type-7 quantile of values in rising order, of which there is at least one.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * p;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    let weight = position.fract();
    // A weighted sum, because `below + weight * (above - below)` is not symmetric under negation and can
    // overflow.
    (1.0 - weight) * below + weight * above
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::empty(&[])]
    #[case::not_a_number(&[1.0, f64::NAN])]
    #[case::infinite(&[f64::INFINITY])]
    #[case::negative_infinite(&[1.0, 2.0, f64::NEG_INFINITY])]
    fn there_is_no_summary_of(#[case] values: &[f64]) {
        assert_eq!(Summary::of(values), None);
        assert_eq!(median(values), None);
    }

    #[rstest]
    #[case::one(&[4.0], [4.0, 4.0, 4.0, 4.0, 4.0, 4.0], None)]
    #[case::two(&[1.0, 3.0], [1.0, 1.5, 2.0, 2.5, 3.0, 2.0], Some(2_f64.sqrt()))]
    #[case::constant(&[0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1], Some(0.0))]
    #[case::descending(&[5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0, 3.0], Some(2.5_f64.sqrt()))]
    #[case::negative(&[-1.0, -2.0, -6.0], [-6.0, -4.0, -2.0, -1.5, -1.0, -3.0], Some(7_f64.sqrt()))]
    #[case::even(&[1.0, 2.0, 3.0, 10.0], [1.0, 1.75, 2.5, 4.75, 10.0, 4.0], Some((50_f64 / 3.0).sqrt()))]
    fn the_summary_is_right_for(#[case] values: &[f64], #[case] expected: [f64; 6], #[case] sd: Option<f64>) {
        let summary = Summary::of(values).unwrap();
        assert_eq!(
            [summary.min, summary.q1, summary.median, summary.q3, summary.max, summary.mean],
            expected
        );
        assert_eq!(summary.n, values.len());
        assert_eq!(summary.sd, sd);
        assert_eq!(median(values), Some(expected[2]));
    }

    #[test]
    fn a_summary_survives_json() {
        let summary = Summary::of(&[1.0, 0.1]).unwrap();
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }

    proptest! {
        #[test]
        fn the_order_statistics_are_ordered(values in prop::collection::vec(-1e6..1e6, 1..40)) {
            let s = Summary::of(&values).unwrap();
            prop_assert!(s.min <= s.q1 && s.q1 <= s.median && s.median <= s.q3 && s.q3 <= s.max);
            prop_assert!(s.min - 1e-6 <= s.mean && s.mean <= s.max + 1e-6);
        }

        #[test]
        fn negated_values_have_exactly_the_mirrored_summary(
            values in prop::collection::vec(-1e6..1e6, 1..40),
        ) {
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let (s, m) = (Summary::of(&values).unwrap(), Summary::of(&negated).unwrap());
            prop_assert_eq!((-s.q1, -s.median, -s.q3, -s.mean, s.sd), (m.q3, m.median, m.q1, m.mean, m.sd));
        }
    }
}
