//! Statements of source documents against what was measured.

use perfharness_contract::{ClaimDef, MetricKind, Name, Number, OutcomeKind, Promise, WorkloadDef, standard};
use perfharness_verdict::{ClaimVerdict, Interval, Measured, judge_at_least};

use crate::record::{BenchmarkRecord, CaseRecord, ClaimRecord, ClaimStatus, ComparisonRecord};

/// Judges every claim of the workloads, once for each case that was run and that it is about.
pub fn judge_claims(
    workloads: &[WorkloadDef],
    cases: &[CaseRecord],
    benchmarks: &[BenchmarkRecord],
    comparisons: &[ComparisonRecord],
) -> Vec<ClaimRecord> {
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
            for case in cases.iter().filter(about) {
                let judged = judge(workload, &case.case, claim, benchmarks, comparisons);
                records.push(record(workload, Some(&case.case), claim, judged));
            }
        }
    }
    records
}

/// What there is to say about a claim.
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

fn judge(
    workload: &WorkloadDef,
    case: &Name,
    claim: &ClaimDef,
    benchmarks: &[BenchmarkRecord],
    comparisons: &[ComparisonRecord],
) -> Judged {
    let side = |variant: &Name| {
        let id = workload.benchmark_id(case, variant);
        let benchmark = benchmarks.iter().find(|b| b.id == id);
        match benchmark {
            None => Err(format!("`{variant}` was not selected")),
            Some(b) if b.outcome.kind != OutcomeKind::Ok => {
                let why = b.outcome.reason.as_ref().map_or_else(String::new, |r| format!(": {r}"));
                Err(format!("`{variant}` is {}{why}", b.outcome.kind.as_str()))
            }
            Some(b) => Ok(b),
        }
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
    // Wall time has a paired estimate, which is much tighter than the quotient of two levels.
    let paired = comparisons.iter().find(|c| {
        metric == standard::WALL_TIME && c.candidate == candidate.id && c.reference == reference.id
    });
    // Ratios as candidate / reference, the way an exact reduction is computed without rounding.
    let (ratio, interval) = match paired {
        Some(comparison) => (comparison.estimate.ratio(), comparison.estimate.ratio_interval()),
        None if after == before => (1.0, None),
        None => (after / before, None),
    };
    let (promised, transform): (f64, Box<dyn Fn(f64) -> f64>) = match claim.promise {
        Promise::Factor { at_least, .. } => (at_least, Box::new(|ratio| 1.0 / ratio)),
        Promise::Reduction { at_least, .. } => (at_least, Box::new(|ratio| 1.0 - ratio)),
        // What is saved is a share of the level of the reference.
        Promise::Saving { at_least, iterations, .. } => {
            (at_least, Box::new(move |ratio| before * (1.0 - ratio) * iterations))
        }
        Promise::NotMeasurable { ref reason } => return Judged::not_measurable(reason),
    };
    let measured = transform(ratio);
    // All promises fall with the ratio, so that the bounds change places.
    let interval = interval.map(|i| Interval { lower: transform(i.upper), upper: transform(i.lower) });
    let figure =
        if exact { Measured::Exact(measured) } else { Measured::Estimated { value: measured, interval } };
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
