//! Statements of source documents against what was measured.

use perfharness_contract::{ClaimDef, MetricKind, Name, Number, OutcomeKind, Promise, WorkloadDef};
use perfharness_verdict::{
    ClaimFigure, ClaimVerdict, Estimate, Interval, MIN_LAUNCHES_TO_DECIDE, judge_at_least,
};

use crate::{BenchmarkRecord, CaseRecord, ClaimRecord, ClaimStatus, Machine, Section};

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

/// The smallest figure that keeps a promise.
fn promised(promise: &Promise) -> Option<f64> {
    match *promise {
        Promise::Factor { at_least, .. }
        | Promise::Reduction { at_least, .. }
        | Promise::Saving { at_least, .. } => Some(at_least),
        Promise::NotMeasurable { .. } => None,
    }
}

/// The figure that a candidate reaches, in the terms of a promise.
struct Reach<'a> {
    /// Bounds of the reference's level, for savings.
    before: [f64; 2],
    promise: &'a Promise,
}

impl Reach<'_> {
    /// From the figures of both sides, computed so that whole numbers stay exact.
    fn of(&self, before: f64, after: f64) -> f64 {
        match *self.promise {
            Promise::Factor { .. } if before == after => 1.0,
            Promise::Factor { .. } => before / after,
            Promise::Reduction { .. } if before == after => 0.0,
            Promise::Reduction { .. } => (before - after) / before,
            Promise::Saving { iterations, .. } => (before - after) * iterations,
            Promise::NotMeasurable { .. } => f64::NAN,
        }
    }

    /// From the paired estimate of candidate / reference, which is much tighter than the quotient of two levels.
    fn estimated(&self, before: f64, estimate: &Estimate) -> Figure {
        let at = |ratio: f64, before: f64| match *self.promise {
            Promise::Factor { .. } => 1.0 / ratio,
            Promise::Reduction { .. } => 1.0 - ratio,
            Promise::Saving { iterations, .. } => before * (1.0 - ratio) * iterations,
            Promise::NotMeasurable { .. } => f64::NAN,
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
        let extremes = |b: &BenchmarkRecord| {
            let record = b.metrics.get(metric).filter(|record| record.kind == MetricKind::Size)?;
            let all = hull(record.launches.iter().map(|value| value.0));
            (record.launches.len() > 1).then_some([all.lower, all.upper])
        };
        Some(Self { before: extremes(reference)?, after: extremes(candidate)? })
    }

    fn interval(&self, promise: &Promise) -> Interval {
        let reach = Reach { before: self.before, promise };
        let pairs = self.before.into_iter().flat_map(|before| self.after.map(|after| (before, after)));
        hull(pairs.map(|(before, after)| reach.of(before, after)))
    }
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
    let metric = claim.metric.as_str();
    let value = |b: &BenchmarkRecord| b.metrics.get(metric).and_then(|m| m.value.value());
    let (Some(before), Some(after)) = (value(reference), value(candidate)) else {
        return Judged::not_measurable(format!("`{metric}` was not measured here"));
    };
    let exact = |b: &BenchmarkRecord| b.metrics.get(metric).is_some_and(|m| m.kind == MetricKind::Exact);
    let exact = exact(reference) && exact(candidate);
    let Some(promised) = promised(&claim.promise) else {
        return Judged::not_measurable("the document gives no number");
    };
    let found = Reach { before: [before; 2], promise: &claim.promise }.of(before, after);
    let Figure { value: measured, interval } = if exact {
        Figure { value: found, interval: None }
    } else if let Some(sizes) = Sizes::of(reference, candidate, metric) {
        Figure { value: found, interval: Some(sizes.interval(&claim.promise)) }
    } else {
        let Some(comparison) = section.pair(&candidate.id, &reference.id, metric) else {
            let reason = format!("no interval is computed for `{metric}` between these variants");
            return Judged { measured: Some(found), ..Judged::not_measurable(reason) };
        };
        let level = reference.metrics.get(metric).and_then(|m| m.interval);
        let bounds = level.map_or([before; 2], |i| [i.lower, i.upper]);
        let reach = Reach { before: bounds, promise: &claim.promise };
        let figure = reach.estimated(before, &comparison.estimate);
        if comparison.estimate.launches < MIN_LAUNCHES_TO_DECIDE {
            return Judged {
                measured: Some(figure.value),
                interval: figure.interval,
                status: ClaimStatus::Undecided,
                reason: Some("too few launches to decide; give more time".into()),
            };
        }
        figure
    };
    let figure = if exact {
        ClaimFigure::Exact(measured)
    } else {
        ClaimFigure::Estimated { value: measured, interval }
    };
    let (status, reason) = match judge_at_least(promised, figure) {
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
        (promised(promise).unwrap(), Reach { before: [before; 2], promise }.of(before, after))
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
        let figure = Reach { before: [90.0, 110.0], promise: &promise }.estimated(100.0, &estimate);
        assert!((figure.value - 500.0).abs() < 1e-9);
        let interval = figure.interval.unwrap();
        assert!((interval.lower - 450.0).abs() < 1e-9 && (interval.upper - 550.0).abs() < 1e-9);
    }
}
