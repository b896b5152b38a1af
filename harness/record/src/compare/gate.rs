//! From a record, a baseline and a policy to the rows of a gate: a pure function.

mod acknowledgement;
mod against_base;
mod against_baseline;
mod confirmation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use acknowledgement::acknowledge;
use against_baseline::pooled;
use confirmation::confirm_flags;
pub use confirmation::flagged;
use perfharness_contract::gpu_metric::{DEVICE_GROWTH, GPU_BUSY};
use perfharness_contract::{BenchmarkId, Items, MetricDef, OutcomeKind, Role, standard};
use perfharness_verdict::judge::{
    Advisory, ExactFigure, ExactPolicy, GateOutcome, Judgement, Pooled, Seen, SeenState, Verdict, judge_exact,
};
use perfharness_verdict::median;

use super::diagnosis::explain;
use super::policy::{GatePolicy, Subject, direction};
use super::report::{Against, BaselineInfo, GateReport, REPORT_VERSION, Row};
use super::wording;
use crate::baseline::accept::identity;
use crate::baseline::{Baseline, SPEED_UP};
use crate::{BenchmarkRecord, CaseRecord, MetricRecord, RunRecord, SourceState, WorkerRecord};

/// What a record is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The accepted figures, where there are some.
    pub baseline: Option<&'a Baseline>,
    /// Which change matters.
    pub policy: &'a GatePolicy,
    /// What to call when the row is to be measured again, without the benchmark.
    pub command: &'a str,
    /// Whether the accepted figures are the launches of a single run, so that times prove nothing.
    pub one_run: bool,
}

/// Judges a record against its base, where it was measured against one, and against accepted figures, where there are
/// some.
pub fn judge(record: &RunRecord, terms: &Terms<'_>) -> GateReport {
    let by_id = record.benchmarks.iter().map(|benchmark| (benchmark.id.to_string(), benchmark)).collect();
    let judging = Judging { record, terms, pooled: terms.baseline.and_then(pooled), by_id };
    let mut rows = Vec::new();
    let mut remarks = Vec::new();
    rows.extend(judging.workers());
    rows.extend(judging.against_base());
    // Programs that are the same were not measured, and what is accepted says nothing of them.
    let identical = record.base.as_ref().is_some_and(|base| base.identical);
    if let Some(baseline) = terms.baseline.filter(|_| !identical) {
        rows.extend(judging.against_baseline(baseline, &mut remarks));
    }
    confirm_flags(&mut rows, &judging);
    acknowledge(&mut rows, terms, &mut remarks);
    // One that is not judged by anything still fails the gate when it failed.
    for benchmark in record.benchmarks.iter().filter(|b| b.failed()) {
        let id = benchmark.id.to_string();
        if !rows.iter().any(|row| row.benchmark == id && row.judgement.verdict == Verdict::Failed) {
            let judgement = Judgement::failed(how_it_ended(benchmark));
            rows.push(judging.row(&id, None, Against::Expectation, judgement));
        }
    }
    explain(&mut rows, &|id| judging.items(id));
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    let outcome = GateOutcome::of(rows.iter().map(|row| &row.judgement));
    GateReport {
        format: REPORT_VERSION,
        outcome,
        run: record.run.id.clone(),
        commit: commit(&record.source),
        base_commit: record.base.as_ref().and_then(|base| commit(&base.source)),
        machine_class: record.machine.class.clone(),
        baseline: terms.baseline.map(|baseline| BaselineInfo {
            class: baseline.class.clone(),
            same_class: baseline.class == record.machine.class,
            accepted: baseline.acceptances.last().map(|a| a.when.clone()),
        }),
        rows,
        remarks,
    }
}

fn commit(source: &SourceState) -> Option<String> {
    match source {
        SourceState::Git { commit, dirty: false, .. } => Some(commit.clone()),
        SourceState::Git { commit, dirty: true, .. } => Some(format!("{commit} with changes")),
        SourceState::Absent { .. } => None,
    }
}

fn how_it_ended(benchmark: &BenchmarkRecord) -> String {
    let kind = benchmark.outcome.kind.as_str();
    match &benchmark.outcome.reason {
        Some(reason) => format!("{kind}: {reason}"),
        None => kind.to_owned(),
    }
}

struct Judging<'a> {
    record: &'a RunRecord,
    terms: &'a Terms<'a>,
    pooled: Option<Pooled>,
    by_id: BTreeMap<String, &'a BenchmarkRecord>,
}

impl Judging<'_> {
    fn row(
        &self,
        benchmark: &str,
        metric: Option<&MetricDef>,
        against: Against,
        judgement: Judgement,
    ) -> Row {
        let sentence = wording::sentence_of(&judgement, metric);
        Row {
            benchmark: benchmark.to_owned(),
            metric: metric.map(|m| m.id.to_string()),
            title: metric.map(|m| m.label().to_owned()),
            unit: metric.map(|m| m.unit.clone()),
            direction: metric.map(|m| m.direction),
            against,
            judgement,
            sentence,
            diagnosis: None,
            reproduce: self.command_for(benchmark),
        }
    }

    /// The command that measures something again: a benchmark or a workload, or else everything.
    fn command_for(&self, subject: &str) -> String {
        let is_workload = self.record.workloads.iter().any(|workload| workload.id == subject);
        let command = self.terms.command;
        if is_workload || subject.parse::<BenchmarkId>().is_ok() {
            format!("{command} {subject}")
        } else {
            command.to_owned()
        }
    }

    /// Workers that gave no workloads.
    fn workers(&self) -> Vec<Row> {
        let failed = self.record.workers.iter().filter(|worker| worker.outcome.kind != OutcomeKind::Ok);
        let row = |worker: &WorkerRecord| {
            let reason = worker.outcome.reason.clone().unwrap_or_default();
            let why = format!("{}: {reason}", worker.outcome.kind.as_str());
            let name = format!("worker {}", worker.name);
            self.row(&name, None, Against::Expectation, Judgement::failed(why))
        };
        failed.map(row).collect()
    }

    fn seen(&self) -> Vec<Seen> {
        let state = |benchmark: &BenchmarkRecord| {
            if benchmark.failed() {
                return SeenState::Failed { why: how_it_ended(benchmark) };
            }
            if !benchmark.succeeded() {
                return SeenState::Skipped { why: how_it_ended(benchmark) };
            }
            let wall = benchmark.metrics.get(standard::WALL_TIME);
            // What is meant to fail leaves no sample.
            let samples = wall.map_or(1, |wall| wall.samples as u64);
            SeenState::Measured { samples }
        };
        let seen = |benchmark: &BenchmarkRecord| Seen {
            id: benchmark.id.to_string(),
            identity: self.identity(&benchmark.id),
            state: state(benchmark),
        };
        self.record.benchmarks.iter().map(seen).collect()
    }

    fn identity(&self, id: &BenchmarkId) -> Option<String> {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload)?;
        let case = workload.cases.iter().find(|c| c.id == id.case)?;
        let variant = workload.variants.iter().find(|v| v.id == id.variant)?;
        Some(identity(workload, case, variant).0)
    }

    fn benchmark(&self, id: &str) -> Option<&BenchmarkRecord> {
        self.by_id.get(id).copied()
    }

    /// The metrics of a benchmark that are judged: the harness's own and those of its workload.
    fn definitions(&self, id: &BenchmarkId) -> Vec<&MetricDef> {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload);
        let own = workload.map(|w| w.metrics.as_slice()).unwrap_or_default();
        self.record.metrics.iter().chain(own).collect()
    }

    /// What an iteration of a benchmark handles, where its case says how much.
    fn items(&self, id: &str) -> Option<&Items> {
        let id = &self.benchmark(id)?.id;
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload)?;
        workload.cases.iter().find(|c| c.id == id.case)?.items.as_ref()
    }

    /// Whether the variant that a benchmark is compared with was measured, too.
    fn has_reference(&self, id: &BenchmarkId) -> bool {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload);
        let reference = workload.and_then(|workload| {
            let variant = workload.variants.iter().find(|v| v.id == id.variant)?;
            Some(workload.benchmark_id(&id.case, workload.reference_of(variant)?))
        });
        let measured = reference.and_then(|id| self.benchmark(&id.to_string()));
        measured.is_some_and(BenchmarkRecord::succeeded)
    }

    /// Whether a benchmark computes on a GPU: it says so, or its metered samples do.
    fn uses_gpu(&self, id: &BenchmarkId) -> bool {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload);
        let variant = workload.and_then(|w| w.variants.iter().find(|v| v.id == id.variant));
        let needs_one = variant.is_some_and(|variant| variant.needs.iter().any(|need| need == "gpu"));
        // Not by a figure that the change itself has added: it would be judged more mildly.
        let base = self.record.base.iter().flat_map(|base| &base.benchmarks);
        let benchmark = base.chain(&self.record.benchmarks).find(|benchmark| benchmark.id == *id);
        let busy = benchmark.and_then(|benchmark| benchmark.metrics.get(GPU_BUSY)?.value.value());
        needs_one || busy.is_some()
    }

    /// Whether one of two benchmarks computes on a software adapter, and so on all cores, and the other does not.
    fn are_uneven(&self, one: &BenchmarkId, other: &BenchmarkId) -> bool {
        self.record.machine.has_software_adapter() && self.uses_gpu(one) != self.uses_gpu(other)
    }

    /// Whether a driver has a share in a figure: it allocates in the process that it is loaded into, as it likes, and a few
    /// launches in which it did the same prove nothing.
    fn is_drivers_too(&self, id: &BenchmarkId, metric: &MetricDef) -> bool {
        let of_heap = [standard::HEAP_ALLOCATIONS, standard::HEAP_BYTES, standard::HEAP_GROWTH];
        let of_heap = of_heap.contains(&metric.id.as_str());
        of_heap && self.uses_gpu(id)
    }

    /// Judges a figure without noise. One that a driver has a share in has some.
    fn exact(&self, id: &BenchmarkId, metric: &MetricDef, before: Spread, now: Spread) -> Option<Judgement> {
        let policy = self.terms.policy.exact(&self.subject(id, metric));
        if !self.is_drivers_too(id, metric) {
            return judge_varied(metric, before, now, policy);
        }
        let (before, value) = nearest(before.range, now.range);
        let before = ExactFigure { value: before, varied: true };
        judge_exact(before, ExactFigure { value, varied: now.varied }, policy, direction(metric.direction))
    }

    fn subject<'s>(&self, id: &'s BenchmarkId, metric: &'s MetricDef) -> Subject<'s> {
        let is_software = self.uses_gpu(id) && self.record.machine.no_gpu_times().is_some();
        Subject { id, metric: metric.id.as_str(), unit: &metric.unit, is_software }
    }

    /// Why a time is shown but does not count.
    fn advise_time(
        &self,
        benchmark: &BenchmarkRecord,
        metric: &MetricDef,
        judgement: Judgement,
    ) -> Judgement {
        let id = metric.id.as_str();
        let decides =
            id == standard::WALL_TIME || id == SPEED_UP || (id == GPU_BUSY && self.uses_gpu(&benchmark.id));
        let judgement = if decides { judgement } else { judgement.advise(Advisory::Diagnosis) };
        if benchmark.role == Role::Slow { judgement.advise(Advisory::Exhibit) } else { judgement }
    }
}

/// The values of a figure in the launches of one side.
#[derive(Clone, Copy)]
struct Spread {
    /// Least and largest value.
    range: [f64; 2],
    /// The middle of the launches.
    middle: f64,
    /// True if it varied where it should not.
    varied: bool,
}

impl Spread {
    fn of(record: &MetricRecord, value: f64) -> Self {
        let launches: Vec<f64> = record.launches.iter().map(|launch| launch.0).collect();
        let middle = median(&launches).unwrap_or(value);
        Self { range: range_of(record, value), middle, varied: record.demoted }
    }
}

/// Judges a figure without noise that varied on either side all the same. What varies by itself proves nothing, but it
/// hides nothing, either: a launch that happens to have what the other side has does not make the rest of them equal.
fn judge_varied(metric: &MetricDef, before: Spread, now: Spread, policy: ExactPolicy) -> Option<Judgement> {
    let direction = direction(metric.direction);
    let judged = |before_value: f64, value: f64| {
        // What had not varied before has no noise that would excuse it now.
        let varied = before.varied;
        let before = ExactFigure { value: before_value, varied };
        judge_exact(before, ExactFigure { value, varied }, policy, direction)
    };
    let (near_before, near) = nearest(before.range, now.range);
    let nearest = judged(near_before, near)?;
    if nearest.verdict != Verdict::Unchanged {
        return Some(nearest);
    }
    let typical = judged(before.middle, now.middle)?;
    if typical.verdict == Verdict::Regressed && !before.varied {
        return Some(typical);
    }
    // A vector grows now and then, in whichever launch it is full.
    let grows = [standard::HEAP_GROWTH, DEVICE_GROWTH].contains(&metric.id.as_str());
    let mut extremes = now.range.iter().filter_map(|value| judged(before.middle, *value));
    let is_open = typical.verdict == Verdict::Regressed
        || !before.varied && !grows && extremes.any(|judged| judged.verdict == Verdict::Regressed);
    let [least, largest] = now.range;
    let why =
        || format!("it varied from {least} to {largest} between launches, and had been {}", before.middle);
    Some(if is_open { Judgement::unusable(why()) } else { nearest })
}

/// Least and largest value of the launches.
fn range_of(record: &MetricRecord, value: f64) -> [f64; 2] {
    // What is no number is to be found in the figure itself.
    let launches = record.launches.iter().map(|launch| launch.0).filter(|launch| launch.is_finite());
    launches.fold([value, value], |[low, high], launch| [low.min(launch), high.max(launch)])
}

/// The figures of two ranges that are nearest to each other, the same one where the ranges meet: what varies by itself
/// proves nothing.
fn nearest([low, high]: [f64; 2], [least, largest]: [f64; 2]) -> (f64, f64) {
    if least > high {
        (high, least)
    } else if largest < low {
        (low, largest)
    } else if [low, high, least, largest].iter().all(|figure| figure.is_finite()) {
        let shared = least.max(low);
        (shared, shared)
    } else {
        // Ranges of what is no number meet nowhere, and such figures cannot be judged.
        (f64::NAN, f64::NAN)
    }
}

fn is_case_of(case: &CaseRecord, id: &BenchmarkId) -> bool {
    case.workload == id.workload
        && case.case == id.case
        && case.variant.as_ref().is_none_or(|variant| *variant == id.variant)
}
