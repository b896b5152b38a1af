//! From a record, a baseline and a policy to the rows of a gate: a pure function.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, Direction, MetricDef, MetricKind, OutcomeKind, Role, standard};
use perfharness_verdict::judge::{
    Account, Advisory, Ended, ExactFigure, Expected, GateOutcome, Judgement, PairedRun, Pooled, Presence,
    Recheck, RunFigure, Seen, SeenState, StoredBaseline, Verdict, account, confirm, confirmation_launches,
    judge_exact, judge_paired, judge_size, judge_unpaired,
};
use perfharness_verdict::judge::{Evidence, FALSE_DISCOVERY_RATE, MIN_BASELINE_RUNS, Reason, TimePolicy};

use super::policy::{GatePolicy, Subject, direction};
use super::report::{Against, BaselineInfo, GateReport, REPORT_VERSION, Row};
use super::wording;
use crate::baseline::accept::{anchor, identity, is_in_scope};
use crate::baseline::{Baseline, Entry, Figures, SPEED_UP};
use crate::measure::CaseEnd;
use crate::record::{
    BenchmarkRecord, CaseRecord, ComparisonRecord, MetricRecord, RunRecord, SelectedRecord, SourceState,
};

/// The confidence of intervals against stored runs, and of fresh launches, which are judged once.
const CONFIDENCE: f64 = 0.99;

/// Degrees of freedom that the spread of all benchmarks counts for beside a benchmark's own: about those of five runs.
const POOLED_DF: f64 = 4.0;

/// Times that decide, beside the wall time: on a GPU its own.
const GPU_BUSY: &str = "gpu-busy";

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
    let judging = Judging { record, terms, pooled: terms.baseline.and_then(pooled) };
    let mut rows = Vec::new();
    let mut remarks = Vec::new();
    rows.extend(judging.workers());
    if record.base.is_some() {
        rows.extend(judging.against_base());
    }
    if let Some(baseline) = terms.baseline {
        rows.extend(judging.against_baseline(baseline, &mut remarks));
    }
    confirm_flags(&mut rows, &judging);
    acknowledge(&mut rows, terms, &mut remarks);
    // One that is not judged by anything still fails the gate when it failed.
    for benchmark in record.benchmarks.iter().filter(|b| b.failed()) {
        let id = benchmark.id.to_string();
        if !rows.iter().any(|row| row.benchmark == id && row.judgement.verdict == Verdict::Failed) {
            rows.push(judging.row(&id, None, Against::Expectation, failed(benchmark)));
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
    }
}

/// What is to be measured again before it counts, with the fresh launches that it takes.
pub fn flagged(report: &GateReport) -> BTreeMap<BenchmarkId, u32> {
    let mut flagged = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.judgement.needs_confirmation()) {
        let Ok(id) = row.benchmark.parse::<BenchmarkId>() else { continue };
        let launches = match &row.judgement.evidence {
            Evidence::TimePaired(evidence) => {
                let policy = perfharness_verdict::judge::Limit::new(evidence.threshold).ok();
                let policy = policy.map(|threshold| TimePolicy { threshold });
                let needed = policy.and_then(|policy| {
                    let direction = perfharness_verdict::judge::Direction::Lower;
                    confirmation_launches(&evidence.estimate, policy, direction)
                });
                needed.unwrap_or(perfharness_verdict::judge::MAX_CONFIRMATION_LAUNCHES)
            }
            // A run again, of as many launches as decide within a run.
            _ => perfharness_verdict::MIN_LAUNCHES_TO_DECIDE,
        };
        let most: &mut u32 = flagged.entry(id).or_insert(0);
        *most = (*most).max(launches as u32);
    }
    flagged
}

fn commit(source: &SourceState) -> Option<String> {
    match source {
        SourceState::Git { commit, dirty: false, .. } => Some(commit.clone()),
        SourceState::Git { commit, dirty: true, .. } => Some(format!("{commit} with changes")),
        SourceState::Absent { .. } => None,
    }
}

fn failed(benchmark: &BenchmarkRecord) -> Judgement {
    Presence::Failed { why: how_it_ended(benchmark) }
        .judgement()
        .unwrap_or_else(|| Judgement::unusable("failed"))
}

fn how_it_ended(benchmark: &BenchmarkRecord) -> String {
    let kind = benchmark.outcome.kind.as_str();
    match &benchmark.outcome.reason {
        Some(reason) => format!("{kind}: {reason}"),
        None => kind.to_owned(),
    }
}

/// The spread of wall times between runs, over all benchmarks of a baseline.
fn pooled(baseline: &Baseline) -> Option<Pooled> {
    let variance = |entry: &Entry| {
        let runs = run_figures(entry.metrics.get(standard::WALL_TIME)?);
        let logs: Vec<f64> = runs.iter().map(|run| (run.time / run.anchor).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let sum: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (logs.len() > 1).then(|| sum / (logs.len() - 1) as f64)
    };
    let variances: Vec<f64> = baseline.benchmarks.iter().filter_map(variance).collect();
    let mean = variances.iter().sum::<f64>() / variances.len() as f64;
    (variances.len() > 2 && mean.is_finite()).then(|| Pooled { sd: mean.sqrt(), df: POOLED_DF })
}

/// Runs without an anchor are compared as they are.
fn run_figures(figures: &Figures) -> Vec<RunFigure> {
    let anchor = |at: usize| figures.anchors.get(at).copied().unwrap_or(1.0);
    figures
        .values
        .iter()
        .enumerate()
        .map(|(at, time)| RunFigure { time: *time, anchor: anchor(at) })
        .collect()
}

struct Judging<'a> {
    record: &'a RunRecord,
    terms: &'a Terms<'a>,
    pooled: Option<Pooled>,
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
            reproduce: format!("{} {benchmark}", self.terms.command),
        }
    }

    /// Workers that gave no workloads.
    fn workers(&self) -> Vec<Row> {
        let failed = self.record.workers.iter().filter(|worker| worker.outcome.kind != OutcomeKind::Ok);
        let row = |worker: &crate::record::WorkerRecord| {
            let reason = worker.outcome.reason.clone().unwrap_or_default();
            let why = format!("{}: {reason}", worker.outcome.kind.as_str());
            let judgement = Presence::Failed { why }.judgement()?;
            Some(self.row(&format!("worker {}", worker.name), None, Against::Expectation, judgement))
        };
        failed.filter_map(row).collect()
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
        self.record.benchmarks.iter().find(|b| b.id.to_string() == id)
    }

    /// The metrics of a benchmark that are judged: the harness's own and those of its workload.
    fn definitions(&self, id: &BenchmarkId) -> Vec<&MetricDef> {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload);
        let own = workload.map(|w| w.metrics.as_slice()).unwrap_or_default();
        self.record.metrics.iter().chain(own).collect()
    }

    fn uses_gpu(&self, id: &BenchmarkId) -> bool {
        let workload = self.record.workloads.iter().find(|w| w.id == id.workload);
        let variant = workload.and_then(|w| w.variants.iter().find(|v| v.id == id.variant));
        variant.is_some_and(|variant| variant.needs.iter().any(|need| need == "gpu"))
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

    // Against accepted figures.

    fn against_baseline(&self, baseline: &Baseline, remarks: &mut Vec<String>) -> Vec<Row> {
        let same_class = baseline.class == self.record.machine.class;
        let against = Against::Baseline;
        let was_seen = |id: &BenchmarkId| self.record.benchmarks.iter().any(|b| b.id == *id);
        let in_scope = |entry: &&Entry| was_seen(&entry.id) || is_in_scope(entry, self.record);
        let expected = baseline
            .benchmarks
            .iter()
            .filter(in_scope)
            .map(|entry| Expected { id: entry.id.to_string(), identity: Some(entry.identity.0.clone()) });
        let accounts = match account(&expected.collect::<Vec<_>>(), &self.seen()) {
            Ok(accounts) => accounts,
            Err(error) => {
                let judgement = Judgement::unusable(error.to_string());
                return vec![self.row("the record", None, against, judgement)];
            }
        };
        let mut rows = Vec::new();
        let mut bound = 0;
        for Account { id, presence } in accounts {
            if let Some(judgement) = presence.judgement() {
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            let Some(benchmark) = self.benchmark(&id) else { continue };
            let Some(entry) = baseline.entry(&benchmark.id) else { continue };
            if entry.definition != benchmark.definition {
                let judgement = Judgement::redefined(entry.definition, benchmark.definition);
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            if entry.expected != benchmark.expected {
                let why = format!(
                    "it is now expected to end as {}, and {} was accepted",
                    benchmark.expected.as_str(),
                    entry.expected.as_str()
                );
                rows.extend(Presence::Failed { why }.judgement().map(|j| self.row(&id, None, against, j)));
                continue;
            }
            rows.extend(self.metrics_against(entry, benchmark, same_class, &mut bound));
        }
        if !same_class {
            let class = &self.record.machine.class;
            remarks.push(format!(
                "there is no baseline of {class}; the nearest, {}, judges what is the same on every machine, and {bound} figures that are not were left out",
                baseline.class
            ));
        }
        rows
    }

    fn metrics_against(
        &self,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        same_class: bool,
        bound: &mut usize,
    ) -> Vec<Row> {
        let definitions = self.definitions(&benchmark.id);
        let id = benchmark.id.to_string();
        let mut rows = Vec::new();
        for (metric, figures) in &entry.metrics {
            let is_portable = figures.portability == perfharness_contract::Portability::Portable;
            if metric == SPEED_UP {
                rows.extend(self.speed_up(entry, benchmark, figures));
                continue;
            }
            if !same_class && !is_portable {
                *bound += 1;
                continue;
            }
            // Times are judged within the rounds where there is a base.
            if figures.kind == MetricKind::Time && self.record.base.is_some() {
                continue;
            }
            let Some(definition) = definitions.iter().find(|d| d.id.as_str() == metric) else {
                let judgement = skipped(format!("the worker does not report `{metric}` any more"));
                rows.push(self.row(&id, None, Against::Baseline, judgement));
                continue;
            };
            let judgement = self.metric_against(benchmark, figures, definition);
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Baseline, j)));
        }
        let fresh = |d: &&&MetricDef| {
            let known = entry.metrics.contains_key(d.id.as_str());
            let measured = benchmark.metrics.get(d.id.as_str()).is_some_and(|m| m.value.value().is_some());
            !known && measured && !d.work && d.direction != Direction::Neutral
        };
        for definition in definitions.iter().filter(fresh) {
            let judgement = Presence::New.judgement();
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Baseline, j)));
        }
        rows
    }

    fn metric_against(
        &self,
        benchmark: &BenchmarkRecord,
        figures: &Figures,
        definition: &MetricDef,
    ) -> Option<Judgement> {
        if !figures.is_of(definition) {
            return Some(Judgement::redefined(figures.version, definition.version));
        }
        let is_judged = figures.work || definition.direction != Direction::Neutral;
        let found = benchmark.metrics.get(definition.id.as_str());
        let Some(found) = found.filter(|found| found.value.value().is_some()) else {
            let why = found.and_then(|found| found.value.absence()).unwrap_or("it was not measured");
            let judgement = skipped(why.to_owned());
            let is_time = definition.kind == MetricKind::Time || definition.kind == MetricKind::Derived;
            let judgement =
                if is_time { self.advise_time(benchmark, definition, judgement) } else { judgement };
            return Some(judgement).filter(|_| is_judged);
        };
        let value = found.value.value()?;
        let subject = self.subject(&benchmark.id, definition);
        let direction = direction(definition.direction);
        match figures.kind {
            MetricKind::Exact if figures.work => {
                let accepted = figures.middle()?;
                let same = accepted == value;
                let why =
                    format!("its work counter `{}` is {value}, and {accepted} was accepted", definition.id);
                (!same).then(|| Presence::Failed { why }.judgement()).flatten()
            }
            MetricKind::Exact => {
                let varied = figures.range.is_some();
                let accepted =
                    if varied || found.demoted { clamp(value, figures)? } else { figures.middle()? };
                let accepted = ExactFigure { value: accepted, varied };
                let value = ExactFigure { value, varied: found.demoted };
                judge_exact(accepted, value, self.terms.policy.exact(&subject), direction)
            }
            MetricKind::Size => {
                judge_size(clamp(value, figures)?, value, self.terms.policy.size(&subject), direction)
            }
            MetricKind::Time => {
                let policy = self.terms.policy.time(&subject);
                let runs = run_figures(figures);
                // A GPU has a clock of its own, which the anchor knows nothing of.
                let on_gpu = self.uses_gpu(&benchmark.id) && !subject.is_software;
                let anchor =
                    anchor(self.record, &benchmark.id).filter(|_| !figures.anchors.is_empty() && !on_gpu);
                let runs = match anchor {
                    Some(_) => runs,
                    None => runs.into_iter().map(|run| RunFigure { anchor: 1.0, ..run }).collect(),
                };
                let now = RunFigure { time: value, anchor: anchor.unwrap_or(1.0) };
                let judgement = self.unpaired(&runs, now, policy, direction)?;
                Some(self.advise_time(benchmark, definition, judgement))
            }
            // What is computed from other figures is judged by those.
            MetricKind::Derived => None,
        }
        .map(|judgement| few_launches(judgement, found.launches.len()))
    }

    fn unpaired(
        &self,
        runs: &[RunFigure],
        now: RunFigure,
        policy: TimePolicy,
        direction: perfharness_verdict::judge::Direction,
    ) -> Option<Judgement> {
        let same_class =
            self.terms.baseline.is_some_and(|baseline| baseline.class == self.record.machine.class);
        let stored = StoredBaseline { runs, pooled: self.pooled, same_class };
        let judgement = judge_unpaired(&stored, &[now], CONFIDENCE, policy, direction)?;
        let judgement = match self.terms.one_run {
            true => judgement.advise(Advisory::FewRuns { runs: 1, needed: MIN_BASELINE_RUNS }),
            false => judgement,
        };
        let Evidence::TimeUnpaired(evidence) = &judgement.evidence else { return Some(judgement) };
        // What the runs of the baseline differ by says what this machine can tell.
        let smallest = evidence.smallest_detectable.map(|smallest| smallest - policy.delta());
        Some(match smallest {
            Some(smallest) if smallest > policy.delta() => {
                judgement.advise(Advisory::TooNoisy { smallest_detectable: smallest })
            }
            _ => judgement,
        })
    }

    fn speed_up(&self, entry: &Entry, benchmark: &BenchmarkRecord, figures: &Figures) -> Option<Row> {
        // The base says more than what was stored.
        if self.record.base.is_some() {
            return None;
        }
        let comparison = self.record.comparison(&benchmark.id, standard::WALL_TIME)?;
        let judgement = self.judge_speed_up(entry, benchmark, figures, comparison)?;
        let definition = wording::speed_up();
        Some(self.row(&entry.id.to_string(), Some(&definition), Against::Baseline, judgement))
    }

    fn judge_speed_up(
        &self,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        figures: &Figures,
        comparison: &ComparisonRecord,
    ) -> Option<Judgement> {
        let definition = wording::speed_up();
        let policy = self.terms.policy.time(&self.subject(&entry.id, &definition));
        let now = RunFigure { time: comparison.speed_up().0, anchor: 1.0 };
        let judgement = self.unpaired(&run_figures(figures), now, policy, direction(figures.direction))?;
        let judgement = few_launches(judgement, comparison.launches.len());
        Some(self.advise_time(benchmark, &definition, judgement))
    }

    // Against the base, in the same rounds.

    fn against_base(&self) -> Vec<Row> {
        let Some(base) = &self.record.base else { return Vec::new() };
        let against = Against::Base;
        if base.identical {
            let digests = base.workers.iter().filter_map(|worker| worker.digest.clone());
            let judgement = Judgement::identical(digests.collect::<Vec<_>>().join(" "));
            return vec![self.row("every benchmark", None, against, judgement)];
        }
        let expected = base.selected.iter().map(|selected| Expected {
            id: selected.id.to_string(),
            identity: Some(selected.identity.0.clone()),
        });
        let accounts = match account(&expected.collect::<Vec<_>>(), &self.seen()) {
            Ok(accounts) => accounts,
            Err(error) => {
                return vec![self.row("the record", None, against, Judgement::unusable(error.to_string()))];
            }
        };
        let mut rows = Vec::new();
        for Account { id, presence } in accounts {
            if let Some(judgement) = presence.judgement() {
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            let Some(head) = self.benchmark(&id) else { continue };
            let selected: Option<&SelectedRecord> = base.selected.iter().find(|s| s.id == head.id);
            if let Some(selected) = selected.filter(|s| s.definition != head.definition) {
                let judgement = Judgement::redefined(selected.definition, head.definition);
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            match base.benchmarks.iter().find(|b| b.id == head.id) {
                Some(before) if before.outcome.kind == OutcomeKind::Ok => {
                    rows.extend(self.metrics_against_base(before, head));
                }
                // Both end as expected, and leave no figure.
                Some(before) if before.outcome.kind == head.outcome.kind => {}
                Some(before) => {
                    let why = format!("the base ended as {}", how_it_ended(before));
                    rows.push(self.row(&id, None, against, Judgement::no_baseline(why)));
                }
                None => {
                    let judgement = skipped("the base was not measured".to_owned());
                    rows.push(self.row(&id, None, against, judgement));
                }
            }
        }
        rows
    }

    fn metrics_against_base(&self, before: &BenchmarkRecord, head: &BenchmarkRecord) -> Vec<Row> {
        let id = head.id.to_string();
        let mut rows = Vec::new();
        for definition in self.definitions(&head.id) {
            let metric = definition.id.as_str();
            let (Some(old), Some(new)) = (before.metrics.get(metric), head.metrics.get(metric)) else {
                continue;
            };
            let is_time = definition.kind == MetricKind::Time;
            let judgement = match (old.value.value(), new.value.value()) {
                (Some(_), Some(_)) if is_time => self.paired(head, definition),
                (Some(old_value), Some(value)) => {
                    self.figure_against_base(head, definition, (old, old_value), (new, value))
                }
                (Some(_), None) if definition.direction != Direction::Neutral => {
                    let judgement = skipped(new.value.absence().unwrap_or("it was not measured").to_owned());
                    Some(if is_time { self.advise_time(head, definition, judgement) } else { judgement })
                }
                // What the base does not tell is new, or was absent on both sides.
                _ => None,
            };
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Base, j)));
        }
        rows
    }

    fn figure_against_base(
        &self,
        head: &BenchmarkRecord,
        definition: &MetricDef,
        (old, old_value): (&MetricRecord, f64),
        (new, value): (&MetricRecord, f64),
    ) -> Option<Judgement> {
        let subject = self.subject(&head.id, definition);
        let direction = direction(definition.direction);
        let nearest = || {
            let all = old.launches.iter().map(|launch| launch.0).filter(|value| value.is_finite());
            let range = all.fold([old_value, old_value], |[low, high], v| [low.min(v), high.max(v)]);
            value.clamp(range[0], range[1])
        };
        match definition.kind {
            // The sides of a round must agree in their work, or the candidate is a wrong result.
            MetricKind::Exact if definition.work => None,
            MetricKind::Exact => {
                let varied = old.demoted || new.demoted;
                let before = if varied { nearest() } else { old_value };
                let before = ExactFigure { value: before, varied: old.demoted };
                let now = ExactFigure { value, varied: new.demoted };
                judge_exact(before, now, self.terms.policy.exact(&subject), direction)
            }
            MetricKind::Size => judge_size(nearest(), value, self.terms.policy.size(&subject), direction),
            MetricKind::Time | MetricKind::Derived => None,
        }
    }

    fn paired(&self, head: &BenchmarkRecord, definition: &MetricDef) -> Option<Judgement> {
        let base = self.record.base.as_ref()?;
        let is_ours = |c: &&ComparisonRecord| c.candidate == head.id && c.metric == definition.id;
        let comparison = base.comparisons.iter().find(is_ours)?;
        let case = self.record.cases.iter().find(|case| is_case_of(case, &head.id))?;
        let judgement = self.judge_comparison(comparison, case, head, definition)?;
        Some(self.advise_time(head, definition, judgement))
    }

    fn judge_comparison(
        &self,
        comparison: &ComparisonRecord,
        case: &CaseRecord,
        head: &BenchmarkRecord,
        definition: &MetricDef,
    ) -> Option<Judgement> {
        let policy = self.terms.policy.time(&self.subject(&head.id, definition));
        let is_wall = definition.id.as_str() == standard::WALL_TIME;
        let dropped: u64 = case.dropped_blocks.values().sum();
        let calibrated = self.terms.baseline.filter(|b| b.class == self.record.machine.class);
        let calibrated = calibrated.and_then(|b| b.entry(&head.id)?.calibrated);
        let run = PairedRun {
            estimate: &comparison.estimate,
            if_kept: comparison.if_kept.as_ref(),
            // Metered samples belong to no block.
            dropped_blocks: if is_wall { dropped as usize } else { 0 },
            blocks: if is_wall { case.blocks as usize } else { 0 },
            ended: ended(case.end.as_ref()),
            calibrated: calibrated.filter(|_| is_wall),
        };
        judge_paired(&run, policy, direction(definition.direction))
    }

    /// The judgement of what was measured anew for a row; `None` where nothing was.
    fn fresh(&self, row: &Row) -> Option<Judgement> {
        let confirmation = self.record.confirmation.as_ref()?;
        let id: BenchmarkId = row.benchmark.parse().ok()?;
        let metric = row.metric.as_deref()?;
        let head = confirmation.benchmarks.iter().find(|b| b.id == id)?;
        if metric == SPEED_UP {
            let comparison = confirmation.comparisons.iter().find(|c| {
                c.candidate == id && c.reference != id && c.metric.as_str() == standard::WALL_TIME
            })?;
            let entry = self.terms.baseline?.entry(&id)?;
            return self.judge_speed_up(entry, head, entry.metrics.get(metric)?, comparison);
        }
        let definition = self.definitions(&id).into_iter().find(|d| d.id.as_str() == metric)?;
        match row.against {
            Against::Base => {
                let is_ours = |c: &&ComparisonRecord| {
                    c.candidate == id && c.reference == id && c.metric == definition.id
                };
                let Some(comparison) = confirmation.comparisons.iter().find(is_ours) else {
                    return Some(Judgement::unusable(format!("the fresh launches {}", how_it_ended(head))));
                };
                let case = confirmation.cases.iter().find(|case| is_case_of(case, &id))?;
                self.judge_comparison(comparison, case, head, definition)
            }
            Against::Baseline => {
                let entry = self.terms.baseline?.entry(&id)?;
                let figures = entry.metrics.get(metric)?;
                let record = RunRecord {
                    cases: confirmation.cases.clone(),
                    confirmation: None,
                    ..self.record.clone()
                };
                let judging = Judging { record: &record, terms: self.terms, pooled: self.pooled };
                judging.metric_against(head, figures, definition)
            }
            Against::Expectation => None,
        }
    }
}

fn skipped(why: String) -> Judgement {
    Presence::Skipped { why }.judgement().unwrap_or_else(|| Judgement::unusable("skipped"))
}

/// The nearest figure that the baseline had in any launch: what varied by itself proves nothing.
fn clamp(value: f64, figures: &Figures) -> Option<f64> {
    let [low, high] = figures.extremes()?;
    Some(value.clamp(low, high))
}

/// A level from too few launches has no interval of its own, and is worth as little as a baseline of too few runs.
fn few_launches(judgement: Judgement, launches: usize) -> Judgement {
    let needed = perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;
    match judgement.evidence {
        Evidence::TimeUnpaired(_) if launches < needed => Judgement {
            verdict: Verdict::Inconclusive,
            reason: Reason::TooFewLaunches { launches, needed },
            ..judgement
        },
        _ => judgement,
    }
}

fn is_case_of(case: &CaseRecord, id: &BenchmarkId) -> bool {
    case.workload == id.workload
        && case.case == id.case
        && case.variant.as_ref().is_none_or(|variant| *variant == id.variant)
}

fn ended(end: Option<&CaseEnd>) -> Ended {
    match end {
        Some(CaseEnd::Precise { launches } | CaseEnd::LastLook { launches }) => {
            Ended::Look { launches: *launches }
        }
        Some(CaseEnd::Budget { launches }) => Ended::Budget { launches: *launches },
        Some(CaseEnd::NothingLeft) | None => Ended::Budget { launches: 0 },
    }
}

/// Replaces flagged rows that were measured anew by what follows from that. All of them are judged together.
fn confirm_flags(rows: &mut [Row], judging: &Judging<'_>) {
    let flagged: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].judgement.needs_confirmation()).collect();
    let rechecks: Vec<(usize, Recheck)> = flagged
        .into_iter()
        .filter_map(|at| {
            let fresh = judging.fresh(&rows[at])?;
            Some((at, Recheck { first: rows[at].judgement.clone(), fresh }))
        })
        .collect();
    let (places, rechecks): (Vec<usize>, Vec<Recheck>) = rechecks.into_iter().unzip();
    for (at, judgement) in places.into_iter().zip(confirm(rechecks, FALSE_DISCOVERY_RATE)) {
        let metric = rows[at].metric.clone();
        let id: Option<BenchmarkId> = rows[at].benchmark.parse().ok();
        let speed_up = wording::speed_up();
        let definition = id.and_then(|id| {
            let mut known = judging.definitions(&id);
            known.push(&speed_up);
            known.into_iter().find(|d| Some(d.id.as_str()) == metric.as_deref()).cloned()
        });
        rows[at].sentence = wording::sentence_of(&judgement, definition.as_ref());
        rows[at].judgement = judgement;
    }
}

/// Takes out of the decision what somebody accepted.
fn acknowledge(rows: &mut [Row], terms: &Terms<'_>, remarks: &mut Vec<String>) {
    for acknowledged in &terms.policy.acknowledged {
        let mut is_used = false;
        let mut expired = None;
        for row in rows.iter_mut().filter(|row| row.judgement.verdict == Verdict::Regressed) {
            let Ok(id) = row.benchmark.parse::<BenchmarkId>() else { continue };
            if !row.metric.as_ref().is_some_and(|metric| acknowledged.is_about(&id, metric)) {
                continue;
            }
            let entry = terms.baseline.and_then(|baseline| Some((baseline, baseline.entry(&id)?)));
            let accepted = entry.and_then(|(baseline, entry)| baseline.acceptance(entry));
            if let Some(accepted) = accepted.filter(|accepted| acknowledged.is_expired(&accepted.when)) {
                expired = Some(accepted.when.clone());
                continue;
            }
            let direction = direction(row.direction.unwrap_or_default());
            let (figure, ratio) = match &row.judgement.evidence {
                Evidence::Exact { candidate, baseline, .. } | Evidence::Size { candidate, baseline, .. } => {
                    (Some(*candidate), Some(candidate / baseline))
                }
                evidence => (None, evidence.effect().map(f64::exp)),
            };
            is_used = true;
            if acknowledged.covers(figure, ratio, direction) {
                let reason = acknowledged.reason.clone();
                let judgement = row.judgement.clone().advise(Advisory::Acknowledged { reason });
                row.sentence.push_str(&format!("; acknowledged: {}", acknowledged.reason));
                row.judgement = judgement;
            } else {
                row.sentence.push_str("; beyond what was acknowledged");
            }
        }
        let name = format!("the acknowledgement of `{}` ({})", acknowledged.metric, acknowledged.reason);
        match expired {
            Some(when) => remarks.push(format!("{name} has expired: figures were accepted {when}")),
            None if !is_used => remarks.push(format!("{name} is not needed any more")),
            None => {}
        }
    }
}
