//! Statements of source documents against what was measured.

use perfharness_contract::{ClaimDef, MetricKind, Name, Number, OutcomeKind, Promise, WorkloadDef};
use perfharness_verdict::{
    ClaimFigure, ClaimVerdict, Estimate, Interval, MIN_LAUNCHES_TO_DECIDE, judge_within,
};

use crate::{BenchmarkRecord, CaseRecord, ClaimRecord, ClaimStatus, Machine, MetricRecord, Section};

/// Judges every claim of the workloads, once for each case that was run and that it is about.
pub fn judge_claims(machine: &Machine, workloads: &[WorkloadDef], section: Section<'_>) -> Vec<ClaimRecord> {
    let mut records = Vec::new();
    for workload in workloads {
        for claim in &workload.claims {
            if let Promise::NotMeasurable { reason } = &claim.promise {
                let judged = Judged::not_measurable(reason);
                records.push(record(workload, None, claim, judged));
                continue;
            }
            let about = |case: &&CaseRecord| {
                case.workload == workload.id && (claim.cases.is_empty() || claim.cases.contains(&case.case))
            };
            // Against a base, every variant of a case has a record of its own.
            let mut cases: Vec<&Name> = section.cases.iter().filter(about).map(|case| &case.case).collect();
            cases.dedup();
            for case in cases {
                let mut judged = judge(workload, case, claim, section);
                if let Some(why) = machine.no_gpu_times().filter(|_| claim.on_gpu) {
                    judged.withdraw(format!("a statement about a GPU, and {why}"));
                }
                records.push(record(workload, Some(case), claim, judged));
            }
        }
    }
    records
}

/// The conclusion about a claim.
struct Judged {
    measured: Option<f64>,
    interval: Option<Interval>,
    status: ClaimStatus,
    reason: Option<String>,
}

impl Judged {
    fn not_measurable(reason: impl Into<String>) -> Self {
        Self {
            measured: None,
            interval: None,
            status: ClaimStatus::NotMeasurable,
            reason: Some(reason.into()),
        }
    }

    fn too_few_launches(measured: f64, interval: Option<Interval>) -> Self {
        Self {
            measured: Some(measured),
            interval,
            status: ClaimStatus::Undecided,
            reason: Some("too few launches to decide; give more time".into()),
        }
    }

    /// Keeps the figures but draws no conclusion, unless there was none to draw anyway.
    fn withdraw(&mut self, reason: String) {
        if self.status != ClaimStatus::NotMeasurable {
            self.status = ClaimStatus::NotMeasurable;
            self.reason = Some(reason);
        }
    }
}

fn record(workload: &WorkloadDef, case: Option<&Name>, claim: &ClaimDef, judged: Judged) -> ClaimRecord {
    ClaimRecord {
        workload: workload.id.clone(),
        case: case.cloned(),
        claim: claim.id.clone(),
        promise: claim.promise.clone(),
        measured: judged.measured.map(Number),
        interval: judged.interval,
        status: judged.status,
        reason: judged.reason,
    }
}

/// A figure in the promise's terms.
struct Figure {
    value: f64,
    interval: Option<Interval>,
}

/// The smallest and the largest figure that keep a promise.
fn promised(promise: &Promise) -> Option<[f64; 2]> {
    match *promise {
        // More than was promised keeps the promise, too.
        Promise::Factor { at_least, .. }
        | Promise::Reduction { at_least, .. }
        | Promise::Saving { at_least, .. } => Some([at_least, f64::INFINITY]),
        Promise::Level { at_least, at_most } => {
            Some([at_least.unwrap_or(f64::NEG_INFINITY), at_most.unwrap_or(f64::INFINITY)])
        }
        Promise::NotMeasurable { .. } => None,
    }
}

/// The figure that a candidate reaches, in the terms of a promise.
struct Gain<'a> {
    /// Bounds of the reference's level, for savings.
    before: [f64; 2],
    promise: &'a Promise,
}

impl Gain<'_> {
    /// From the figures of both sides, computed so that whole numbers stay exact.
    fn of(&self, before: f64, after: f64) -> f64 {
        match *self.promise {
            Promise::Factor { .. } if before == after => 1.0,
            Promise::Factor { .. } => before / after,
            Promise::Reduction { .. } if before == after => 0.0,
            Promise::Reduction { .. } => (before - after) / before,
            Promise::Saving { iterations, .. } => (before - after) * iterations,
            Promise::Level { .. } => after,
            Promise::NotMeasurable { .. } => f64::NAN,
        }
    }

    /// From the paired estimate of candidate / reference, which is much tighter than the quotient of two levels.
    fn estimated(&self, before: f64, estimate: &Estimate) -> Figure {
        let at = |ratio: f64, before: f64| match *self.promise {
            Promise::Factor { .. } => 1.0 / ratio,
            Promise::Reduction { .. } => 1.0 - ratio,
            Promise::Saving { iterations, .. } => before * (1.0 - ratio) * iterations,
            Promise::Level { .. } | Promise::NotMeasurable { .. } => f64::NAN,
        };
        // The worst and the best case over both intervals: what is saved is a share of an uncertain level.
        let interval = estimate.ratio_interval().map(|ratio| {
            let corners = [ratio.lower, ratio.upper].map(|r| self.before.map(|b| at(r, b)));
            hull(corners.into_iter().flatten())
        });
        Figure { value: at(estimate.ratio(), before), interval }
    }
}

/// The extremes of a size over the launches of both sides. Sizes have too little noise for statistics to be worth
/// anything, so what is said of them holds for the worst launches.
struct Sizes {
    before: [f64; 2],
    after: [f64; 2],
}

impl Sizes {
    fn of(reference: &BenchmarkRecord, candidate: &BenchmarkRecord, metric: &str) -> Option<Self> {
        let of = |b: &BenchmarkRecord| {
            let record = b.metrics.get(metric).filter(|record| record.kind == MetricKind::Size)?;
            extremes(record).map(|all| [all.lower, all.upper])
        };
        Some(Self { before: of(reference)?, after: of(candidate)? })
    }

    fn interval(&self, promise: &Promise) -> Interval {
        let reach = Gain { before: self.before, promise };
        let pairs = self.before.into_iter().flat_map(|before| self.after.map(|after| (before, after)));
        hull(pairs.map(|(before, after)| reach.of(before, after)))
    }
}

/// Returns the extremes of the launches of a metric; `None` for a single launch.
fn extremes(metric: &MetricRecord) -> Option<Interval> {
    (metric.launches.len() > 1).then(|| hull(metric.launches.iter().map(|value| value.0)))
}

/// Returns the smallest interval that holds all values.
fn hull(values: impl Iterator<Item = f64> + Clone) -> Interval {
    Interval {
        lower: values.clone().fold(f64::INFINITY, f64::min),
        upper: values.fold(f64::NEG_INFINITY, f64::max),
    }
}

fn judge(workload: &WorkloadDef, case: &Name, claim: &ClaimDef, section: Section<'_>) -> Judged {
    let side = |variant: &Name| match section.benchmark(&workload.benchmark_id(case, variant)) {
        None => Err(format!("`{variant}` was not selected")),
        Some(b) if b.outcome.kind != OutcomeKind::Ok => {
            let why = b.outcome.reason.as_ref().map_or_else(String::new, |r| format!(": {r}"));
            Err(format!("`{variant}` is {}{why}", b.outcome.kind.as_str()))
        }
        Some(b) => Ok(b),
    };
    let (reference, candidate) = match (side(&claim.reference), side(&claim.candidate)) {
        (Ok(reference), Ok(candidate)) => (reference, candidate),
        (Err(reason), _) | (_, Err(reason)) => return Judged::not_measurable(reason),
    };
    let Some(range) = promised(&claim.promise) else {
        return Judged::not_measurable("the document gives no number");
    };
    let figured = match claim.promise {
        Promise::Level { .. } => level(candidate, claim),
        _ => change(reference, candidate, claim, section),
    };
    figured.map_or_else(|open| open, |figure| conclude(range, figure))
}

/// The figure of one variant. Its interval is that of its level, or else the extremes of its launches.
fn level(candidate: &BenchmarkRecord, claim: &ClaimDef) -> Result<ClaimFigure, Judged> {
    let measured = candidate.metrics.get(claim.metric.as_str());
    let Some((metric, value)) = measured.and_then(|m| Some((m, m.value.value()?))) else {
        return Err(Judged::not_measurable(format!("`{}` was not measured here", claim.metric)));
    };
    let launches = metric.launches.len();
    let interval = match metric.kind {
        MetricKind::Exact => return Ok(ClaimFigure::Exact(value)),
        MetricKind::Size => extremes(metric),
        // Of eight launches, the extremes hold the median with a confidence of 99 %: each of them is above it as often
        // as below.
        MetricKind::Time | MetricKind::Derived if launches < MIN_LAUNCHES_TO_DECIDE => {
            return Err(Judged::too_few_launches(value, metric.interval));
        }
        MetricKind::Time | MetricKind::Derived => metric.interval.or_else(|| extremes(metric)),
    };
    Ok(ClaimFigure::Estimated { value, interval })
}

/// The difference of two variants, in the terms of the promise.
fn change(
    reference: &BenchmarkRecord,
    candidate: &BenchmarkRecord,
    claim: &ClaimDef,
    section: Section<'_>,
) -> Result<ClaimFigure, Judged> {
    let metric = claim.metric.as_str();
    let value = |b: &BenchmarkRecord| b.metrics.get(metric).and_then(|m| m.value.value());
    let (Some(before), Some(after)) = (value(reference), value(candidate)) else {
        return Err(Judged::not_measurable(format!("`{metric}` was not measured here")));
    };
    let exact = |b: &BenchmarkRecord| b.metrics.get(metric).is_some_and(|m| m.kind == MetricKind::Exact);
    let found = Gain { before: [before; 2], promise: &claim.promise }.of(before, after);
    if exact(reference) && exact(candidate) {
        return Ok(ClaimFigure::Exact(found));
    }
    if let Some(sizes) = Sizes::of(reference, candidate, metric) {
        return Ok(ClaimFigure::Estimated { value: found, interval: Some(sizes.interval(&claim.promise)) });
    }
    let Some(comparison) = section.pair(&candidate.id, &reference.id, metric) else {
        let reason = format!("no interval is computed for `{metric}` between these variants");
        return Err(Judged { measured: Some(found), ..Judged::not_measurable(reason) });
    };
    let level = reference.metrics.get(metric).and_then(|m| m.interval);
    let bounds = level.map_or([before; 2], |i| [i.lower, i.upper]);
    let Figure { value, interval } =
        Gain { before: bounds, promise: &claim.promise }.estimated(before, &comparison.estimate);
    if comparison.estimate.launches < MIN_LAUNCHES_TO_DECIDE {
        return Err(Judged::too_few_launches(value, interval));
    }
    Ok(ClaimFigure::Estimated { value, interval })
}

fn conclude([least, most]: [f64; 2], figure: ClaimFigure) -> Judged {
    let (measured, interval) = match figure {
        ClaimFigure::Exact(value) => (value, None),
        ClaimFigure::Estimated { value, interval } => (value, interval),
    };
    let (status, reason) = match judge_within(least, most, figure) {
        ClaimVerdict::Met => (ClaimStatus::Met, None),
        ClaimVerdict::NotMet => (ClaimStatus::NotMet, None),
        ClaimVerdict::Undecided => {
            let reason = match interval {
                Some(_) => "the interval includes the promised figure; a greater --effort narrows it",
                None => "there is no interval yet; a greater --effort gives one",
            };
            (ClaimStatus::Undecided, Some(reason.to_owned()))
        }
    };
    Judged { measured: Some(measured), interval, status, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(promise: &Promise, before: f64, after: f64) -> (f64, f64) {
        (promised(promise).unwrap()[0], Gain { before: [before; 2], promise }.of(before, after))
    }

    #[test]
    fn a_case_that_has_a_record_for_each_variant_is_judged_once() {
        let workload: WorkloadDef = serde_json::from_value(serde_json::json!({
            "id": "w", "version": 1, "title": "W", "summary": "does it", "cases": [{"id": "n10"}],
            "variants": [{"id": "slow", "role": "slow"}, {"id": "fast"}],
            "claims": [{
                "id": "faster", "source": "000, 1", "statement": "faster", "candidate": "fast", "reference": "slow",
                "metric": "wall-time", "promise": {"kind": "reduction", "at_least": 0.5}
            }],
        }))
        .unwrap();
        let case = |variant: &str| -> CaseRecord {
            serde_json::from_value(serde_json::json!({
                "workload": "w", "case": "n10", "variant": variant, "pairing": null, "end": null, "seconds": 1.0,
                "blocks": 0, "dropped_blocks": {}, "launches": [],
            }))
            .unwrap()
        };
        let cases = ["slow", "fast"].map(case);
        let section = Section { cases: &cases, benchmarks: &[], comparisons: &[] };
        let machine: Machine =
            serde_json::from_value(serde_json::json!({ "class": "c", "class_is_set": false, "facts": {} }))
                .unwrap();
        assert_eq!(judge_claims(&machine, &[workload], section).len(), 1);
    }

    /// Judges claims on the variant `a` of a real record of two launches.
    fn judged(change: impl Fn(&mut BenchmarkRecord), claims: &[(&str, Promise)]) -> Vec<ClaimRecord> {
        let text = include_str!("../../../fuzz/corpus/record/variants.json");
        let mut record = crate::file::parse("variants.json".as_ref(), text).unwrap();
        change(&mut record.benchmarks[0]);
        let claim = |(metric, promise): &(&str, Promise)| {
            ClaimDef::new("c", "000, 1", "is so", metric, promise.clone()).of("a")
        };
        record.workloads[0].claims = claims.iter().map(claim).collect();
        judge_claims(&record.machine, &record.workloads, record.section())
    }

    fn within(at_least: f64, at_most: f64) -> Promise {
        Promise::Level { at_least: Some(at_least), at_most: Some(at_most) }
    }

    fn statuses(judged: &[ClaimRecord]) -> Vec<ClaimStatus> {
        judged.iter().map(|claim| claim.status).collect()
    }

    #[test]
    fn a_level_is_judged_by_the_figure_of_one_variant() {
        let below = Promise::Level { at_least: None, at_most: Some(59_999.0) };
        let above = Promise::Level { at_least: Some(60_001.0), at_most: None };
        let exact =
            judged(|_| (), &[("steps", within(60_000.0, 60_000.0)), ("steps", below), ("steps", above)]);
        assert_eq!(statuses(&exact), [ClaimStatus::Met, ClaimStatus::NotMet, ClaimStatus::NotMet]);
        assert!(
            exact.iter().all(|claim| claim.measured == Some(Number(60_000.0)) && claim.interval.is_none())
        );
    }

    #[test]
    fn the_level_of_a_size_holds_for_the_worst_launches() {
        let sizes = |b: &mut BenchmarkRecord| {
            b.metrics.get_mut("peak-rss").unwrap().launches = [4e6, 6e6].map(Number).into();
        };
        let claims =
            [within(4e6, 6e6), within(5e6, 7e6), within(7e6, 8e6)].map(|promise| ("peak-rss", promise));
        let found = judged(sizes, &claims);
        assert_eq!(statuses(&found), [ClaimStatus::Met, ClaimStatus::Undecided, ClaimStatus::NotMet]);
        assert_eq!(found[0].interval, Some(Interval { lower: 4e6, upper: 6e6 }));
    }

    #[test]
    fn the_level_of_a_noisy_figure_needs_eight_launches() {
        let claims = [("rate", within(1.0, 9.0)), ("rate", within(4.0, 9.0)), ("rate", within(9.0, 10.0))];
        let of_launches = |count: usize| {
            judged(
                |b| {
                    let rate = b.metrics.get_mut("rate").unwrap();
                    rate.interval = None;
                    rate.launches = (1..=count).map(|launch| Number(launch as f64)).collect();
                },
                &claims,
            )
        };
        assert_eq!(statuses(&of_launches(7)), [ClaimStatus::Undecided; 3]);
        let found = of_launches(8);
        assert_eq!(statuses(&found), [ClaimStatus::Met, ClaimStatus::Undecided, ClaimStatus::NotMet]);
        assert_eq!(found[0].interval, Some(Interval { lower: 1.0, upper: 8.0 }));
    }

    #[test]
    fn the_level_of_a_time_has_the_interval_of_its_level() {
        let known = Interval { lower: 3.0, upper: 5.0 };
        let time = |b: &mut BenchmarkRecord| {
            let wall = b.metrics.get_mut("wall-time").unwrap();
            wall.interval = Some(known);
            wall.launches = vec![Number(4.0); MIN_LAUNCHES_TO_DECIDE];
        };
        let found = judged(time, &[("wall-time", within(3.0, 5.0))]);
        assert_eq!((found[0].status, found[0].interval), (ClaimStatus::Met, Some(known)));
    }

    #[test]
    fn the_level_of_a_metric_that_is_absent_is_not_measurable() {
        let found = judged(|_| (), &[("gpu-busy-share", within(0.0, 0.05))]);
        assert_eq!(found[0].status, ClaimStatus::NotMeasurable);
        assert_eq!(found[0].reason.as_deref(), Some("`gpu-busy-share` was not measured here"));
    }

    #[test]
    fn what_is_withdrawn_keeps_its_figures_and_an_earlier_reason() {
        let judged = |status, reason: Option<&str>| {
            let reason = reason.map(str::to_owned);
            let mut judged = Judged { measured: Some(2.0), interval: None, status, reason };
            judged.withdraw("no GPU".into());
            (judged.measured, judged.status, judged.reason.unwrap())
        };
        let not_measurable = |reason: &str| (Some(2.0), ClaimStatus::NotMeasurable, reason.to_owned());
        assert_eq!(judged(ClaimStatus::Met, None), not_measurable("no GPU"));
        assert_eq!(judged(ClaimStatus::NotMet, None), not_measurable("no GPU"));
        assert_eq!(judged(ClaimStatus::NotMeasurable, Some("skipped")), not_measurable("skipped"));
    }

    #[test]
    fn whole_numbers_reach_exactly_what_they_promise() {
        for factor in 2..1000 {
            let promise = Promise::Factor { at_least: f64::from(factor), at_most: None };
            let (promised, value) = reach(&promise, f64::from(factor), 1.0);
            assert_eq!(promised, value);
        }
        let promise = Promise::Reduction { at_least: 0.98, at_most: None };
        assert_eq!(reach(&promise, 1000.0, 20.0), (0.98, 0.98));
        let promise = Promise::Reduction { at_least: 0.2, at_most: None };
        assert_eq!(reach(&promise, 10.0, 8.0), (0.2, 0.2));
    }

    #[test]
    fn what_is_said_of_a_size_holds_for_the_worst_launches() {
        let sizes = Sizes { before: [100.0, 110.0], after: [70.0, 80.0] };
        let saved = sizes.interval(&Promise::Reduction { at_least: 0.2, at_most: None });
        assert!((saved.lower - 0.2).abs() < 1e-12 && (saved.upper - (1.0 - 70.0 / 110.0)).abs() < 1e-12);
        let factor = sizes.interval(&Promise::Factor { at_least: 1.0, at_most: None });
        assert_eq!((factor.lower, factor.upper), (100.0 / 80.0, 110.0 / 70.0));
    }

    #[test]
    fn nothing_against_nothing_is_no_change() {
        assert_eq!(reach(&Promise::Factor { at_least: 2.0, at_most: None }, 0.0, 0.0).1, 1.0);
        assert_eq!(reach(&Promise::Reduction { at_least: 0.5, at_most: None }, 0.0, 0.0).1, 0.0);
    }

    #[test]
    fn a_saving_is_as_uncertain_as_its_level() {
        let promise = Promise::Saving { at_least: 1.0, at_most: None, iterations: 10.0 };
        let estimate = Estimate {
            theta: 0.5_f64.ln(),
            sd: Some(0.0),
            standard_error: Some(0.0),
            df: Some(7.0),
            order_effect: None,
            interval: Some(Interval { lower: 0.5_f64.ln(), upper: 0.5_f64.ln() }),
            confidence: 0.99,
            launches: 8,
            trimmed: 0,
            placements: 8,
            rounds: 16,
            empty_launches: 0,
            empty_placements: 0,
        };
        let figure = Gain { before: [90.0, 110.0], promise: &promise }.estimated(100.0, &estimate);
        assert!((figure.value - 500.0).abs() < 1e-9);
        let interval = figure.interval.unwrap();
        assert!((interval.lower - 450.0).abs() < 1e-9 && (interval.upper - 550.0).abs() < 1e-9);
    }
}
