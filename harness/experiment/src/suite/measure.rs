//! One gate, measured and judged as `perfharness gate --base` does it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use perfharness_contract::{BenchmarkId, Effort, MetricKind, WorkloadDef, standard};
use perfharness_engine::fingerprint;
use perfharness_engine::measure::{Event, RunState};
use perfharness_engine::plan::{CasePlan, Plan};
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::Listener;
use perfharness_known_work::VARIABLE;
use perfharness_platform::clock;
use perfharness_record::compare::{GatePolicy, GateReport, GateRow};
use perfharness_record::{BenchmarkRecord, Counting, LayoutFacts, RunRecord, Stage, WorkerCommand};
use perfharness_verdict::judge::{GateOutcome, Judgement, Limit, Verdict};

use super::line::{Conditions, Counted, Gate, Pair, Row};
use super::programs::Build;
use crate::gated::{Asked, gated};

pub(super) const WORKLOAD: &str = "known-suite";
const TIMEOUT: Duration = Duration::from_mins(1);

/// Both sides of a gate, base first.
pub(super) struct Sides {
    builds: [Build; 2],
    pub(super) workers: [WorkerCommand; 2],
    planted_in: Option<String>,
}

impl Sides {
    /// The sides of a gate: its builds, or else one `program`. Their environments have the same length, because its size
    /// moves the stack and changes the timing of data on it.
    pub(super) fn of(
        number: u64,
        conditions: &Conditions,
        planted_in: Option<String>,
        program: Option<&Path>,
    ) -> Self {
        let [base, head] = Build::pair(number, conditions.layouts);
        let builds = match conditions.pair {
            Pair::Relinked => [base, head],
            Pair::Same => [base.clone(), base],
        };
        let only = planted_in.iter().map(|case| format!("only={case},")).collect::<String>();
        let worker = |name: &str, build: &Build, factor: f64| {
            let paths = program.map_or_else(|| build.paths(), |program| vec![program.to_path_buf()]);
            let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            WorkerCommand {
                name: name.into(),
                command: vec![paths[0].clone(), "worker".into()],
                layouts: paths,
                env: BTreeMap::from([(VARIABLE.to_owned(), format!("{only}time={factor:.3}"))]),
                ..WorkerCommand::default()
            }
        };
        let workers = [worker("base", &builds[0], 1.0), worker("head", &builds[1], conditions.planted)];
        Self { builds, workers, planted_in }
    }
}

/// Measures a gate.
pub(super) fn measure(number: u64, conditions: &Conditions, sides: &Sides) -> anyhow::Result<Gate> {
    let [base, head] = sides.workers.clone();
    let patterns = match conditions.benchmarks.as_slice() {
        [] => vec![WORKLOAD.to_owned()],
        some => some.iter().map(|case| format!("{WORKLOAD}/{case}")).collect(),
    };
    let limit = Some(Limit::new(conditions.threshold)?);
    // A software adapter would be excused more.
    let policy = GatePolicy { time: limit, software_time: limit, ..GatePolicy::default() };
    let run = RunRequest {
        seed: number,
        timeout: TIMEOUT,
        time_budget: Some(Duration::from_secs_f64(conditions.budget_s)),
        ..RunRequest::new(patterns, Effort::Quick, vec![head])
    };
    let sample = conditions.sample_ms.map(|ms| Duration::from_secs_f64(ms / 1e3));
    let asked = Asked { base, run, policy, sample, instructions: conditions.instructions };
    let unix_ms = clock::unix_ms();
    let start = clock::now();
    let mut kept = Kept::default();
    let (record, report) = gated(asked, &mut kept)?;
    let whole_s = start.elapsed().as_secs_f64();
    let (outcome, others) = without_counts(&report, &record.workloads);
    Ok(Gate {
        number,
        conditions: conditions.clone(),
        planted_in: sides.planted_in.clone(),
        base: sides.builds[0].clone(),
        head: sides.builds[1].clone(),
        harness: fingerprint(),
        unix_ms,
        load: kept.load(),
        launches_s: record.run.time.launches_s,
        whole_s,
        outcome,
        others,
        rows: kept.rows(&record, &report),
        counted: counted(&record, &report),
        counting_s: match record.counting {
            Some(Counting::By { seconds, .. }) => seconds,
            _ => 0.0,
        },
        rival: None,
    })
}

/// The instructions of all benchmarks that were counted.
fn counted(record: &RunRecord, report: &GateReport) -> Vec<Counted> {
    let of = |row: &&GateRow| row.metric.as_deref() == Some(standard::INSTRUCTIONS);
    let figure = |benchmark: &BenchmarkRecord| benchmark.metrics.get(standard::INSTRUCTIONS)?.value.value();
    let line = |row: &GateRow| {
        let id: BenchmarkId = row.benchmark.parse().ok()?;
        let base = record.base.as_ref().and_then(|base| base.benchmark(&id)).and_then(figure);
        let head = record.benchmarks.iter().find(|benchmark| benchmark.id == id).and_then(figure);
        Some(Counted {
            case: id.case.to_string(),
            instructions: [base, head],
            verdict: row.judgement.verdict,
            advisory: !row.judgement.advisory.is_empty(),
            functions: row.functions.iter().map(|function| function.name.clone()).collect(),
        })
    };
    report.rows.iter().filter(of).filter_map(line).collect()
}

/// The outcome by times and instructions, without the workload's own counts, which give planted work away, and the verdicts
/// of other rows that are not unchanged.
fn without_counts(
    report: &GateReport,
    workloads: &[WorkloadDef],
) -> (GateOutcome, Vec<(String, String, Verdict)>) {
    let counted = |metric: &str| {
        let definitions = workloads.iter().flat_map(|workload| &workload.metrics);
        definitions.into_iter().any(|d| d.id.as_str() == metric && d.kind != MetricKind::Time)
    };
    let harness = standard::harness_metrics();
    let is_asked = |metric: &str| {
        !counted(metric) && harness.iter().all(|d| d.id.as_str() != metric || d.kind == MetricKind::Time)
            || metric == standard::INSTRUCTIONS
    };
    let (mut asked, mut others): (Vec<&Judgement>, _) = (Vec::new(), Vec::new());
    for row in &report.rows {
        match row.metric.as_deref() {
            Some(metric) if !is_asked(metric) => {
                if row.judgement.verdict != Verdict::Unchanged {
                    others.push((row.benchmark.clone(), metric.to_owned(), row.judgement.verdict));
                }
            }
            _ => asked.push(&row.judgement),
        }
    }
    (GateOutcome::of(asked), others)
}

/// A listener that keeps everything that was measured.
#[derive(Default)]
struct Kept {
    plan: Option<Plan>,
    state: Option<RunState>,
}

impl Listener for Kept {
    fn begin(&mut self, plan: &Plan, _: Duration) -> Result<(), String> {
        let state = self.state.get_or_insert_with(|| RunState::new([]));
        let added = plan.cases.iter().skip(state.cases.len()).map(|case| case.sides.len());
        state.cases.extend(RunState::new(added).cases);
        self.plan = Some(plan.clone());
        Ok(())
    }

    fn event(&mut self, event: &Event) {
        if let Some(state) = &mut self.state {
            state.apply(event);
        }
    }
}

impl Kept {
    /// Load averages at the first launch and at the last.
    fn load(&self) -> [Option<f64>; 2] {
        let cases = self.state.iter().flat_map(|state| &state.cases);
        let mut launches: Vec<(u64, Option<f64>)> = cases
            .flat_map(|case| &case.launches)
            .map(|launch| (launch.unix_ms, launch.load_average))
            .collect();
        launches.sort_by_key(|(when, _)| *when);
        [launches.first(), launches.last()].map(|launch| launch.and_then(|(_, load)| *load))
    }

    /// The rows of all benchmarks; the comparisons of their layouts are in what they explain.
    fn rows(&self, record: &RunRecord, report: &GateReport) -> Vec<Row> {
        let (Some(plan), Some(state)) = (&self.plan, &self.state) else { return Vec::new() };
        let is_it = |id: &BenchmarkId, case: &CasePlan| id.case == case.case;
        let judgement = |case: &CasePlan| {
            let wall = Some(standard::WALL_TIME);
            let of = |row: &&GateRow| row.benchmark.parse().is_ok_and(|id: BenchmarkId| is_it(&id, case));
            let row = report.rows.iter().filter(of).find(|row| row.metric.as_deref() == wall)?;
            Some(&row.judgement)
        };
        let layout_spread = |case: &CasePlan| {
            let layouts = record.base.iter().flat_map(|base| &base.layouts);
            let compared =
                layouts.filter(|layouts| is_it(&layouts.benchmark, case)).find_map(|layouts| match &layouts
                    .layouts
                {
                    LayoutFacts::Compared(compared) => Some(compared.explained),
                    LayoutFacts::Absent { .. } => None,
                });
            compared.unwrap_or(0.0)
        };
        let measured =
            plan.cases.iter().zip(&state.cases).filter(|(case, _)| case.design.stage != Stage::Layouts);
        let row = |(case, state): (&CasePlan, _)| {
            let judgement = judgement(case).filter(|_| case.design.stage == Stage::First);
            let noted = judgement.filter(|judgement| judgement.verdict != Verdict::Unchanged);
            Row {
                verdict: judgement.map(|judgement| judgement.verdict),
                reason: noted.map(|judgement| judgement.reason.clone()),
                layout_spread: layout_spread(case),
                ..Row::of(case.case.as_str(), case.design.stage, state)
            }
        };
        measured.map(row).collect()
    }
}
