//! From a record, a baseline and a policy to the rows of a gate: a pure function.

mod acknowledgement;
mod against_base;
mod against_baseline;
mod confirmation;
mod counts;
mod kernels;
mod layouts;
mod plants;
mod suspect;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use acknowledgement::acknowledge;
use against_baseline::pooled;
use confirmation::confirm_flags;
pub use confirmation::flagged;
use counts::{name_functions, shared_functions, unreached, weigh_instructions};
use kernels::{judge_kernels, same_kernels};
use perfharness_contract::gpu_metric::GPU_BUSY;
use perfharness_contract::{
    BenchmarkId, Direction, Items, MetricDef, MetricKind, OutcomeKind, Role, standard,
};
use perfharness_verdict::judge::{
    Account, End, Expected, GateOutcome, Judgement, Pooled, Presence, Reason, RowTerms, SPEED_UP, Seen,
    SeenState, Spread, Subject, Verdict, Why, account,
};
pub use plants::{Plant, plants};
use suspect::doubt_suspects;

use super::policy::GatePolicy;
use super::report::{Against, BaselineInfo, GateReport, GateRow, REPORT_VERSION, Remark};
use crate::baseline::Baseline;
use crate::baseline::accept::identity;
use crate::baseline::calibration::{Calibrated, Calibration};
use crate::{BenchmarkRecord, MetricRecord, Outcome, RunRecord, SourceState, WorkerRecord};

/// The terms that a record is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The accepted figures, where there are some.
    pub baseline: Option<&'a Baseline>,
    /// The calibration of the machine class of the record, where there is one.
    pub calibration: Option<&'a Calibration>,
    /// The changes that matter.
    pub policy: &'a GatePolicy,
    /// The command that measures a row again, without the benchmark.
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
    // Programs that are the same were not measured, and accepted figures say nothing of them.
    let identical = record.base.as_ref().is_some_and(|base| base.identical);
    if let Some(baseline) = terms.baseline.filter(|_| !identical) {
        rows.extend(judging.against_baseline(baseline, &mut remarks));
    }
    doubt_suspects(&mut rows, &judging);
    remarks.extend(layouts::remarks(record));
    confirm_flags(&mut rows, &judging);
    weigh_instructions(&mut rows, &judging);
    judge_kernels(&mut rows, &judging);
    see_by_any(&mut rows);
    name_functions(&mut rows, &judging);
    acknowledge(&mut rows, terms, &mut remarks);
    remarks.extend(shared_functions(&rows));
    remarks.extend(unreached(record));
    remarks.extend(same_kernels(record));
    let (planted, unseen) = judging.planted();
    rows.extend(unseen);
    if !planted.is_empty() {
        let seen = planted.iter().filter(|planted| planted.is_seen).count();
        remarks.push(Remark::Planted { seen, of: planted.len() });
    }
    // A benchmark that failed fails the gate even where nothing judges it.
    for benchmark in record.benchmarks.iter().filter(|b| b.failed()) {
        let id = benchmark.id.to_string();
        if !rows.iter().any(|row| row.benchmark == id && row.judgement.verdict == Verdict::Failed) {
            let judgement = Judgement::failed(Why::Ended(end(&benchmark.outcome)));
            rows.push(judging.row(&id, None, Against::Expectation, judgement));
        }
    }
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
        planted,
    }
}

fn commit(source: &SourceState) -> Option<String> {
    match source {
        SourceState::Git { commit, dirty: false, .. } => Some(commit.clone()),
        SourceState::Git { commit, dirty: true, .. } => Some(format!("{commit} with changes")),
        SourceState::Absent { .. } => None,
    }
}

fn end(outcome: &Outcome) -> End {
    End { kind: outcome.kind, reason: outcome.reason.clone() }
}

/// The definition of the speed-up of a variant over its reference, which is judged like a metric.
fn speed_up() -> MetricDef {
    MetricDef {
        unit: "times".into(),
        kind: MetricKind::Derived,
        direction: Direction::Higher,
        ..MetricDef::time(SPEED_UP, "speed-up over its reference")
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
    ) -> GateRow {
        GateRow {
            benchmark: benchmark.to_owned(),
            metric: metric.map(|m| m.id.to_string()),
            title: metric.map(|m| m.label().to_owned()),
            unit: metric.map(|m| m.unit.clone()),
            direction: metric.map(|m| m.direction),
            against,
            items: self.items(benchmark).cloned(),
            judgement,
            sentence: None,
            diagnosis: None,
            functions: Vec::new(),
            reach: None,
            kernels: Vec::new(),
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
    fn workers(&self) -> Vec<GateRow> {
        let failed = self.record.workers.iter().filter(|worker| worker.outcome.kind != OutcomeKind::Ok);
        let row = |worker: &WorkerRecord| {
            let name = format!("worker {}", worker.name);
            let judgement = Judgement::failed(Why::Ended(end(&worker.outcome)));
            self.row(&name, None, Against::Expectation, judgement)
        };
        failed.map(row).collect()
    }

    fn seen(&self) -> Vec<Seen> {
        let seen = |benchmark: &BenchmarkRecord| {
            let why = Why::Ended(end(&benchmark.outcome));
            let wall = benchmark.metrics.get(standard::WALL_TIME);
            let state = if benchmark.failed() {
                SeenState::Failed { why }
            } else if !benchmark.succeeded() {
                SeenState::Skipped { why }
            } else {
                // A benchmark that is meant to fail leaves no sample.
                SeenState::Measured { samples: wall.map_or(1, |wall| wall.samples as u64) }
            };
            Seen { id: benchmark.id.to_string(), identity: self.identity(&benchmark.id), state }
        };
        self.record.benchmarks.iter().map(seen).collect()
    }

    /// The expected benchmarks that were measured; each of the others gets a row. One that is skipped now failed where
    /// `is_left_out` says that the code is the reason.
    fn measured(
        &self,
        expected: impl Iterator<Item = Expected>,
        against: Against,
        is_left_out: impl Fn(&BenchmarkRecord) -> bool,
        rows: &mut Vec<GateRow>,
    ) -> Vec<&BenchmarkRecord> {
        let accounts = match account(&expected.collect::<Vec<_>>(), &self.seen()) {
            Ok(accounts) => accounts,
            Err(error) => {
                rows.push(self.row("the record", None, against, Judgement::unusable(error)));
                return Vec::new();
            }
        };
        let mut measured = Vec::new();
        for Account { id, presence } in accounts {
            let benchmark = self.benchmark(&id);
            let is_skipped = matches!(presence, Presence::Skipped { .. });
            let skipped = benchmark.filter(|b| is_skipped && b.outcome.kind == OutcomeKind::Skipped);
            let judgement = match skipped.filter(|skipped| is_left_out(skipped)) {
                Some(skipped) => Some(Judgement::failed(Why::LeftOut(end(&skipped.outcome)))),
                None => presence.judgement(),
            };
            match judgement {
                Some(judgement) => rows.push(self.row(&id, None, against, judgement)),
                None => measured.extend(benchmark),
            }
        }
        measured
    }

    fn identity(&self, id: &BenchmarkId) -> Option<String> {
        let workload = self.record.workload(&id.workload)?;
        Some(identity(workload, workload.case(&id.case)?, workload.variant(&id.variant)?).0)
    }

    fn benchmark(&self, id: &str) -> Option<&BenchmarkRecord> {
        self.by_id.get(id).copied()
    }

    /// The metrics of a benchmark that are judged: the harness's own and those of its workload.
    fn definitions(&self, id: &BenchmarkId) -> Vec<&MetricDef> {
        self.record.metrics_of(&id.workload).collect()
    }

    /// The items that an iteration of a benchmark handles, where its case counts them.
    fn items(&self, id: &str) -> Option<&Items> {
        self.record.case_def(&self.benchmark(id)?.id)?.items.as_ref()
    }

    /// Whether the variant that a benchmark is compared with was measured as well.
    fn has_reference(&self, id: &BenchmarkId) -> bool {
        let reference = self.record.workload(&id.workload).and_then(|workload| {
            let reference = workload.reference_of(workload.variant(&id.variant)?)?;
            Some(workload.benchmark_id(&id.case, reference))
        });
        let measured = reference.and_then(|id| self.benchmark(&id.to_string()));
        measured.is_some_and(BenchmarkRecord::succeeded)
    }

    /// Whether a benchmark computes on a GPU: it says so, or its metered samples do.
    fn uses_gpu(&self, id: &BenchmarkId) -> bool {
        let variant = self.record.variant_def(id);
        let needs_one = variant.is_some_and(|variant| variant.needs.iter().any(|need| need == "gpu"));
        // A figure that the change itself has added does not count: the change would be judged more mildly by it.
        let of_base = self.record.base_section().and_then(|base| base.benchmark(id));
        let benchmark = of_base.or_else(|| self.record.section().benchmark(id));
        let busy = benchmark.and_then(|benchmark| benchmark.metrics.get(GPU_BUSY)?.value.value());
        needs_one || busy.is_some()
    }

    /// The calibration of a benchmark on the machine class of the record.
    fn calibrated(&self, id: &BenchmarkId) -> Option<&Calibrated> {
        let calibration = self.terms.calibration.filter(|c| c.class == self.record.machine.class)?;
        calibration.of(id, self.record.section().benchmark(id)?.definition)
    }

    /// The subject of a row about a metric of a benchmark.
    fn subject<'s>(&self, benchmark: &'s BenchmarkId, role: Role, metric: &'s MetricDef) -> Subject<'s> {
        let uses_gpu = self.uses_gpu(benchmark);
        let adapter = self.record.machine.adapter();
        Subject { benchmark, metric, role, uses_gpu, reference_uses_gpu: uses_gpu, adapter }
    }

    /// True if somebody measured by how much the layout of its code changes the time of a benchmark.
    fn knows_layout(&self, id: &BenchmarkId) -> bool {
        let calibrated = || self.calibrated(id)?.layout_spread;
        self.record.compared_layouts(id).is_some() || calibrated().is_some()
    }

    /// The terms that a time of a benchmark is judged by.
    fn row_terms(&self, subject: &Subject<'_>) -> RowTerms {
        let calibrated = self.calibrated(subject.benchmark);
        let layout_spread = match self.record.compared_layouts(subject.benchmark) {
            Some(compared) => compared.explained,
            // Programs in one layout each may differ by as much as layouts do.
            None => calibrated.and_then(|calibrated| calibrated.layout_spread).unwrap_or(0.0),
        };
        self.terms.policy.terms(subject, calibrated.map(|calibrated| calibrated.sd), layout_spread)
    }
}

/// Lets a time pass that could not see what it must, where another time of the same benchmark that counts could.
fn see_by_any(rows: &mut [GateRow]) {
    let able = |row: &GateRow, must_see: f64| {
        let could_see = row.judgement.evidence.could_see();
        row.judgement.gates() && could_see.is_some_and(|could_see| could_see <= must_see)
    };
    let seen_by_another = |row: &GateRow| match row.judgement.reason {
        Reason::CouldNotSee { must_see, .. } => rows.iter().any(|other| {
            other.benchmark == row.benchmark && other.against == row.against && able(other, must_see)
        }),
        _ => false,
    };
    let places: Vec<usize> = (0..rows.len()).filter(|at| seen_by_another(&rows[*at])).collect();
    for at in places {
        rows[at].judgement = rows[at].judgement.clone().seen_by_another();
    }
}

/// The launches of a figure whose middle is `value`.
fn spread(record: &MetricRecord, value: f64) -> Spread {
    Spread::over(value, record.launches.iter().map(|launch| launch.0), record.demoted)
}

/// The cause of a figure that is absent.
fn absence(record: &MetricRecord) -> Why {
    record.value.absence().map_or(Why::NotMeasured, Into::into)
}
