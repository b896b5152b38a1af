use crate::paired::Lead;
use crate::summary::{mean, sorted, variance};
use crate::{EstimateError, Interval, student};

/// The fewest launches for which an interval is given. With three, Student's t at 99 % is 9.9 standard errors
/// wide on each side, and rests on two degrees of freedom.
pub const MIN_LAUNCHES_FOR_INTERVAL: usize = 4;

/// The launches from which on a location is a trimmed mean. With fewer, what trimming costs in degrees of freedom is
/// more than what it saves in spread.
pub const TRIMMED_FROM_LAUNCHES: usize = 16;

/// The share of the values that is trimmed on each side.
const TRIM: f64 = 0.2;

/// The fewest launches in all, and led by either side, for which the leads are told apart.
const MIN_STRATIFIED: (usize, usize) = (8, 2);

/// The share of the launches that each side must have led for the degrees of freedom of both strata to count. Where one
/// led fewer, nearly all of the standard error comes from those few: with both counted, a 99 % interval would cover
/// 98.2 % with 4 of 16, and 92 % with 2 of 16. Those of the smaller stratum are the fewest that Welch's formula gives.
const BALANCED: f64 = 0.375;

/// The location of one value per launch, with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Location {
    /// The location.
    pub(crate) center: f64,
    /// The standard error of the location; none for a single launch.
    pub(crate) standard_error: Option<f64>,
    /// The degrees of freedom behind the standard error.
    pub(crate) df: Option<f64>,
    /// The standard deviation that as many values of a plain mean would have with the same standard error.
    pub(crate) sd: Option<f64>,
    /// The interval, from [`MIN_LAUNCHES_FOR_INTERVAL`] launches on.
    pub(crate) interval: Option<Interval>,
    /// Half of what launches led by the candidate have more than those led by the reference, where they are told apart.
    pub(crate) order_effect: Option<f64>,
    /// The launches outside of the trimmed middle.
    pub(crate) trimmed: usize,
}

/// The launches with one lead, or all of them.
struct Stratum {
    center: f64,
    /// The square of the standard error, `d` in the formulas of Yuen; none for a single value.
    squared_error: Option<f64>,
    /// The degrees of freedom, one less than the values in the middle.
    df: f64,
    trimmed: usize,
}

impl Stratum {
    /// The trimmed mean of `n` values without the `g` smallest and the `g` largest, and its squared standard error
    ///
    /// ```text
    /// d = (n - 1) s_w^2 / (h (h - 1))        h = n - 2 g
    /// ```
    ///
    /// with the variance `s_w^2` of the winsorized values: those outside of the middle moved to its ends. With `g = 0`
    /// that is the mean and `s^2 / n`.
    fn of(values: &[f64], share: f64) -> Option<Self> {
        let n = values.len();
        let g = trimmed_each(n, share);
        let kept = n - 2 * g;
        let sorted = sorted(values)?;
        let (low, high) = (*sorted.get(g)?, *sorted.get(n - 1 - g)?);
        // In the order of measuring, so that swapping the sides negates every sum to the last bit.
        let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
        let first = *winsorized.first()?;
        let center = if g == 0 {
            mean(values)?
        } else {
            let all: f64 = winsorized.iter().map(|value| value - first).sum();
            let ends = g as f64 * ((low - first) + (high - first));
            first + (all - ends) / kept as f64
        };
        let widening = (n.saturating_sub(1)) as f64 / (kept.saturating_sub(1)) as f64;
        let squared_error = variance(&winsorized).map(|variance| variance * widening / kept as f64);
        Some(Self { center, squared_error, df: kept as f64 - 1.0, trimmed: n - kept })
    }

    /// Both strata with equal weights, however many launches each has.
    fn and(&self, other: &Self, is_balanced: bool) -> Self {
        let squared_error = self.squared_error.zip(other.squared_error).map(|(a, b)| (a + b) / 4.0);
        Self {
            center: self.center.midpoint(other.center),
            squared_error,
            df: if is_balanced { self.df + other.df } else { self.df.min(other.df) },
            trimmed: self.trimmed + other.trimmed,
        }
    }
}

impl Location {
    /// The location of launch values: see [`estimate()`](crate::estimate()).
    pub(crate) fn of(launches: &[(f64, Lead)], confidence: f64) -> Result<Self, EstimateError> {
        // Checked also where no interval is due, so that a wrong policy shows with the first launch.
        let bad_confidence = EstimateError::BadConfidence { confidence };
        let p = 0.5 + confidence / 2.0;
        if !(confidence > 0.0 && student::has_tails(p)) {
            return Err(bad_confidence);
        }
        let share = if launches.len() < TRIMMED_FROM_LAUNCHES { 0.0 } else { TRIM };
        let stratum = |values: &[f64]| Stratum::of(values, share).ok_or(EstimateError::Empty);
        let count = launches.len() as f64;
        let (all, order_effect) = if let Some([candidate, reference]) = by_lead(launches) {
            let is_balanced = candidate.len().min(reference.len()) as f64 >= BALANCED * count;
            let (first, second) = (stratum(&candidate)?, stratum(&reference)?);
            let order_effect = (first.center - second.center) / 2.0;
            (first.and(&second, is_balanced), Some(order_effect))
        } else {
            let values: Vec<f64> = launches.iter().map(|(value, _)| *value).collect();
            (stratum(&values)?, None)
        };
        let Stratum { center, squared_error, df, trimmed } = all;
        let standard_error = squared_error.map(f64::sqrt);
        let interval = match standard_error {
            Some(standard_error) if launches.len() >= MIN_LAUNCHES_FOR_INTERVAL => {
                let t = student::quantile(p, df).map_err(|_| bad_confidence)?;
                Some(Interval::around(center, t * standard_error))
            }
            _ => None,
        };
        let bounds = interval.map(|interval| [interval.lower, interval.upper]);
        let figures = [Some(center), squared_error, order_effect].into_iter().flatten();
        if !figures.chain(bounds.into_iter().flatten()).all(f64::is_finite) {
            return Err(EstimateError::Overflow);
        }
        Ok(Self {
            center,
            standard_error,
            df: standard_error.map(|_| df),
            sd: squared_error.map(|squared_error| (squared_error * count).sqrt()),
            interval,
            order_effect,
            trimmed,
        })
    }
}

/// The values led by the candidate and those led by the reference, where every lead is known and there are enough of
/// both.
fn by_lead(launches: &[(f64, Lead)]) -> Option<[Vec<f64>; 2]> {
    let led_by = |side: Lead| -> Vec<f64> {
        launches.iter().filter(|(_, lead)| *lead == side).map(|(value, _)| *value).collect()
    };
    let strata = [led_by(Lead::Candidate), led_by(Lead::Reference)];
    let (in_all, each) = MIN_STRATIFIED;
    let is_known = strata.iter().map(Vec::len).sum::<usize>() == launches.len();
    let is_enough = launches.len() >= in_all && strata.iter().all(|values| values.len() >= each);
    (is_known && is_enough).then_some(strata)
}

/// The degrees of freedom of a location of so many launches of which each side led half; a mean of launches whose leads
/// are unknown, where there are too few for trimming.
pub(crate) fn degrees_of_freedom(launches: usize) -> usize {
    if launches < TRIMMED_FROM_LAUNCHES {
        return launches.saturating_sub(1);
    }
    let kept = |n: usize| n - 2 * trimmed_each(n, TRIM);
    let half = launches / 2;
    kept(half) + kept(launches - half) - 2
}

/// The values to trim on each side of `n`.
fn trimmed_each(n: usize, share: f64) -> usize {
    (share * n as f64).floor() as usize
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const VALUES: [f64; 17] =
        [1.2, -0.4, 0.7, 2.9, 1.1, 0.3, -3.8, 0.9, 1.6, 0.2, 0.8, -0.1, 9.5, 1.0, 0.6, 1.4, 0.5];

    fn unled(values: &[f64]) -> Vec<(f64, Lead)> {
        values.iter().map(|value| (*value, Lead::Unknown)).collect()
    }

    /// The candidate leads in every other launch.
    fn led(values: &[f64]) -> Vec<(f64, Lead)> {
        let leads = [Lead::Candidate, Lead::Reference].into_iter().cycle();
        values.iter().copied().zip(leads).collect()
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_a_worked_example() {
        // Mean 2.5, sd sqrt(5/3), t(3, 0.975) = 3.18245: half-width 3.18245 * 1.29099 / 2 = 2.05426.
        let result = Location::of(&unled(&[1.0, 2.0, 3.0, 4.0]), 0.95).unwrap();
        let interval = result.interval.unwrap();
        assert_eq!((result.center, result.df, result.trimmed), (2.5, Some(3.0), 0));
        assert!((result.sd.unwrap() - 1.290_994).abs() < 1e-6);
        assert!((interval.lower - 0.445_74).abs() < 1e-5, "{interval:?}");
        assert!((interval.upper - 4.554_26).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn one_stratum_has_the_trimmed_mean_of_scipy_and_the_standard_error_of_yuen() {
        // scipy 1.17: stats.trim_mean(values, .2), and with w = mstats.winsorize(values, limits=(.2, .2)), h = 11,
        // sqrt((n - 1) * w.var(ddof=1) / (h * (h - 1))) and stats.t.ppf(.995, h - 1) of them.
        let result = Location::of(&unled(&VALUES), 0.99).unwrap();
        assert!((result.center - 0.790_909_090_909_091).abs() < 1e-12);
        assert!((result.standard_error.unwrap() - 0.180_136_608_886_041).abs() < 1e-12);
        assert!((result.interval.unwrap().half_width() - 0.570_902_031_880_418).abs() < 1e-9);
        assert_eq!((result.df, result.trimmed, result.order_effect), (Some(10.0), 6, None));
    }

    #[test]
    fn two_strata_have_the_statistic_of_yuens_test_in_scipy() {
        // stats.ttest_ind(led_by_candidate, -led_by_reference, trim=.2, equal_var=False).statistic is the sum of both
        // trimmed means over sqrt(d_1 + d_2), and so theta over its standard error.
        let result = Location::of(&led(&VALUES), 0.99).unwrap();
        let statistic = result.center / result.standard_error.unwrap();
        assert!((statistic - 4.309_773_538_358_946).abs() < 1e-12, "{statistic}");
        assert!((result.center - 0.772_619_047_619_048).abs() < 1e-12);
        assert!((result.order_effect.unwrap() - 0.155_952_380_952_381).abs() < 1e-12);
        assert_eq!((result.df, result.trimmed), (Some(11.0), 4));
        // stats.t.ppf(.995, 11) standard errors.
        let interval = result.interval.unwrap();
        assert!((interval.lower - 0.215_836_829_071_504).abs() < 1e-9, "{interval:?}");
        assert!((interval.upper - 1.329_401_266_166_591).abs() < 1e-9, "{interval:?}");
        let sd = result.sd.unwrap();
        assert!((sd - result.standard_error.unwrap() * 17_f64.sqrt()).abs() < 1e-12);
    }

    #[rstest]
    #[case::too_few(&led(&VALUES[..7]), false)]
    #[case::enough(&led(&VALUES[..8]), true)]
    #[case::one_unknown(&[led(&VALUES[..8]), unled(&[1.0])].concat(), false)]
    #[case::one_of_a_side(&[led(&VALUES[..1]), vec![(1.0, Lead::Reference); 9]].concat(), false)]
    #[case::two_of_a_side(&[led(&VALUES[..3]), vec![(1.0, Lead::Reference); 9]].concat(), true)]
    fn leads_are_told_apart_where_they_are_known_and_both_had_launches(
        #[case] launches: &[(f64, Lead)],
        #[case] stratified: bool,
    ) {
        assert_eq!(Location::of(launches, 0.99).unwrap().order_effect.is_some(), stratified);
    }

    #[rstest]
    #[case::one_too_few(15, 0)]
    #[case::just_enough(16, 6)]
    fn trimming_begins_at_sixteen_launches(#[case] launches: usize, #[case] trimmed: usize) {
        assert_eq!(Location::of(&unled(&VALUES[..launches]), 0.99).unwrap().trimmed, trimmed);
    }

    #[rstest]
    #[case::none(0)]
    #[case::one(1)]
    #[case::of_a_mean(12)]
    #[case::of_a_trimmed_mean(16)]
    #[case::odd(33)]
    #[case::many(64)]
    fn the_degrees_of_freedom_are_foretold(#[case] launches: usize) {
        let values: Vec<f64> = (0..launches).map(|launch| launch as f64).collect();
        let values = if launches < TRIMMED_FROM_LAUNCHES { unled(&values) } else { led(&values) };
        let found = Location::of(&values, 0.99).ok().and_then(|location| location.df);
        assert_eq!(found.unwrap_or(0.0), degrees_of_freedom(launches) as f64);
    }

    #[test]
    fn a_few_disturbed_launches_hardly_move_a_trimmed_location() {
        let calm: Vec<f64> = (0..32).map(|launch| f64::from(launch % 8) / 1000.0).collect();
        let mut disturbed = calm.clone();
        (disturbed[3], disturbed[17]) = (40.0, 70.0);
        let of = |values: &[f64]| Location::of(&led(values), 0.99).unwrap();
        assert!((of(&calm).center - of(&disturbed).center).abs() < 0.001);
        assert!(of(&disturbed).standard_error.unwrap() < 2.0 * of(&calm).standard_error.unwrap());
    }

    #[rstest]
    #[case::one(&[1.0], false, false)]
    #[case::two(&[1.0, 2.0], true, false)]
    #[case::one_too_few(&[1.0, 2.0, 4.0], true, false)]
    #[case::just_enough(&[1.0, 2.0, 4.0, 3.0], true, true)]
    fn an_interval_needs_enough_launches(#[case] values: &[f64], #[case] sd: bool, #[case] interval: bool) {
        let result = Location::of(&unled(values), 0.99).unwrap();
        assert_eq!((result.sd.is_some(), result.df.is_some(), result.interval.is_some()), (sd, sd, interval));
    }

    #[test]
    fn constant_values_are_their_location_to_the_last_bit() {
        for launches in [1, 4, 8, 16, 33] {
            let result = Location::of(&led(&vec![0.1; launches]), 0.99).unwrap();
            assert_eq!((result.center, result.sd.unwrap_or(0.0)), (0.1, 0.0), "{launches}");
        }
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
            let result = Location::of(&unled(values), confidence);
            assert!(matches!(result, Err(EstimateError::BadConfidence { .. })), "{result:?}");
        }
    }

    #[rstest]
    #[case::variance(&[1e200, -1e200])]
    #[case::mean(&[f64::MAX, f64::MIN])]
    fn finite_values_with_an_infinite_spread_are_an_error(#[case] values: &[f64]) {
        assert_eq!(Location::of(&unled(values), 0.99), Err(EstimateError::Overflow));
    }
}
