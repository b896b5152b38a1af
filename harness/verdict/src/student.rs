//! Student's t distribution: the quantiles and probabilities that everything else stands on.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Arguments for which Student's t distribution is not defined.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StudentError {
    /// A probability that leaves less than [`MIN_TAIL`] on one side.
    #[error(
        "the probability is {probability}, but must lie between 0 and 1 and at least {MIN_TAIL} from both"
    )]
    BadProbability {
        /// The rejected probability.
        probability: f64,
    },

    /// Degrees of freedom below 1, or not a number.
    #[error("there are {df} degrees of freedom, but there must be at least one")]
    BadDegreesOfFreedom {
        /// The rejected degrees of freedom.
        df: f64,
    },

    /// A value of t that is not a number.
    #[error("the value of t is not a number")]
    BadValue,
}

/// The smallest probability in either tail for which a quantile is given. Beyond it those of statrs lose
/// their digits at one degree of freedom, and far beyond it the search for them panics or never ends:
/// <https://github.com/statrs-dev/statrs/issues/435>.
pub const MIN_TAIL: f64 = 1e-6;

/// From here on quantiles come from the expansion about the normal distribution, which then is right to 11
/// digits. Those of statrs lose digits as the degrees of freedom grow, and the search for them does not end
/// from a hundred million on.
const QUANTILE_BY_EXPANSION_FROM: f64 = 500.0;

/// From here on probabilities come from the normal approximation, which then is right to 12 digits. Those of
/// statrs lose digits as the degrees of freedom grow, but more slowly than its quantiles.
const CDF_BY_EXPANSION_FROM: f64 = 1e6;

/// The value of t below which Student's distribution with `df` degrees of freedom has the probability `p`.
///
/// `df` need not be whole, because approximations such as Welch's give fractions, and may be infinite, which
/// is the normal distribution. The relative error is below 1e-9 from `p = 0.9` on; towards 0.5, where t
/// vanishes, the absolute error is.
///
/// # Errors
///
/// Returns an error if `p` does not lie between 0 and 1 and at least [`MIN_TAIL`] from both, or `df` is below 1.
pub fn quantile(p: f64, df: f64) -> Result<f64, StudentError> {
    if !has_tails(p) {
        return Err(StudentError::BadProbability { probability: p });
    }
    let student = distribution(df)?;
    if df < QUANTILE_BY_EXPANSION_FROM {
        return Ok(student.inverse_cdf(p));
    }
    // M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.5,
    // <https://personal.math.ubc.ca/~cbm/aands/page_949.htm>.
    let z = Normal::standard().inverse_cdf(p);
    let square = z * z;
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth = ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92160.0;
    Ok(z * (1.0 + (first + (second + (third + fourth / df) / df) / df) / df))
}

/// Whether `p` leaves a probability of at least [`MIN_TAIL`] on both sides.
pub(crate) fn has_tails(p: f64) -> bool {
    p.min(1.0 - p) >= MIN_TAIL
}

/// The probability of a value of at most `t` under Student's distribution with `df` degrees of freedom, which
/// may be infinitely many.
///
/// # Errors
///
/// Returns an error if `t` is not a number, or `df` is below 1.
pub fn cdf(t: f64, df: f64) -> Result<f64, StudentError> {
    if t.is_nan() {
        return Err(StudentError::BadValue);
    }
    let student = distribution(df)?;
    if t.is_infinite() {
        return Ok(if t > 0.0 { 1.0 } else { 0.0 });
    }
    if df < CDF_BY_EXPANSION_FROM {
        return Ok(student.cdf(t));
    }
    // Abramowitz and Stegun, 26.7.8.
    let z = t * (1.0 - 1.0 / (4.0 * df)) / (1.0 + t * t / (2.0 * df)).sqrt();
    Ok(Normal::standard().cdf(z))
}

fn distribution(df: f64) -> Result<StudentsT, StudentError> {
    // Below 1 the quantiles of statrs are wrong, and no mean of two or more values has so few.
    if df.is_nan() || df < 1.0 {
        return Err(StudentError::BadDegreesOfFreedom { df });
    }
    StudentsT::new(0.0, 1.0, df).map_err(|_| StudentError::BadDegreesOfFreedom { df })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2, "Critical Values of the Student's
    /// t Distribution", <https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm>; three decimals.
    #[rstest]
    #[case::df_1(1.0, [3.078, 6.314, 12.706, 31.821, 63.657])]
    #[case::df_2(2.0, [1.886, 2.920, 4.303, 6.965, 9.925])]
    #[case::df_3(3.0, [1.638, 2.353, 3.182, 4.541, 5.841])]
    #[case::df_7(7.0, [1.415, 1.895, 2.365, 2.998, 3.499])]
    #[case::df_15(15.0, [1.341, 1.753, 2.131, 2.602, 2.947])]
    #[case::df_31(31.0, [1.309, 1.696, 2.040, 2.453, 2.744])]
    #[case::df_100(100.0, [1.290, 1.660, 1.984, 2.364, 2.626])]
    fn the_quantiles_are_those_of_the_published_table(#[case] df: f64, #[case] expected: [f64; 5]) {
        for (p, expected) in [0.90, 0.95, 0.975, 0.99, 0.995].into_iter().zip(expected) {
            let upper = quantile(p, df).unwrap();
            assert!((upper - expected).abs() <= 0.0005 + 1e-9, "t({p}, {df}) = {upper}, not {expected}");
            let lower = quantile(1.0 - p, df).unwrap();
            assert!((upper + lower).abs() < 1e-9, "t({p}, {df}) = {upper}, but the other tail has {lower}");
        }
    }

    /// With one degree of freedom the distribution is Cauchy's, with two it has a closed form.
    #[rstest]
    #[case::p_60(0.6)]
    #[case::p_99(0.99)]
    #[case::p_9995(0.9995)]
    #[case::nearly_the_smallest_tail(0.999_998)]
    fn the_quantiles_agree_with_the_closed_forms(#[case] p: f64) {
        let cauchy = (std::f64::consts::PI * (p - 0.5)).tan();
        assert!((quantile(p, 1.0).unwrap() / cauchy - 1.0).abs() < 1e-9);
        let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
        assert!((quantile(p, 2.0).unwrap() / two - 1.0).abs() < 1e-9);
    }

    #[rstest]
    #[case::probability_zero(0.0, 7.0)]
    #[case::probability_one(1.0, 7.0)]
    #[case::probability_negative(-0.1, 7.0)]
    #[case::lower_tail_too_small(0.9e-6, 7.0)]
    #[case::upper_tail_too_small(1.0 - 0.9e-6, 7.0)]
    #[case::probability_not_a_number(f64::NAN, 7.0)]
    fn a_quantile_needs_a_probability_with_two_tails(#[case] p: f64, #[case] df: f64) {
        assert!(matches!(quantile(p, df), Err(StudentError::BadProbability { .. })));
    }

    #[rstest]
    #[case::zero(0.0)]
    #[case::less_than_one(0.999)]
    #[case::negative(-1.0)]
    #[case::not_a_number(f64::NAN)]
    fn there_is_at_least_one_degree_of_freedom(#[case] df: f64) {
        assert!(matches!(quantile(0.9, df), Err(StudentError::BadDegreesOfFreedom { .. })));
        assert!(matches!(cdf(0.9, df), Err(StudentError::BadDegreesOfFreedom { .. })));
    }

    /// `z(0.99)` and `z(0.995)`, to which the quantiles fall.
    #[rstest]
    #[case::a_hundred_thousand(1e5, 1e-4)]
    #[case::a_hundred_million(1e8, 1e-7)]
    #[case::more_than_can_be_counted(1e300, 1e-12)]
    #[case::infinite(f64::INFINITY, 1e-12)]
    fn many_degrees_of_freedom_approach_the_normal_distribution(#[case] df: f64, #[case] margin: f64) {
        for (p, z) in [(0.99, 2.326_347_874_040_841), (0.995, 2.575_829_303_548_901)] {
            let t = quantile(p, df).unwrap();
            assert!(t >= z - 1e-12 && t <= z + margin, "{t}");
            assert!((cdf(t, df).unwrap() - p).abs() < 1e-9);
        }
        assert_eq!((cdf(f64::NEG_INFINITY, df), cdf(f64::INFINITY, df)), (Ok(0.0), Ok(1.0)));
    }

    #[rstest]
    #[case::quantile(QUANTILE_BY_EXPANSION_FROM)]
    #[case::cdf(CDF_BY_EXPANSION_FROM)]
    fn the_two_ways_of_computing_meet_without_a_step(#[case] df: f64) {
        for p in [0.005, 0.1, 0.9, 0.99, 0.999_5] {
            let (below, above) = (quantile(p, df * (1.0 - 1e-12)).unwrap(), quantile(p, df).unwrap());
            assert!((below / above - 1.0).abs() < 1e-10, "{below} {above}");
            let (below, above) = (cdf(below, df * (1.0 - 1e-12)).unwrap(), cdf(below, df).unwrap());
            assert!((below - above).abs() < 1e-9, "{below} {above}");
        }
    }

    #[test]
    fn the_distribution_function_is_a_half_at_zero_and_reaches_its_ends() {
        assert_eq!(cdf(0.0, 5.0), Ok(0.5));
        assert_eq!(cdf(f64::NEG_INFINITY, 5.0), Ok(0.0));
        assert_eq!(cdf(f64::INFINITY, 5.0), Ok(1.0));
        assert_eq!(cdf(f64::NAN, 5.0), Err(StudentError::BadValue));
    }

    proptest! {
        #[test]
        fn the_distribution_function_undoes_the_quantile(p in 0.000_002..0.999_998, df in 1.0..2000.0) {
            let t = quantile(p, df).unwrap();
            prop_assert!((cdf(t, df).unwrap() - p).abs() < 1e-9);
        }
    }
}
