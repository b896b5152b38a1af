use perfharness_contract::Direction;

use super::worsening::worse;
use super::{Evidence, ExactPolicy, Judgement, Reason, SizePolicy, Verdict, Why};
use crate::median;

/// A figure of a metric that is defined as exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactFigure {
    /// The figure, in the unit of the metric.
    pub value: f64,
    /// Whether it differed between launches after all.
    pub varied: bool,
}

impl ExactFigure {
    /// A figure that was the same in every launch.
    pub fn same(value: f64) -> Self {
        Self { value, varied: false }
    }
}

/// The values of a figure in the launches of one side, or in the runs of a baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least and the largest value.
    pub range: [f64; 2],
    /// The middle of the values.
    pub middle: f64,
    /// True if it varied where it should not.
    pub varied: bool,
}

impl Spread {
    /// The spread of a figure over its launches.
    pub fn over(figure: f64, launches: impl IntoIterator<Item = f64>, varied: bool) -> Self {
        let launches: Vec<f64> = launches.into_iter().collect();
        let middle = median(&launches).unwrap_or(figure);
        // The figure itself tells of values that are not numbers.
        let finite = launches.into_iter().filter(|launch| launch.is_finite());
        let range = finite.fold([figure, figure], |[low, high], launch| [low.min(launch), high.max(launch)]);
        Self { range, middle, varied }
    }

    /// The distance of the least and the largest value.
    pub(super) fn width(self) -> f64 {
        let [low, high] = self.range;
        high - low
    }

    /// The figures of two sides that are nearest to each other, the same one where the ranges meet: variation
    /// by itself proves nothing.
    pub(super) fn nearest(self, now: Self) -> (f64, f64) {
        let ([low, high], [least, largest]) = (self.range, now.range);
        if least > high {
            (high, least)
        } else if largest < low {
            (low, largest)
        } else if [low, high, least, largest].iter().all(|figure| figure.is_finite()) {
            let shared = least.max(low);
            (shared, shared)
        } else {
            // Ranges of anything else than numbers never meet, and such figures cannot be judged.
            (f64::NAN, f64::NAN)
        }
    }
}

/// Judges a figure without noise: any change beyond the slack counts. None for a neutral metric.
///
/// If either figure varied between launches, it is not an exact figure, and both are judged as sizes with the limits that
/// the policy has for that; the evidence says so.
pub fn judge_exact(
    baseline: ExactFigure,
    candidate: ExactFigure,
    policy: ExactPolicy,
    direction: Direction,
) -> Option<Judgement> {
    if baseline.varied || candidate.varied {
        return size(baseline.value, candidate.value, policy.demoted, direction, true);
    }
    let sign = worse(direction)?;
    let (baseline, candidate) = (baseline.value, candidate.value);
    let slack = policy.slack.get();
    Some(judge(baseline, candidate, sign, slack, Evidence::Exact { baseline, candidate, slack }))
}

/// Judges a figure with little noise: a change counts if it exceeds both the margin and the share of the smaller figure.
/// None for a neutral metric.
///
/// The smaller of both figures is the baseline where a size grows, and makes the rule the same in both directions.
pub fn judge_size(
    baseline: f64,
    candidate: f64,
    policy: SizePolicy,
    direction: Direction,
) -> Option<Judgement> {
    size(baseline, candidate, policy, direction, false)
}

fn size(
    baseline: f64,
    candidate: f64,
    policy: SizePolicy,
    direction: Direction,
    demoted: bool,
) -> Option<Judgement> {
    let sign = worse(direction)?;
    let (relative, margin) = (policy.relative.get(), policy.margin.get());
    let allowed = margin.max(relative * baseline.abs().min(candidate.abs()));
    let evidence = Evidence::Size { baseline, candidate, relative, margin, demoted };
    Some(judge(baseline, candidate, sign, allowed, evidence))
}

fn judge(baseline: f64, candidate: f64, sign: f64, allowed: f64, evidence: Evidence) -> Judgement {
    if !(baseline.is_finite() && candidate.is_finite()) {
        return Judgement::unusable(Why::NotFinite);
    }
    let worsening = sign * (candidate - baseline);
    if worsening > allowed {
        Judgement::new(Verdict::Regressed, Reason::BeyondThreshold, evidence)
    } else if worsening < -allowed {
        Judgement::new(Verdict::Improved, Reason::BeyondThreshold, evidence)
    } else {
        Judgement::new(Verdict::Unchanged, Reason::WithinThreshold, evidence)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::Limit;

    const KIB: f64 = 1024.0;

    fn exact(baseline: f64, candidate: f64, slack: f64, direction: Direction) -> Option<Judgement> {
        let policy = ExactPolicy { slack: Limit::new(slack).unwrap(), ..ExactPolicy::COUNTS };
        judge_exact(ExactFigure::same(baseline), ExactFigure::same(candidate), policy, direction)
    }

    #[rstest]
    #[case::one_more(9.0, 10.0, 0.0, Verdict::Regressed)]
    #[case::the_same(9.0, 9.0, 0.0, Verdict::Unchanged)]
    #[case::one_fewer(9.0, 8.0, 0.0, Verdict::Improved)]
    #[case::a_fraction_more(9.0, 9.01, 0.0, Verdict::Regressed)]
    #[case::from_zero(0.0, 1.0, 0.0, Verdict::Regressed)]
    #[case::to_zero(1.0, 0.0, 0.0, Verdict::Improved)]
    #[case::negative_zero(0.0, -0.0, 0.0, Verdict::Unchanged)]
    #[case::within_the_slack(9.0, 11.0, 2.0, Verdict::Unchanged)]
    #[case::beyond_the_slack(9.0, 12.0, 2.0, Verdict::Regressed)]
    #[case::further_apart_than_any_number(f64::MIN, f64::MAX, 5.0, Verdict::Regressed)]
    #[case::not_a_number(9.0, f64::NAN, 0.0, Verdict::Inconclusive)]
    #[case::infinite(f64::INFINITY, f64::INFINITY, 0.0, Verdict::Inconclusive)]
    fn an_exact_figure_is_compared_exactly(
        #[case] baseline: f64,
        #[case] candidate: f64,
        #[case] slack: f64,
        #[case] verdict: Verdict,
    ) {
        assert_eq!(exact(baseline, candidate, slack, Direction::Lower).unwrap().verdict, verdict);
    }

    #[test]
    fn the_direction_decides_what_is_worse_and_a_neutral_metric_is_not_judged() {
        assert_eq!(exact(9.0, 10.0, 0.0, Direction::Higher).unwrap().verdict, Verdict::Improved);
        assert_eq!(exact(9.0, 10.0, 0.0, Direction::Neutral), None);
        assert_eq!(judge_size(1.0, 1e9, SizePolicy::BYTES, Direction::Neutral), None);
    }

    #[rstest]
    #[case::neither_varied(false, false, Verdict::Regressed)]
    #[case::baseline_varied(true, false, Verdict::Unchanged)]
    #[case::candidate_varied(false, true, Verdict::Unchanged)]
    fn an_exact_figure_that_varied_is_demoted_visibly(
        #[case] before: bool,
        #[case] after: bool,
        #[case] verdict: Verdict,
    ) {
        let baseline = ExactFigure { value: 1000.0, varied: before };
        let candidate = ExactFigure { value: 1010.0, varied: after };
        let row = judge_exact(baseline, candidate, ExactPolicy::COUNTS, Direction::Lower).unwrap();
        assert_eq!(row.verdict, verdict);
        assert_eq!(matches!(row.evidence, Evidence::Size { demoted: true, .. }), before || after);
    }

    #[test]
    fn a_count_that_varies_is_not_hidden_by_the_margin_of_bytes() {
        let varied = |value| ExactFigure { value, varied: true };
        let judge =
            |before, after| judge_exact(varied(before), varied(after), ExactPolicy::COUNTS, Direction::Lower);
        assert_eq!(judge(10.0, 20.0).unwrap().verdict, Verdict::Regressed);
        assert_eq!(judge(10.0, 11.0).unwrap().verdict, Verdict::Unchanged);
    }

    #[rstest]
    #[case::both_exceeded(10_000.0 * KIB, 10_201.0 * KIB, Verdict::Regressed)]
    #[case::at_the_share(10_000.0 * KIB, 10_200.0 * KIB, Verdict::Unchanged)]
    #[case::margin_only(100_000.0 * KIB, 100_100.0 * KIB, Verdict::Unchanged)]
    #[case::share_only(100.0 * KIB, 160.0 * KIB, Verdict::Unchanged)]
    #[case::at_the_margin(100.0 * KIB, 164.0 * KIB, Verdict::Unchanged)]
    #[case::from_zero(0.0, 65.0 * KIB, Verdict::Regressed)]
    #[case::doubled(1000.0 * KIB, 2000.0 * KIB, Verdict::Regressed)]
    #[case::halved(2000.0 * KIB, 1000.0 * KIB, Verdict::Improved)]
    #[case::not_a_number(f64::NAN, 1.0, Verdict::Inconclusive)]
    #[case::infinite(1.0, f64::INFINITY, Verdict::Inconclusive)]
    fn a_size_has_to_exceed_share_and_margin(
        #[case] baseline: f64,
        #[case] candidate: f64,
        #[case] verdict: Verdict,
    ) {
        let row = judge_size(baseline, candidate, SizePolicy::BYTES, Direction::Lower).unwrap();
        assert_eq!(row.verdict, verdict);
    }

    fn severity(judgement: Option<Judgement>) -> i32 {
        match judgement.unwrap().verdict {
            Verdict::Improved => -1,
            Verdict::Regressed => 1,
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn a_larger_figure_is_never_less_severe_and_swapping_the_sides_mirrors_the_verdict(
            baseline in 0.0..1e9, candidate in 0.0..1e9, more in 0.0..1e8,
        ) {
            let size = |a, b| severity(judge_size(a, b, SizePolicy::BYTES, Direction::Lower));
            let count = |a, b| severity(exact(a, b, 100.0, Direction::Lower));
            prop_assert!(size(baseline, candidate) <= size(baseline, candidate + more));
            prop_assert!(count(baseline, candidate) <= count(baseline, candidate + more));
            prop_assert_eq!(size(baseline, candidate), -size(candidate, baseline));
            prop_assert_eq!(count(baseline, candidate), -count(candidate, baseline));
        }
    }
}
