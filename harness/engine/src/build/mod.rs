//! Makes the record of a run from its plan and state: a pure function.

mod counting;
mod kernels;
mod layouts;
mod samples;
mod timeline;

pub(crate) use samples::sample_rows;

use std::collections::BTreeMap;

use layouts::layout_records;
use perfharness_contract::protocol::Reading;
use perfharness_contract::{
    CaseDef, ClaimDef, MetricDef, MetricKind, Name, Number, OutcomeKind, Scope, WorkloadDef, gpu_metric,
    standard,
};
use perfharness_record::ceilings::Ceilings;
use perfharness_record::compare::judge_claims;
use perfharness_record::{
    BaseRecord, BenchmarkRecord, CaseEnd, CaseRecord, CheckRecord, ComparisonRecord, Counting, Environment,
    FORMAT_VERSION, FreshRecord, LaunchRecord, Machine, MetricRecord, Origin, Outcome, Redefinition, RunInfo,
    RunRecord, SampleRecord, SamplesRef, Section, SelectedRecord, Side, SourceState, Stage, TimeUse,
    VersionsRecord, WarmUpRecord, WorkerRecord,
};
use perfharness_verdict::judge::Suspicion;
use perfharness_verdict::{Detection, Interval, Paired, estimate, launch_values, level, median};
use timeline::timeline;

use crate::isa::Codes;
use crate::measure::{
    CaseState, CheckStage, Counted, LaunchTiming, RunState, SampleEvent, SideState, suspicions,
};
use crate::plan::{CasePlan, Catalog, Plan, WorkerState};

/// Facts of a record besides the measurements.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    /// The run; its time use is filled in from the state.
    pub(crate) run: RunInfo,
    pub(crate) source: SourceState,
    pub(crate) machine: Machine,
    /// Ceilings of the machine.
    pub(crate) ceilings: Option<Ceilings>,
    /// The tool that counted the instructions; its time is filled in from the state.
    pub(crate) counting: Counting,
    /// Codes of the kernels.
    pub(crate) codes: Codes,
    /// Base of the comparison.
    pub(crate) base: Option<BaseFacts>,
    /// The raw samples, once written.
    pub(crate) samples: Option<SamplesRef>,
}

/// Facts of a base besides its measurements.
#[derive(Clone, Debug)]
pub struct BaseFacts {
    /// The source code.
    pub source: SourceState,
    /// Workloads of its workers, which the plan numbers after those of the head.
    pub catalog: Catalog,
    /// Whether its workers are those of the code that is measured.
    pub identical: bool,
    /// Selected benchmarks that it has.
    pub selected: Vec<SelectedRecord>,
    /// Sources and builds of both, where they were built.
    pub versions: Option<VersionsRecord>,
    /// Differences in the definitions of the code that is measured.
    pub redefined: Vec<Redefinition>,
}

/// Measurements for one purpose.
#[derive(Default)]
struct StageResults {
    cases: Vec<CaseRecord>,
    head: Vec<BenchmarkRecord>,
    base: Vec<BenchmarkRecord>,
    /// Variants against their references.
    variants: Vec<ComparisonRecord>,
    /// Head against base.
    versions: Vec<ComparisonRecord>,
}

impl StageResults {
    fn section(&self) -> Section<'_> {
        Section { cases: &self.cases, benchmarks: &self.head, comparisons: &self.variants }
    }

    /// A section of its own, where anything was measured for it.
    fn fresh(self) -> Option<FreshRecord> {
        let Self { cases, head, variants, versions, .. } = self;
        let comparisons = [versions, variants].concat();
        (!cases.is_empty()).then_some(FreshRecord { cases, benchmarks: head, comparisons })
    }
}

/// Makes the record.
pub(crate) fn build(plan: &Plan, catalog: &Catalog, state: &RunState, facts: RunFacts) -> RunRecord {
    let threads = harness_facts();
    let mut own_metrics = standard::harness_metrics();
    own_metrics.extend(facts.codes.compilers.keys().flat_map(|family| gpu_metric::code_metrics(family)));
    let mut environments: Vec<Environment> = Vec::new();
    let (mut first, mut confirmation, mut planted) =
        (StageResults::default(), StageResults::default(), StageResults::default());
    let base_workers = facts.base.as_ref().map(|base| base.catalog.workers.as_slice()).unwrap_or_default();
    let workers: Vec<&WorkerState> = catalog.workers.iter().chain(base_workers).collect();
    for (case_plan, case) in plan.cases.iter().zip(&state.cases) {
        let Some(definition) = catalog.definition(case_plan.workload.as_str()) else { continue };
        let of_sides: Vec<Option<usize>> = case_plan
            .sides
            .iter()
            .zip(&case.sides)
            .map(|(side, state)| {
                let hello = state.hello.as_ref()?;
                let digest = workers.get(side.worker).and_then(|w| w.digest.as_ref());
                let environment = Environment::new(side.worker, digest, hello, &threads);
                let known = environments.iter().position(|e| e.is_like(&environment));
                Some(known.unwrap_or_else(|| {
                    environments.push(environment);
                    environments.len() - 1
                }))
            })
            .collect();
        let measured = match case_plan.design.stage {
            Stage::First => &mut first,
            Stage::Confirmation => &mut confirmation,
            Stage::Planted => &mut planted,
            Stage::Layouts => continue,
        };
        for (number, side) in case_plan.sides.iter().enumerate() {
            let mut record = benchmark(plan, definition, case_plan, side, case, number, of_sides[number]);
            if case_plan.design.stage.is_first() && record.outcome.kind == OutcomeKind::Ok {
                let known = case.sides[number].counted.as_ref().map(|(counted, _)| counted);
                let (counted, functions) = counting::of_side(known, &facts.counting, &own_metrics);
                record.metrics.extend(counted);
                record.functions = functions;
                record.reach = known.and_then(Counted::reach).cloned();
                record.kernels = kernels::of_side(case.sides[number].kernels.as_ref(), &facts.codes);
                record.metrics.extend(
                    record.kernels.iter().flat_map(|of| kernels::metrics(of, &facts.codes.compilers)),
                );
            }
            record.suspect.extend(below_floor(&record, definition, &facts));
            match side.origin {
                Origin::Head => measured.head.push(record),
                Origin::Base => measured.base.push(record),
            }
        }
        for (reference, comparison) in case_comparisons(plan, definition, case_plan, case) {
            match case_plan.sides[reference].origin {
                Origin::Head => measured.variants.push(comparison),
                Origin::Base => measured.versions.push(comparison),
            }
        }
        measured.cases.push(case_record(case_plan, case, &of_sides));
    }
    let workloads: Vec<WorkloadDef> = catalog
        .entries
        .iter()
        .map(|entry| &entry.definition)
        .filter(|d| plan.cases.iter().any(|c| c.workload == d.id))
        .cloned()
        .collect();
    let claims = judge_claims(&facts.machine, &workloads, first.section());
    let layouts = layout_records(plan, catalog, state, &workers);
    let base = facts.base.map(|base| BaseRecord {
        source: base.source,
        workers: worker_records(&base.catalog),
        identical: base.identical,
        versions: base.versions,
        redefined: base.redefined,
        selected: base.selected,
        benchmarks: first.base,
        layouts,
        comparisons: first.versions,
    });
    RunRecord {
        format: FORMAT_VERSION,
        run: RunInfo { time: time_use(state), ..facts.run },
        source: facts.source,
        machine: facts.machine,
        environments,
        workers: worker_records(catalog),
        workloads,
        metrics: own_metrics,
        cases: first.cases,
        benchmarks: first.head,
        comparisons: first.variants,
        claims,
        base,
        ceilings: facts.ceilings,
        counting: Some(counting::with_time(facts.counting, state)),
        compilers: facts.codes.compilers,
        confirmation: confirmation.fresh(),
        planted: planted.fresh(),
        telemetry: timeline(plan, state),
        samples: facts.samples,
    }
}

/// Tells of a time that is shorter than the least work of the case takes.
fn below_floor(record: &BenchmarkRecord, definition: &WorkloadDef, facts: &RunFacts) -> Option<Suspicion> {
    let floor = definition.case(&record.id.case)?.floor.as_ref()?;
    let ns = record.metrics.get(standard::WALL_TIME)?.value.value()?;
    let busy = record.metrics.get(gpu_metric::GPU_BUSY).and_then(|metric| metric.value.value());
    let needs_one = definition.variant(&record.id.variant)?.needs.iter().any(|need| need == "gpu");
    let on_gpu = needs_one || busy.is_some();
    let machine = &facts.machine;
    let is_processor = !on_gpu || machine.has_software_adapter();
    let cores = machine.facts.get("logical-cores").and_then(|cores| cores.parse().ok());
    let cores = cores.filter(|_| is_processor).unwrap_or(1);
    let least = facts.ceilings.as_ref()?.impossible_below(floor, on_gpu, cores)?;
    (ns < least.ns).then(|| Suspicion::BelowFloor {
        ns: Number(ns),
        least_ns: Number(least.ns),
        ceiling: least.term.to_owned(),
    })
}

fn worker_records(catalog: &Catalog) -> Vec<WorkerRecord> {
    let record = |w: &WorkerState| WorkerRecord::new(&w.command, w.digest.clone(), w.outcome.clone());
    catalog.workers.iter().map(record).collect()
}

fn time_use(state: &RunState) -> TimeUse {
    let launches_s = state.spent_ns() as f64 / 1e9;
    let samples: u64 = state.cases.iter().flat_map(|c| &c.samples).map(|row| row.sample.wall_ns).sum();
    let samples_s = samples as f64 / 1e9;
    let outside_share = (launches_s > 0.0).then(|| 1.0 - samples_s / launches_s);
    let timings = || state.cases.iter().flat_map(|c| &c.launches).filter_map(|row| row.timing);
    let seconds = |part: fn(LaunchTiming) -> u64| timings().map(part).sum::<u64>() as f64 / 1e9;
    TimeUse {
        launches_s,
        placements_s: seconds(|timing| timing.placements_ns),
        blocks_s: seconds(|timing| timing.blocks_ns),
        samples_s,
        processes_s: Some(seconds(|timing| timing.processes_ns)),
        prepare_s: Some(seconds(|timing| timing.prepare_ns)),
        checks_s: Some(seconds(|timing| timing.checks_ns)),
        warm_up_s: Some(seconds(|timing| timing.warm_up_ns)),
        metered_s: Some(seconds(|timing| timing.metered_ns)),
        outside_share,
    }
}

fn case_record(case_plan: &CasePlan, case: &CaseState, environments: &[Option<usize>]) -> CaseRecord {
    let mut used: Vec<usize> = environments.iter().copied().flatten().collect();
    used.sort_unstable();
    used.dedup();
    let is_against_base = case_plan.sides.iter().any(|side| side.origin == Origin::Base);
    let opened = |side: &Side| {
        if is_against_base { side.origin.as_str().to_owned() } else { side.benchmark.variant.to_string() }
    };
    let has_several = case.launches.iter().flat_map(|row| row.layouts.values()).any(|layout| *layout > 0);
    let layouts = |row: &crate::measure::LaunchRow| -> BTreeMap<String, u32> {
        let of = |(side, layout): (&usize, &u32)| Some((opened(case_plan.sides.get(*side)?), *layout));
        if has_several { row.layouts.iter().filter_map(of).collect() } else { BTreeMap::new() }
    };
    let launch = |row: &crate::measure::LaunchRow| LaunchRecord {
        launch: row.launch,
        unix_ms: row.unix_ms,
        load_average: row.load_average,
        anchor_ns: row.anchor_ns,
        environments: used.clone(),
        layouts: layouts(row),
        opened: row.opened.iter().filter_map(|(_, side)| Some(opened(case_plan.sides.get(*side)?))).collect(),
        seconds: row.timing.map(|t| t.total_ns as f64 / 1e9),
        stolen_share: row.timing.and_then(|timing| timing.stolen_share()).map(Number),
        dropped: row.dropped,
    };
    CaseRecord {
        workload: case_plan.workload.clone(),
        case: case_plan.case.clone(),
        variant: is_against_base.then(|| case_plan.sides[0].benchmark.variant.clone()),
        pairing: case.pairing,
        end: case.end.clone(),
        seconds: case.spent_ns() as f64 / 1e9,
        blocks: case.blocks,
        dropped_blocks: case.dropped.clone(),
        launches: case.launches.iter().map(launch).collect(),
    }
}

fn benchmark(
    plan: &Plan,
    definition: &WorkloadDef,
    case_plan: &CasePlan,
    side: &Side,
    case: &CaseState,
    number: usize,
    environment: Option<usize>,
) -> BenchmarkRecord {
    let state = &case.sides[number];
    let measured = case.counted().any(|s| s.side == number);
    let outcome = state.outcome.clone().unwrap_or_else(|| {
        // The run was cut off in this case. What there is, is good where it was checked after timing: a result that
        // is remembered or drifts is only found there.
        let checked = state.checks.iter().any(|row| row.stage == CheckStage::After);
        if measured && checked {
            Outcome::ok()
        } else if measured {
            Outcome::new(OutcomeKind::NotRun, "the run ended before its result was checked after timing")
        } else {
            let reason = side.skip.clone().map(|reason| Outcome::new(OutcomeKind::Skipped, reason));
            reason.unwrap_or_else(|| Outcome::new(OutcomeKind::NotRun, "the run ended before its turn"))
        }
    });
    let planted = case_plan.design.planted.filter(|_| side.origin == Origin::Head);
    let variant = definition.variant(&side.benchmark.variant);
    let case_def = definition.case(&case_plan.case);
    let metrics = match outcome.kind {
        OutcomeKind::Ok => metrics(confidence(plan, case_plan, case), definition, case_def, case, number),
        _ => BTreeMap::new(),
    };
    BenchmarkRecord {
        id: side.benchmark.clone(),
        definition: case_plan.version,
        role: variant.map(|v| v.role).unwrap_or_default(),
        outcome,
        expected: side.expect,
        environment,
        sample: state.length.map(|length| SampleRecord {
            iterations: length.iterations,
            lead_in: length.lead_in,
            planted: planted.map(|share| length.planted(share)),
        }),
        warm_up: warm_up(state),
        check: check(state),
        notes: state.notes.clone(),
        suspect: suspicions(&state.audits),
        functions: Vec::new(),
        reach: None,
        kernels: None,
        metrics,
    }
}

/// The confidence that the look at which the case ended may spend; the same that it was stopped by, whatever launches a
/// single comparison lost since.
fn confidence(plan: &Plan, case_plan: &CasePlan, case: &CaseState) -> f64 {
    let launches = case.end.as_ref().and_then(CaseEnd::launches);
    plan.design_of(case_plan).confidence_at(launches.unwrap_or_else(|| case.launches_with_blocks()))
}

fn warm_up(state: &SideState) -> Option<WarmUpRecord> {
    let count = state.warm_ups.len();
    let steady = state.warm_ups.iter().filter(|(_, _, warm_up)| warm_up.steady).count();
    (count > 0).then_some(WarmUpRecord { count, steady })
}

fn check(state: &SideState) -> Option<CheckRecord> {
    let first = &state.checks.first()?.reply.check;
    let count = |stage| state.checks.iter().filter(|row| row.stage == stage).count();
    let worst = |figure: fn(&perfharness_contract::Check) -> Option<Number>| {
        let all = state.checks.iter().filter_map(|row| figure(&row.reply.check));
        all.reduce(|a, b| if b.0 > a.0 { b } else { a })
    };
    let mut inputs: Vec<&str> =
        state.checks.iter().filter_map(|row| Some(row.reply.check.input.as_ref()?.0.as_str())).collect();
    let mut rounds: Vec<(u64, u64)> = state.checks.iter().map(|row| (row.round, row.index)).collect();
    inputs.sort_unstable();
    inputs.dedup();
    rounds.sort_unstable();
    rounds.dedup();
    let mut notes = Vec::new();
    if inputs.is_empty() {
        notes.push(
            "the worker gives no digest of its input, so that sides could be given different ones".into(),
        );
    } else if inputs.len() < rounds.len() {
        notes.push(
            "the input was the same in different rounds, so that remembered results cannot be noticed".into(),
        );
    }
    Some(CheckRecord {
        before: count(CheckStage::Before),
        after: count(CheckStage::After),
        error: worst(|c| c.error),
        tolerance: first.tolerance,
        nan_count: first.nan_count,
        input: first.input.clone(),
        output: first.output.clone(),
        notes,
    })
}

/// The reason for a metric of the harness that nothing here measures.
const UNKNOWN_METRIC: &str = "this perfharness does not measure it";

fn metrics(
    confidence: f64,
    definition: &WorkloadDef,
    case_def: Option<&CaseDef>,
    case: &CaseState,
    side: usize,
) -> BTreeMap<String, MetricRecord> {
    let mut metrics = BTreeMap::new();
    for metric in standard::harness_metrics() {
        let record = match metric.id.as_str() {
            standard::WALL_TIME => timed(confidence, case, side, &metric, |s| Some(s.iteration_ns())),
            standard::CPU_TIME => timed(confidence, case, side, &metric, SampleEvent::iteration_cpu_ns),
            standard::PEAK_RSS => peak_rss(&case.sides[side], &metric),
            standard::INSTRUCTIONS => absent(&metric, "fresh launches are not counted"),
            _ => absent(&metric, UNKNOWN_METRIC),
        };
        metrics.insert(metric.id.to_string(), record);
    }
    for metric in &definition.metrics {
        metrics.insert(metric.id.to_string(), metered(&case.sides[side], metric));
    }
    if let (Some(items), Some(wall)) =
        (case_def.and_then(|c| c.items.as_ref()), metrics.get(standard::WALL_TIME))
        && let Some(ns) = wall.value.value()
    {
        let rate = |ns: f64| items.count as f64 * 1e9 / ns;
        let interval = wall.interval.map(|i| Interval { lower: rate(i.upper), upper: rate(i.lower) });
        let record = MetricRecord {
            unit: format!("{}/s", items.unit),
            kind: MetricKind::Derived,
            value: Reading::Value(Number(rate(ns))),
            interval,
            launches: wall.launches.iter().map(|n| Number(rate(n.0))).collect(),
            ..wall.clone()
        };
        metrics.insert(standard::RATE.into(), record);
    }
    metrics
}

fn absent(metric: &MetricDef, why: &str) -> MetricRecord {
    MetricRecord {
        unit: metric.unit.clone(),
        kind: metric.kind,
        value: Reading::Absent { absent: why.into() },
        interval: None,
        sd: None,
        launches: Vec::new(),
        samples: 0,
        demoted: false,
    }
}

fn timed(
    confidence: f64,
    case: &CaseState,
    side: usize,
    metric: &MetricDef,
    figure: impl Fn(&SampleEvent) -> Option<f64>,
) -> MetricRecord {
    let levels = case.levels(side, figure);
    let Ok(found) = level(&levels, confidence) else {
        return absent(metric, "the worker does not report it");
    };
    // A launch is the median of its placements, as in the level itself.
    let launch = |placements: &Vec<Vec<f64>>| {
        let logs: Vec<f64> = placements.iter().filter_map(|samples| median(samples)).map(f64::ln).collect();
        Number(median(&logs).map_or(f64::NAN, f64::exp))
    };
    MetricRecord {
        value: Reading::Value(Number(found.center)),
        interval: found.interval,
        sd: found.sd,
        launches: levels.iter().map(launch).collect(),
        samples: found.samples,
        ..absent(metric, "")
    }
}

fn peak_rss(side: &SideState, metric: &MetricDef) -> MetricRecord {
    let peaks: Vec<f64> = side.usage.iter().filter_map(|row| Some(row.peak_rss_bytes? as f64)).collect();
    match median(&peaks) {
        Some(value) => values(metric, metric.kind, value, &peaks, false),
        None => absent(metric, "this system does not tell the peak of another process"),
    }
}

fn values(metric: &MetricDef, kind: MetricKind, value: f64, all: &[f64], demoted: bool) -> MetricRecord {
    MetricRecord {
        value: Reading::Value(Number(value)),
        kind,
        launches: all.iter().map(|v| Number(*v)).collect(),
        samples: all.len(),
        demoted,
        ..absent(metric, "")
    }
}

/// A metered metric: one value for each launch; an exact one that differs between launches is demoted.
fn metered(side: &SideState, metric: &MetricDef) -> MetricRecord {
    let mut reason = "no metered sample was taken: the worker has no meters, or the run ended before";
    let mut told = None;
    let mut all = Vec::new();
    for row in &side.metered {
        match row.readings.get(metric.id.as_str()) {
            Some(Reading::Value(Number(value))) => {
                let per = match metric.scope {
                    Scope::Iteration => row.iterations.max(1) as f64,
                    Scope::Sample | Scope::Launch => 1.0,
                };
                all.push(value / per);
            }
            Some(Reading::Absent { absent }) => told = Some(absent.as_str()),
            None => reason = "the worker did not report it",
        }
    }
    let Some(first) = all.first().copied() else {
        return absent(metric, told.unwrap_or(reason));
    };
    let varies = all.iter().any(|value| *value != first);
    if metric.kind == MetricKind::Exact && !varies {
        return values(metric, MetricKind::Exact, first, &all, false);
    }
    let demoted = metric.kind == MetricKind::Exact;
    let kind = if demoted { MetricKind::Size } else { metric.kind };
    values(metric, kind, median(&all).unwrap_or(first), &all, demoted)
}

/// Compares the sides of a case, each with the number of its reference, and the sides that claims name. Wall time comes from timed samples, and so does CPU
/// time, which helps to explain what a change did to the wall time; times that meters report give one log-ratio for each
/// launch.
fn case_comparisons(
    plan: &Plan,
    definition: &WorkloadDef,
    case_plan: &CasePlan,
    case: &CaseState,
) -> Vec<(usize, ComparisonRecord)> {
    // A side that failed has no time, whatever was measured of it before.
    let measured =
        |side: usize| case.sides[side].outcome.as_ref().is_none_or(|outcome| outcome.kind == OutcomeKind::Ok);
    let confidence = confidence(plan, case_plan, case);
    let comparison = |metric: &Name, (candidate, reference): (usize, usize), paired: &Paired| {
        let launches = launch_values(paired).ok()?;
        let found = estimate(paired, confidence).ok()?;
        let detection = Detection::new(0.0, (1.0 - confidence) / 2.0);
        let is_wall = metric.as_str() == standard::WALL_TIME;
        let if_kept = is_wall.then(|| case.paired_if_kept(candidate, reference)).flatten();
        let record = ComparisonRecord {
            candidate: case_plan.sides[candidate].benchmark.clone(),
            reference: case_plan.sides[reference].benchmark.clone(),
            metric: metric.clone(),
            smallest_detectable: found.sd.and_then(|sd| detection.mde(sd, launches.len())),
            if_kept: if_kept.and_then(|paired| estimate(&paired, confidence).ok()),
            estimate: found,
            launches,
        };
        Some((reference, record))
    };
    let timed: Vec<Name> = standard::harness_metrics().into_iter().map(|metric| metric.id).collect();
    let is_metered_time = |m: &&MetricDef| m.kind == MetricKind::Time && m.scope == Scope::Iteration;
    let metered: Vec<&Name> = definition.metrics.iter().filter(is_metered_time).map(|m| &m.id).collect();
    let mut pairs: Vec<(usize, usize)> = case_plan.comparisons().collect();
    for pair in claimed_pairs(definition, case_plan) {
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    // The comparison that a side declares stays the first one of its candidate.
    pairs.sort_by_key(|(candidate, _)| *candidate);
    let mut comparisons = Vec::new();
    for &(candidate, reference) in pairs.iter().filter(|(c, r)| measured(*c) && measured(*r)) {
        let pair = (candidate, reference);
        let of_versions = case_plan.sides[reference].origin == Origin::Base;
        for metric in &timed {
            let paired = match metric.as_str() {
                standard::WALL_TIME => case.paired(candidate, reference),
                standard::CPU_TIME if of_versions => case.paired_cpu(candidate, reference),
                _ => continue,
            };
            comparisons.extend(comparison(metric, pair, &paired));
        }
        for metric in &metered {
            let paired = case.paired_metered(candidate, reference, metric.as_str());
            comparisons.extend(comparison(metric, pair, &paired));
        }
    }
    comparisons
}
/// Candidate and reference of each claim, where both were measured in the same rounds.
fn claimed_pairs(definition: &WorkloadDef, case_plan: &CasePlan) -> impl Iterator<Item = (usize, usize)> {
    let side = |variant: &Name| {
        let is_it = |side: &Side| side.origin == Origin::Head && side.benchmark.variant == *variant;
        case_plan.sides.iter().position(is_it)
    };
    let pair = move |claim: &ClaimDef| Some((side(&claim.candidate)?, side(&claim.reference)?));
    definition.claims.iter().filter_map(pair).filter(|(candidate, reference)| candidate != reference)
}

/// Variables that decide how many threads numerical libraries use. A peer timed with its default threads on a busy
/// machine can look ten times slower than it is.
const THREAD_VARIABLES: [&str; 6] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LP_NUM_THREADS",
];

/// The thread settings that workers inherit.
fn harness_facts() -> BTreeMap<String, String> {
    let set = |name: &&str| Some(((*name).to_owned(), perfharness_platform::env::var(name)?));
    THREAD_VARIABLES.iter().filter_map(set).collect()
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Promise;
    use perfharness_record::Contamination;

    use super::*;
    use crate::measure::Event;

    #[test]
    fn every_metric_of_the_harness_is_measured_by_its_own_name() {
        let definition = serde_json::json!({
            "id": "w", "version": 1, "title": "W", "summary": "does it", "cases": [], "variants": [],
        });
        let definition: WorkloadDef = serde_json::from_value(definition).unwrap();
        let case = RunState::new([1]).cases.remove(0);
        let found = metrics(0.99, &definition, None, &case, 0);
        let known: Vec<String> = standard::harness_metrics().iter().map(|m| m.id.to_string()).collect();
        assert_eq!(found.len(), known.len());
        for metric in &known {
            let reason = found[metric].value.absence();
            assert!(reason.is_some_and(|reason| reason != UNKNOWN_METRIC), "{metric}: {reason:?}");
        }
    }

    fn side(variant: &str, origin: Origin) -> Side {
        Side {
            benchmark: format!("w/c/{variant}").parse().unwrap(),
            origin,
            worker: 0,
            reference: None,
            skip: None,
            expect: OutcomeKind::Ok,
            memory_bytes: None,
            layout: None,
        }
    }

    fn case_of(sides: Vec<Side>) -> CasePlan {
        CasePlan {
            workload: "w".parse().unwrap(),
            version: 1,
            case: "c".parse().unwrap(),
            sides,
            design: crate::plan::CaseDesign::default(),
        }
    }

    #[test]
    fn claims_add_the_comparisons_of_the_sides_that_they_name() {
        let claim = |candidate: &str, reference: &str| {
            ClaimDef::new(
                "c",
                "000, 1",
                "faster",
                standard::WALL_TIME,
                Promise::NotMeasurable { reason: String::new() },
            )
            .between(reference, candidate)
        };
        let definition = WorkloadDef {
            claims: vec![claim("fast", "lazy"), claim("fast", "absent"), claim("fast", "fast")],
            ..serde_json::from_value(serde_json::json!({
                "id": "w", "version": 1, "title": "W", "summary": "does it", "cases": [], "variants": [],
            }))
            .unwrap()
        };
        let pairs = |sides| claimed_pairs(&definition, &case_of(sides)).collect::<Vec<_>>();
        let head = |variant| side(variant, Origin::Head);
        assert_eq!(pairs(vec![head("slow"), head("lazy"), head("fast")]), [(2, 1)]);
        // A gate compares versions and not variants.
        assert_eq!(pairs(vec![head("fast"), side("lazy", Origin::Base)]), []);
    }

    #[test]
    fn a_launch_names_its_sides_in_the_order_of_opening_and_says_why_it_does_not_count() {
        let record = |sides: Vec<Side>| {
            let case_plan = case_of(sides);
            let mut state = RunState::new([2]);
            let (case, launch) = (0, 4);
            state.apply(&Event::LaunchStarted {
                case,
                launch,
                placements: 1,
                blocks: 3,
                load_average: None,
                anchor_ns: None,
                unix_ms: 5,
            });
            let hello: perfharness_contract::protocol::HelloReply =
                serde_json::from_str(r#"{"protocol":1}"#).unwrap();
            for side in [1, 0] {
                state.apply(&Event::WorkerOpened {
                    case,
                    side,
                    launch,
                    part: 0,
                    layout: 0,
                    hello: hello.clone(),
                    pid: None,
                });
            }
            let timing = LaunchTiming { blocks_ns: 200, stolen_ns: Some(50), ..LaunchTiming::default() };
            let dropped = Some(Contamination::Steal);
            state.apply(&Event::LaunchFinished { case, launch, timing, dropped });
            case_record(&case_plan, &state.cases[0], &[None, None]).launches.remove(0)
        };
        let versions = record(vec![side("fast", Origin::Base), side("fast", Origin::Head)]);
        assert_eq!(versions.opened, ["head", "base"]);
        assert_eq!(
            (versions.stolen_share, versions.dropped),
            (Some(Number(0.25)), Some(Contamination::Steal))
        );
        let variants = record(vec![side("slow", Origin::Head), side("fast", Origin::Head)]);
        assert_eq!(variants.opened, ["fast", "slow"]);
    }
}
