//! Whether something that should stay as it is grows from iteration to iteration: a leak, told from steps that end.

use serde::{Deserialize, Serialize};

use crate::{Interval, median};

/// Parts of a series that are held against each other. A leak adds to each of them. Growth in steps, such as that of
/// a vector that doubles its room or a cache that fills, cannot reach all of them: the middles of the last three lie closer
/// together than two steps of a factor of 1.4 or more.
const PARTS: usize = 8;
/// Each part has to grow by this share of what the parts grow by as a rule.
const STEADY: f64 = 0.25;
/// Points that a series needs, so that each part has a middle worth the name.
pub const MIN_GROWTH_POINTS: usize = 2 * PARTS;
/// The normal quantile of intervals with a confidence of 99 %.
const Z: f64 = 2.576;
/// Standard deviations that noise may add up to.
const NOISE: f64 = 4.0;

/// The verdict on a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthVerdict {
    /// It does not grow by anything that can be seen.
    Flat,
    /// It grows from iteration to iteration, throughout.
    Grows,
    /// It grew, and not steadily, or there is too little to tell.
    Unclear,
}

/// The limits that a series is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthPolicy {
    /// The least that it can change by: a byte where bytes are counted, a page where pages are.
    pub resolution: f64,
    /// The gain over its second half that is not a leak, because the value moves by itself.
    pub slack: f64,
}

/// The growth of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthTest {
    /// The verdict.
    pub verdict: GrowthVerdict,
    /// Iterations from the first point to the last.
    pub iterations: f64,
    /// The last value less the first.
    pub total: f64,
    /// The slope, by Theil and Sen: the median over all pairs of points.
    pub per_iteration: f64,
    /// Its interval, with a confidence of 99 %; the slope alone where all points lie on a line.
    pub interval: Interval,
    /// Stretches between two points that it grew in.
    pub steps: usize,
    /// Iterations until the end of the last of them.
    pub last_step: f64,
    /// The smallest steady growth in an iteration that would have been found beside what is there; none where nothing is.
    pub smallest: Option<f64>,
}

/// Judges whether a series of (iterations so far, value) grows; `None` where it has less than two points, or where
/// iterations do not increase or a figure is not a finite number.
pub fn judge_growth(points: &[(f64, f64)], policy: GrowthPolicy) -> Option<GrowthTest> {
    let (first, last) = (points.first()?, points.last()?);
    let is_finite = points.iter().all(|(at, value)| at.is_finite() && value.is_finite());
    if points.len() < 2 || !is_finite || points.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
        return None;
    }
    let increments = || points.windows(2).map(|pair| (pair[1].0, pair[1].1 - pair[0].1));
    let grown = increments().filter(|(_, more)| *more >= policy.resolution);
    let (per_iteration, interval) = slope(points)?;
    let test = GrowthTest {
        verdict: GrowthVerdict::Unclear,
        iterations: last.0 - first.0,
        total: last.1 - first.1,
        per_iteration,
        interval,
        steps: grown.clone().count(),
        last_step: grown.fold(0.0, |_, (at, _)| at - first.0),
        smallest: None,
    };
    if points.len() < MIN_GROWTH_POINTS {
        return Some(test);
    }
    if is_steady(points, policy)? {
        return Some(GrowthTest { verdict: GrowthVerdict::Grows, ..test });
    }
    let levels = levels(points);
    let late = levels[PARTS - 1] - levels[PARTS / 2 - 1];
    let all: Vec<f64> = increments().map(|(_, more)| more).collect();
    let noise = NOISE * deviation(&all)? * (all.len() as f64 / 2.0).sqrt();
    let verdict = if late <= policy.slack.max(noise) { GrowthVerdict::Flat } else { GrowthVerdict::Unclear };
    Some(GrowthTest { verdict, smallest: smallest(points, policy), ..test })
}

/// Whether it grows in each part, and by much the same.
fn is_steady(points: &[(f64, f64)], policy: GrowthPolicy) -> Option<bool> {
    let levels = levels(points);
    let gains: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let due = (STEADY * median(&gains)?).max(policy.resolution);
    let (_, interval) = slope(points)?;
    Some(interval.lower > 0.0 && gains.iter().all(|gain| *gain >= due))
}

/// The middle value of each part. Never the mean of two: a step in the middle of a part would be seen before and behind it.
fn levels(points: &[(f64, f64)]) -> Vec<f64> {
    let part = |at: usize| &points[at * points.len() / PARTS..(at + 1) * points.len() / PARTS];
    let middle = |at: usize| {
        let mut values: Vec<f64> = part(at).iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
    };
    (0..PARTS).map(middle).collect()
}

/// The median slope of all pairs, and its interval by Kendall's statistic.
fn slope(points: &[(f64, f64)]) -> Option<(f64, Interval)> {
    let pairs = points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
    let mut slopes: Vec<f64> = pairs.map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
    slopes.sort_by(f64::total_cmp);
    let count = points.len() as f64;
    let reach = Z * (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let middle = slopes.len() as f64 / 2.0;
    let rank = |rank: f64| slopes[(rank.max(0.0) as usize).min(slopes.len() - 1)];
    let interval = Interval {
        lower: rank((middle - reach / 2.0).floor() - 1.0),
        upper: rank((middle + reach / 2.0).ceil()),
    };
    Some((median(&slopes)?, interval))
}

/// The standard deviation, by the median deviation, which a few steps do not move.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(1.4826 * median(&distances)?)
}

/// The smallest growth that would have been found in addition: tried out on the series itself.
fn smallest(points: &[(f64, f64)], policy: GrowthPolicy) -> Option<f64> {
    let first = points.first()?.0;
    let is_found = |leak: f64| {
        let leaking: Vec<(f64, f64)> =
            points.iter().map(|(at, value)| (*at, value + leak * (at - first))).collect();
        is_steady(&leaking, policy).unwrap_or(false)
    };
    let mut enough = policy.resolution / (points.last()?.0 - first);
    while !is_found(enough) {
        enough *= 2.0;
        if !enough.is_finite() {
            return None;
        }
    }
    let mut too_little = 0.0;
    // Three digits are more than anybody reads.
    while enough - too_little > 0.001 * enough {
        let middle = f64::midpoint(too_little, enough);
        if is_found(middle) {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const EXACT: GrowthPolicy = GrowthPolicy { resolution: 1.0, slack: 0.0 };
    const PAGES: GrowthPolicy = GrowthPolicy { resolution: 4096.0, slack: 262_144.0 };

    /// A thousand iterations in points of twenty.
    fn series(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=50).map(|at| f64::from(at) * 20.0).map(|at| (at, value(at))).collect()
    }

    /// Numbers between -1 and 1 that look like chance.
    fn noise(seed: u64, at: f64) -> f64 {
        let mut z = seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn pages(bytes: f64) -> f64 {
        (bytes / 4096.0).floor() * 4096.0
    }

    #[track_caller]
    fn judged(points: &[(f64, f64)], policy: GrowthPolicy) -> GrowthTest {
        judge_growth(points, policy).unwrap()
    }

    #[test]
    fn nothing_at_all_is_flat_and_any_leak_would_have_been_seen() {
        let test = judged(&series(|_| 0.0), EXACT);
        assert_eq!((test.verdict, test.total, test.steps), (GrowthVerdict::Flat, 0.0, 0));
        // A byte in each part.
        assert!(test.smallest.unwrap() < 0.02, "{test:?}");
    }

    #[test]
    fn a_leak_that_is_counted_is_told_to_the_byte() {
        let test = judged(&series(|at| 1024.0 * at), EXACT);
        assert_eq!(
            (test.verdict, test.per_iteration, test.total),
            (GrowthVerdict::Grows, 1024.0, 1_024_000.0)
        );
        assert_eq!(test.interval, Interval { lower: 1024.0, upper: 1024.0 });
    }

    #[rstest]
    #[case::every_iteration(|at: f64| 8.0 * at)]
    #[case::every_hundredth(|at: f64| 8.0 * (at / 100.0).floor())]
    #[case::among_what_comes_and_goes(|at: f64| 1024.0 * at + 5000.0 * noise(3, at))]
    #[case::with_a_jump(|at: f64| 1024.0 * at + if at > 500.0 { 1e7 } else { 0.0 })]
    fn a_leak_is_found(#[case] value: fn(f64) -> f64) {
        let test = judged(&series(value), EXACT);
        assert_eq!(test.verdict, GrowthVerdict::Grows, "{test:?}");
    }

    #[rstest]
    #[case::doubling(2.0)]
    #[case::half_more(1.5)]
    fn a_vector_that_grows_in_steps_is_no_leak(#[case] factor: f64) {
        for first in 1..60 {
            let room = |at: f64| {
                let mut room = f64::from(first);
                while room < at {
                    room = (room * factor).ceil();
                }
                room * 24.0
            };
            let test = judged(&series(room), EXACT);
            assert_ne!(test.verdict, GrowthVerdict::Grows, "{first}: {test:?}");
            if test.verdict == GrowthVerdict::Unclear {
                assert!(test.steps > 0 && test.last_step > 400.0, "{first}: {test:?}");
            }
        }
    }

    #[rstest]
    #[case::one_step(|at: f64| if at > 300.0 { 1e8 } else { 0.0 })]
    #[case::a_cache_that_fills(|at: f64| 1e6 * at.min(400.0))]
    #[case::what_is_given_back(|at: f64| -1000.0 * at)]
    fn what_ends_is_flat(#[case] value: fn(f64) -> f64) {
        for policy in [EXACT, PAGES] {
            assert_eq!(judged(&series(value), policy).verdict, GrowthVerdict::Flat);
        }
    }

    #[test]
    fn what_still_grew_at_the_end_and_not_steadily_is_unclear() {
        let late = judged(&series(|at| if at > 900.0 { 1e8 } else { 0.0 }), PAGES);
        assert_eq!((late.verdict, late.steps, late.last_step), (GrowthVerdict::Unclear, 1, 920.0));
        assert!(late.smallest.is_some());
        let few = judged(&series(|at| 1024.0 * at)[..MIN_GROWTH_POINTS - 1], EXACT);
        assert_eq!((few.verdict, few.smallest), (GrowthVerdict::Unclear, None));
    }

    #[test]
    fn a_resident_set_shows_what_is_larger_than_its_pages() {
        let leak = |bytes: f64| judged(&series(|at| 8e6 + pages(bytes * at)), PAGES);
        assert_eq!(leak(1024.0).verdict, GrowthVerdict::Grows);
        assert!((leak(1024.0).per_iteration - 1024.0).abs() < 40.0, "{:?}", leak(1024.0));
        let small = leak(10.0);
        assert_eq!(small.verdict, GrowthVerdict::Flat);
        let smallest = small.smallest.unwrap();
        assert!((20.0..100.0).contains(&smallest), "{smallest}");
        assert_eq!(leak(2.0 * smallest).verdict, GrowthVerdict::Grows);
    }

    #[test]
    fn noise_is_no_leak_and_hides_small_ones() {
        let mut found = [0, 0];
        let mut hidden = 0.0;
        for seed in 0..1000 {
            let stays = judged(&series(|at| pages(1e5 * noise(seed, at))), PAGES);
            // Counts whose samples begin anew: their errors add up.
            let mut sum = 0.0;
            let walk: Vec<(f64, f64)> = series(|at| noise(seed, at))
                .into_iter()
                .map(|(at, more)| {
                    sum += 100.0 * more;
                    (at, sum)
                })
                .collect();
            let walks = judged(&walk, EXACT);
            for (at, test) in [stays, walks].into_iter().enumerate() {
                found[at] += usize::from(test.verdict == GrowthVerdict::Grows);
            }
            hidden += stays.smallest.unwrap() / 1000.0;
        }
        // Without noise it would be 35.
        assert!(hidden > 70.0, "{hidden}");
        // Nothing for what stays where it is; for what adds up, no more than one of a hundred.
        assert!(found[0] == 0 && found[1] <= 10, "{found:?}");
    }

    #[rstest]
    #[case::nothing(&[])]
    #[case::one(&[(0.0, 1.0)])]
    #[case::back(&[(1.0, 1.0), (1.0, 2.0)])]
    #[case::no_number(&[(0.0, 1.0), (1.0, f64::NAN)])]
    fn what_is_no_series_has_no_verdict(#[case] points: &[(f64, f64)]) {
        assert_eq!(judge_growth(points, EXACT), None);
    }

    proptest! {
        #[test]
        fn any_series_has_a_verdict_and_a_found_leak_would_be_found(
            values in prop::collection::vec(-1e9..1e9_f64, 16..60),
        ) {
            let points: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            let test = judged(&points, EXACT);
            prop_assert!(test.interval.lower <= test.per_iteration && test.per_iteration <= test.interval.upper);
            if let Some(leak) = test.smallest {
                let more: Vec<(f64, f64)> =
                    points.iter().map(|(at, value)| (*at, value + leak * at)).collect();
                prop_assert_eq!(judged(&more, EXACT).verdict, GrowthVerdict::Grows);
            }
        }
    }
}
