/// The most launches for the exact test. Each more doubles the number of patterns; at the limit there are a
/// million.
pub const MAX_SIGN_FLIP_LAUNCHES: usize = 20;

/// A reason for which the exact sign-flip test has no answer.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SignFlipError {
    /// There are no launch values.
    #[error("the sign-flip test needs at least one launch")]
    Empty,

    /// There are more launches than [`MAX_SIGN_FLIP_LAUNCHES`].
    #[error(
        "the exact sign-flip test takes at most {MAX_SIGN_FLIP_LAUNCHES} launches, and there are {launches}"
    )]
    TooMany {
        /// The number of launches.
        launches: usize,
    },

    /// A launch value is infinite or not a number.
    #[error("launch {launch} (counted from 0) has the value {value}, which is not finite")]
    NonFinite {
        /// Position of the launch.
        launch: usize,
        /// The offending value.
        value: f64,
    },
}

/// The two-sided p-value of the exact sign-flip test that the launch values are symmetric about zero.
///
/// If candidate and reference do not differ, swapping them in any launch, which flips the sign of its value,
/// is as likely as what was seen. The p-value is the share of all `2^L` sign patterns whose mean is at least
/// as far from zero as the one that was seen. It assumes neither a normal distribution nor equal variances,
/// and therefore checks the interval of [`estimate()`](crate::estimate()), which does. It cannot fall below
/// `2^(1 - L)`: below 8 launches no data reach a p-value of 1 %.
///
/// Source: R. A. Fisher, "The Design of Experiments", 1935, section 21.
///
/// # Errors
///
/// Returns an error if there are no values or more than [`MAX_SIGN_FLIP_LAUNCHES`], or one is not finite.
pub fn sign_flip(launch_values: &[f64]) -> Result<f64, SignFlipError> {
    let launches = launch_values.len();
    if launches > MAX_SIGN_FLIP_LAUNCHES {
        return Err(SignFlipError::TooMany { launches });
    }
    if let Some((launch, &value)) = launch_values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        return Err(SignFlipError::NonFinite { launch, value });
    }
    let Some((&first, rest)) = launch_values.split_first() else {
        return Err(SignFlipError::Empty);
    };
    // Scaled by the largest value, so that no sum overflows.
    let largest = launch_values.iter().fold(0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return Ok(1.0);
    }
    // Patterns with equal sums must count as equal, although their terms were added with other signs and
    // rounding.
    let rounding = 1e-12 * launches as f64;
    let seen = launch_values.iter().map(|value| value / largest).sum::<f64>().abs() - rounding;
    // A pattern and its opposite are equally far from zero, so the first sign can stay.
    let patterns = 1_u32 << rest.len();
    let extreme = (0..patterns)
        .filter(|pattern| {
            let flipped = rest.iter().enumerate().map(|(bit, value)| {
                let value = value / largest;
                if pattern >> bit & 1 == 1 { -value } else { value }
            });
            (first / largest + flipped.sum::<f64>()).abs() >= seen
        })
        .count();
    Ok(extreme as f64 / f64::from(patterns))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::simulation::Normal;
    use crate::{Summary, student};

    #[rstest]
    #[case::one(&[3.0], 1.0)]
    #[case::two_alike(&[3.0, 3.0], 0.5)]
    #[case::two_opposite(&[3.0, -3.0], 1.0)]
    #[case::zero(&[0.0, 0.0, 0.0], 1.0)]
    #[case::constant(&[0.1; 8], 1.0 / 128.0)]
    #[case::constant_at_the_limit(&[0.1; 20], 1.0 / 524_288.0)]
    #[case::negative(&[-1.0, -2.0, -3.0, -4.0], 1.0 / 8.0)]
    // Of the 16 patterns of 4, 3, 2 and -1, the sums 10 and 8 and their opposites reach 8.
    #[case::descending(&[4.0, 3.0, 2.0, -1.0], 4.0 / 16.0)]
    // A value of zero doubles every pattern and changes no share.
    #[case::with_zero(&[4.0, 3.0, 0.0, 2.0, -1.0], 4.0 / 16.0)]
    #[case::huge(&[f64::MAX, f64::MAX, f64::MAX], 1.0 / 4.0)]
    fn the_p_value_counts_the_patterns_at_least_as_extreme(#[case] values: &[f64], #[case] p: f64) {
        assert_eq!(sign_flip(values), Ok(p));
    }

    #[test]
    fn fishers_test_of_darwins_maize_is_reproduced() {
        // Differences in eighths of an inch between 15 pairs of plants. Fisher counts 1726 of the 32768
        // patterns as at least as extreme: p = 0.05267 ("The Design of Experiments", section 21).
        let darwin =
            [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];
        assert_eq!(sign_flip(&darwin), Ok(1726.0 / 32768.0));
    }

    #[rstest]
    #[case::empty(&[], SignFlipError::Empty)]
    #[case::too_many(&[1.0; 21], SignFlipError::TooMany { launches: 21 })]
    #[case::infinite(&[1.0, f64::INFINITY], SignFlipError::NonFinite { launch: 1, value: f64::INFINITY })]
    fn there_is_no_p_value_for(#[case] values: &[f64], #[case] error: SignFlipError) {
        assert_eq!(sign_flip(values), Err(error));
    }

    #[test]
    fn a_value_that_is_not_a_number_is_refused() {
        assert!(matches!(sign_flip(&[f64::NAN]), Err(SignFlipError::NonFinite { launch: 0, .. })));
    }

    fn t_test(values: &[f64]) -> f64 {
        let summary = Summary::of(values).unwrap();
        let t = summary.mean / (summary.sd.unwrap() / (summary.n as f64).sqrt());
        2.0 * student::cdf(-t.abs(), summary.n as f64 - 1.0).unwrap()
    }

    #[rstest]
    #[case::no_effect(0.0)]
    #[case::small_effect(0.3)]
    #[case::large_effect(0.8)]
    fn the_p_value_agrees_with_students_on_normal_data(#[case] effect: f64) {
        const TRIALS: usize = 300;
        let mut normal = Normal::seeded(9);
        let mut differences = Vec::with_capacity(TRIALS);
        let mut agreed = 0;
        for _ in 0..TRIALS {
            let values: Vec<f64> = (0..12).map(|_| effect + normal.next()).collect();
            let (exact, student) = (sign_flip(&values).unwrap(), t_test(&values));
            differences.push(exact - student);
            agreed += usize::from((exact <= 0.05) == (student <= 0.05));
        }
        let differences = Summary::of(&differences).unwrap();
        assert!(differences.mean.abs() < 0.005, "{differences:?}");
        assert!(differences.sd.unwrap() < 0.02, "{differences:?}");
        assert!(agreed as f64 >= 0.96 * TRIALS as f64, "{agreed}");
    }

    #[test]
    fn the_test_keeps_its_level_on_skewed_pairs_without_effect() {
        // The difference of two equally distributed, heavily skewed times is symmetric, but far from normal.
        const TRIALS: usize = 4000;
        let mut normal = Normal::seeded(10);
        let rejected = (0..TRIALS)
            .filter(|_| {
                let values: Vec<f64> =
                    (0..10).map(|_| (2.0 * normal.next()).exp() - (2.0 * normal.next()).exp()).collect();
                sign_flip(&values).unwrap() <= 0.05
            })
            .count() as f64;
        // 51 of the 1024 patterns are within 5 %, of which pairs make 50; the standard error is 0.34 %.
        assert!((rejected / TRIALS as f64 - 0.05).abs() < 0.013, "{rejected}");
    }

    proptest! {
        #[test]
        fn signs_and_units_do_not_change_the_p_value(values in prop::collection::vec(-5.0..5.0, 1..10)) {
            let p = sign_flip(&values).unwrap();
            prop_assert!(p >= 2.0 / f64::from(1 << values.len()) && p <= 1.0);
            let mirrored: Vec<f64> = values.iter().map(|value| value * -3.0).collect();
            prop_assert_eq!(sign_flip(&mirrored), Ok(p));
        }
    }
}
