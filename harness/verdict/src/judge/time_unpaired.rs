use perfharness_contract::Direction;

use super::worsening::{Worsening, is_proper, ratio, share, turned, worse};
use super::{Advisory, Evidence, Judgement, Reason, RowTerms, UnpairedEvidence, Verdict, Why};
use crate::summary::{mean, variance};
use crate::{Interval, log_ratio, median, student};

/// The runs that make a baseline. With fewer, how much runs differ from each other rests on luck.
pub const MIN_BASELINE_RUNS: usize = 5;

/// The figures of one run for one time, both in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFigure {
    /// The time.
    pub time: f64,
    /// The time of the anchor, a fixed workload that was timed through the same run. Dividing by it takes the speed of
    /// the machine on that day out of the time.
    pub anchor: f64,
}

/// The spread between runs on a machine class, pooled over many benchmarks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// The standard deviation between runs, as a log-ratio to the anchor: `s0`.
    pub sd: f64,
    /// The degrees of freedom that it counts for, not more than it deserves: `d0`.
    pub df: f64,
}

/// Degrees of freedom that the spread of all benchmarks counts for beside a benchmark's own: about those of five runs.
const POOLED_DF: f64 = 4.0;

/// The fewest benchmarks whose spread stands for that of a machine class.
const MIN_POOLED: usize = 3;

impl Pooled {
    /// The median spread of the runs of many benchmarks; none of fewer than three that have more than one run.
    ///
    /// Variances of few runs scatter by factors, and the noise of benchmarks differs by factors, so that their mean is that
    /// of the one noisiest benchmark. A median is the same for variances and their logarithms. That of `s^2 / sigma^2`
    /// with `d` degrees of freedom is `(1 - 2 / (9 d))^3` (E. B. Wilson and M. M. Hilferty, "The Distribution of
    /// Chi-square", 1931, <https://doi.org/10.1073/pnas.17.12.684>), by which each variance is divided.
    pub fn over(benchmarks: impl IntoIterator<Item = Vec<RunFigure>>) -> Option<Self> {
        let unbiased = |runs: Vec<RunFigure>| {
            let df = runs.len() as f64 - 1.0;
            Some(variance(&values(&runs)?)? / (1.0 - 2.0 / (9.0 * df)).powi(3))
        };
        let variances: Vec<f64> = benchmarks.into_iter().filter_map(unbiased).collect();
        let enough = variances.len() >= MIN_POOLED;
        median(&variances).filter(|_| enough).map(|variance| Self { sd: variance.sqrt(), df: POOLED_DF })
    }
}

/// The stored figures of one time.
#[derive(Clone, Copy, Debug)]
pub struct StoredBaseline<'a> {
    /// One figure for each run, of which there should be [`MIN_BASELINE_RUNS`].
    pub runs: &'a [RunFigure],
    /// The spread of the machine class; none where it is not known.
    pub pooled: Option<Pooled>,
    /// Whether the runs come from the machine class of the candidate.
    pub same_class: bool,
    /// The launches behind the figure of a run.
    pub launches: usize,
    /// Whether the figures are the launches of a single run, so that they prove nothing.
    pub is_one_run: bool,
}

/// Judges a time against stored runs. None for a neutral metric.
///
/// With `y = ln(time / anchor)` for each run, `K` runs of the baseline with the standard deviation `s_y`, and `m` runs
/// of the candidate,
///
/// ```text
/// s2 = (d0 * s0^2 + (K - 1) * s_y^2) / (d0 + K - 1)
/// mean(candidate) - mean(baseline) ± t(d0 + K - 1, 1 - alpha/2) * s * sqrt(1/K + 1/m)
/// ```
///
/// and the verdict follows from effect and interval as in [`judge_paired`](super::judge_paired()); a calibration, which is
/// one of launches and not of runs, has no part in it. The shrunk variance `s2` is
/// that of G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
/// Experiments", 2004, <https://doi.org/10.2202/1544-6115.1027>: few runs of one benchmark borrow from all others.
///
/// It is advisory with fewer than [`MIN_BASELINE_RUNS`] runs and for another machine class, `no-baseline` without any
/// run, and inconclusive without a run of the candidate, without any spread, or if a figure is not a positive time.
pub fn judge_unpaired(
    baseline: &StoredBaseline<'_>,
    candidate: &[RunFigure],
    confidence: f64,
    terms: &RowTerms,
    direction: Direction,
) -> Option<Judgement> {
    let sign = worse(direction)?;
    let mut judgement = judge(baseline, candidate, confidence, terms, sign);
    let runs = baseline.runs.len();
    if (1..MIN_BASELINE_RUNS).contains(&runs) {
        judgement = judgement.advise(Advisory::FewRuns { runs, needed: MIN_BASELINE_RUNS });
    }
    Some(if baseline.same_class { judgement } else { judgement.advise(Advisory::OtherMachineClass) })
}

fn judge(
    baseline: &StoredBaseline<'_>,
    candidate: &[RunFigure],
    confidence: f64,
    terms: &RowTerms,
    sign: f64,
) -> Judgement {
    if baseline.runs.is_empty() {
        return Judgement::new(Verdict::NoBaseline, Reason::New, Evidence::None);
    }
    if candidate.is_empty() {
        return Judgement::new(Verdict::Inconclusive, Reason::NoSamples, Evidence::None);
    }
    let (Some(before), Some(after)) = (values(baseline.runs), values(candidate)) else {
        return Judgement::unusable(Why::NotPositive);
    };
    let Some(difference) = Difference::of(&before, &after, baseline.pooled) else {
        return Judgement::unusable(Why::UnknownSpread);
    };
    let Some(interval) = difference.interval(confidence) else {
        return Judgement::unusable(Why::NoInterval);
    };
    let Difference { effect, standard_error, df, .. } = difference;
    let worsening = Worsening { effect: sign * effect, interval: turned(interval, sign), standard_error, df };
    let could_see = terms.visible(&worsening);
    let (verdict, reason) = terms.judge(&worsening, could_see);
    let evidence = UnpairedEvidence {
        effect,
        interval,
        ratio: ratio(effect),
        ratio_interval: interval.map(ratio),
        confidence,
        baseline_runs: before.len(),
        candidate_runs: after.len(),
        sd: difference.sd,
        df,
        threshold: share(terms.threshold),
        could_see: Some(could_see).filter(|could_see| could_see.is_finite()),
        layout_spread: terms.layout_spread,
        p_value: worsening.p_value(),
    };
    Judgement::new(verdict, reason, Evidence::TimeUnpaired(evidence))
}

/// The log-times above the anchor; none if one is not finite.
fn values(runs: &[RunFigure]) -> Option<Vec<f64>> {
    let value = |run: &RunFigure| Some(log_ratio(run.time, run.anchor)).filter(|value| value.is_finite());
    runs.iter().map(value).collect()
}

/// The difference of two means of runs.
struct Difference {
    effect: f64,
    /// The standard deviation between runs, `s`.
    sd: f64,
    df: f64,
    standard_error: f64,
}

impl Difference {
    /// None if there is neither a second run nor a pooled spread, or if it is not a spread.
    fn of(before: &[f64], after: &[f64], pooled: Option<Pooled>) -> Option<Self> {
        let Pooled { sd: s0, df: d0 } = pooled.unwrap_or(Pooled { sd: 0.0, df: 0.0 });
        let valid = |value: f64| value.is_finite() && value >= 0.0;
        if !valid(s0) || !valid(d0) {
            return None;
        }
        let own = (before.len() - 1) as f64;
        let df = d0 + own;
        if df < 1.0 {
            return None;
        }
        let sd = ((d0 * s0 * s0 + own * variance(before).unwrap_or(0.0)) / df).sqrt();
        Some(Self {
            effect: mean(after)? - mean(before)?,
            sd,
            df,
            standard_error: sd * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt(),
        })
    }

    /// None if the confidence is one that Student's t does not give, or the figures are too large.
    fn interval(&self, confidence: f64) -> Option<Interval> {
        if confidence.is_nan() || confidence <= 0.0 {
            return None;
        }
        let t = student::quantile(0.5 + confidence / 2.0, self.df).ok()?;
        Some(Interval::around(self.effect, t * self.standard_error)).filter(|interval| is_proper(*interval))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::{GateOutcome, TimePolicy};
    use crate::simulation::Normal;

    fn runs(log_times: &[f64]) -> Vec<RunFigure> {
        log_times.iter().map(|log| RunFigure { time: 5.0 * log.exp(), anchor: 2.0 }).collect()
    }

    fn judge_with(
        before: &[RunFigure],
        after: &[RunFigure],
        pooled: Option<Pooled>,
        same_class: bool,
    ) -> Judgement {
        let baseline = StoredBaseline { runs: before, pooled, same_class, launches: 16, is_one_run: false };
        judge_unpaired(&baseline, after, 0.99, &TimePolicy::HARDWARE.terms(), Direction::Lower).unwrap()
    }

    fn judge(before: &[f64], after: &[f64]) -> Judgement {
        judge_with(&runs(before), &runs(after), None, true)
    }

    fn unpaired(judgement: &Judgement) -> UnpairedEvidence {
        match &judgement.evidence {
            Evidence::TimeUnpaired(evidence) => *evidence,
            other => panic!("{other:?}"),
        }
    }

    const QUIET: [f64; 5] = [0.001, -0.001, 0.002, -0.002, 0.0];

    #[test]
    fn the_interval_is_that_of_a_worked_example() {
        // s_y^2 = 0.00001 / 4 = 2.5e-6; s2 = (10 * 4e-6 + 4 * 2.5e-6) / 14 = 3.571429e-6; s = 0.001889822;
        // t(14, 0.995) = 2.976843; sqrt(1/5 + 1/2) = 0.836660; half-width 0.004706802.
        let pooled = Some(Pooled { sd: 0.002, df: 10.0 });
        let row = judge_with(&runs(&QUIET), &runs(&[0.11, 0.09]), pooled, true);
        let evidence = unpaired(&row);
        assert!((evidence.sd - 0.001_889_822).abs() < 1e-9, "{evidence:?}");
        assert_eq!((evidence.df, evidence.baseline_runs, evidence.candidate_runs), (14.0, 5, 2));
        assert!((evidence.effect - 0.1).abs() < 1e-12);
        assert!((evidence.interval.half_width() - 0.004_706_802).abs() < 1e-8, "{evidence:?}");
        assert_eq!((row.verdict, row.advisory.len()), (Verdict::Regressed, 0));
    }

    #[rstest]
    #[case::slower(&[0.1], Verdict::Regressed)]
    #[case::faster(&[-0.1], Verdict::Improved)]
    #[case::alike(&[0.001], Verdict::Unchanged)]
    #[case::beyond_the_threshold(&[0.03], Verdict::Regressed)]
    #[case::below_the_threshold(&[0.01], Verdict::Unchanged)]
    fn one_run_is_judged_against_five(#[case] after: &[f64], #[case] verdict: Verdict) {
        assert_eq!(judge(&QUIET, after).verdict, verdict);
    }

    #[test]
    fn for_a_metric_where_more_is_better_verdict_and_p_value_are_swapped() {
        let before = runs(&QUIET);
        let baseline =
            StoredBaseline { runs: &before, pooled: None, same_class: true, launches: 16, is_one_run: false };
        let judge = |direction| {
            let row =
                judge_unpaired(&baseline, &runs(&[-0.1]), 0.99, &TimePolicy::HARDWARE.terms(), direction)
                    .unwrap();
            (row.verdict, row.evidence.p_value().unwrap() < 0.01)
        };
        assert_eq!(judge(Direction::Higher), (Verdict::Regressed, true));
        assert_eq!(judge(Direction::Lower), (Verdict::Improved, false));
    }

    #[test]
    fn a_slow_day_of_the_whole_machine_is_no_regression() {
        let slow_day: Vec<RunFigure> = runs(&[0.001])
            .iter()
            .map(|run| RunFigure { time: 1.4 * run.time, anchor: 1.4 * run.anchor })
            .collect();
        assert_eq!(judge_with(&runs(&QUIET), &slow_day, None, true).verdict, Verdict::Unchanged);
    }

    #[test]
    fn fewer_than_five_runs_and_another_class_are_advisory() {
        let few = judge(&QUIET[..4], &[0.1]);
        assert_eq!(few.advisory, [Advisory::FewRuns { runs: 4, needed: 5 }]);
        assert_eq!((few.verdict, few.outcome()), (Verdict::Regressed, GateOutcome::Ok));
        let elsewhere = judge_with(&runs(&QUIET), &runs(&[0.1]), None, false);
        assert_eq!(elsewhere.advisory, [Advisory::OtherMachineClass]);
        assert_eq!((elsewhere.verdict, elsewhere.outcome()), (Verdict::Regressed, GateOutcome::Ok));
    }

    #[test]
    fn one_run_is_judged_by_the_spread_of_its_class_alone() {
        let pooled = |sd| Some(Pooled { sd, df: 20.0 });
        let verdict = |sd| judge_with(&runs(&[0.0]), &runs(&[0.1]), pooled(sd), true).verdict;
        assert_eq!((verdict(0.005), verdict(0.1)), (Verdict::Regressed, Verdict::Inconclusive));
    }

    #[rstest]
    #[case::no_run(&[], &[0.1], Verdict::NoBaseline)]
    #[case::no_candidate(&QUIET, &[], Verdict::Inconclusive)]
    #[case::one_run_of_unknown_spread(&[0.0], &[0.1], Verdict::Inconclusive)]
    #[case::constant(&[0.0; 5], &[0.0], Verdict::Inconclusive)]
    #[case::constant_and_slower(&[0.0; 5], &[0.5], Verdict::Inconclusive)]
    #[case::time_of_zero(&QUIET, &[f64::NEG_INFINITY], Verdict::Inconclusive)]
    #[case::not_a_number(&[0.0, 0.0, 0.0, 0.0, f64::NAN], &[0.1], Verdict::Inconclusive)]
    #[case::infinite(&[0.0, 0.0, 0.0, 0.0, f64::INFINITY], &[0.1], Verdict::Inconclusive)]
    fn nothing_is_decided_on(#[case] before: &[f64], #[case] after: &[f64], #[case] verdict: Verdict) {
        assert_eq!(judge(before, after).verdict, verdict);
    }

    #[test]
    fn one_noisy_benchmark_hardly_moves_the_spread_of_its_class() {
        let mut normal = Normal::seeded(22);
        let mut of_sd = |sd: f64| runs(&(0..5).map(|_| sd * normal.next()).collect::<Vec<f64>>());
        let calm: Vec<Vec<RunFigure>> = (0..400).map(|_| of_sd(0.02)).collect();
        let pooled = Pooled::over(calm.clone()).unwrap();
        // The median of variances, freed from the bias of few runs. Its standard error is about 4 %.
        assert!((pooled.sd / 0.02 - 1.0).abs() < 0.1, "{pooled:?}");
        let few: Vec<Vec<RunFigure>> = calm.into_iter().take(12).collect();
        let with_one_more = few.iter().cloned().chain([of_sd(0.5)]);
        let (before, after) = (Pooled::over(few.clone()).unwrap(), Pooled::over(with_one_more).unwrap());
        assert!(after.sd < 1.3 * before.sd, "{before:?} {after:?}");
        assert_eq!(Pooled::over(few.into_iter().take(2)), None);
    }

    #[test]
    fn a_noisy_time_against_stored_runs_says_what_it_could_have_seen() {
        let noisy = [0.05, -0.05, 0.03, -0.03, 0.0];
        let row = judge(&noisy, &[0.02]);
        assert!(row.advisory.is_empty());
        let Reason::CouldNotSee { could_see, .. } = row.reason else { panic!("{row:?}") };
        assert_eq!((row.evidence.could_see(), row.outcome()), (Some(could_see), GateOutcome::Undecided));
        let quiet = judge(&QUIET, &[0.001]);
        assert_eq!(quiet.verdict, Verdict::Unchanged);
        assert!(quiet.evidence.could_see().unwrap() < 0.05);
    }

    #[rstest]
    #[case::negative_sd(Pooled { sd: -0.1, df: 10.0 })]
    #[case::sd_not_a_number(Pooled { sd: f64::NAN, df: 10.0 })]
    #[case::infinite_df(Pooled { sd: 0.1, df: f64::INFINITY })]
    fn a_pooled_spread_that_is_none_decides_nothing(#[case] pooled: Pooled) {
        let row = judge_with(&runs(&QUIET), &runs(&[0.1]), Some(pooled), true);
        assert!(matches!(row.reason, Reason::Unusable { .. }));
    }

    #[rstest]
    #[case::zero(0.0)]
    #[case::one(1.0)]
    #[case::not_a_number(f64::NAN)]
    fn a_bad_confidence_decides_nothing(#[case] confidence: f64) {
        let before = runs(&QUIET);
        let baseline =
            StoredBaseline { runs: &before, pooled: None, same_class: true, launches: 16, is_one_run: false };
        let judge = |direction| {
            judge_unpaired(&baseline, &runs(&[0.1]), confidence, &TimePolicy::HARDWARE.terms(), direction)
        };
        assert_eq!(judge(Direction::Lower).unwrap().verdict, Verdict::Inconclusive);
        assert_eq!(judge(Direction::Neutral), None);
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_promises() {
        // Over 4000 trials the standard error is 0.16 %: the band is four of them.
        const TRIALS: usize = 4000;
        let mut normal = Normal::seeded(21);
        let covered = (0..TRIALS)
            .filter(|_| {
                let mut draw =
                    |count, center| (0..count).map(|_| center + 0.02 * normal.next()).collect::<Vec<f64>>();
                let (before, after) = (draw(5, 0.0), draw(2, 0.05));
                // The spread of the class, by eleven runs of some other benchmark.
                let pooled = Pooled { sd: variance(&draw(11, 0.0)).unwrap().sqrt(), df: 10.0 };
                let row = judge_with(&runs(&before), &runs(&after), Some(pooled), true);
                unpaired(&row).interval.contains(0.05)
            })
            .count() as f64;
        let covered = covered / TRIALS as f64;
        assert!((covered - 0.99).abs() < 0.0064, "{covered}");
    }

    proptest! {
        #[test]
        fn more_time_is_never_less_severe_and_order_makes_no_difference(
            mut before in prop::collection::vec(-0.02..0.02, 5..9), after in -0.1..0.1, more in 0.0..0.2,
        ) {
            let here = judge(&before, &[after]);
            prop_assert!(here.outcome() <= judge(&before, &[after + more]).outcome());
            before.reverse();
            prop_assert_eq!(judge(&before, &[after]).verdict, here.verdict);
        }
    }
}
