//! A run that goes on: its files, its plan, and what was measured so far.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use perfharness_contract::protocol::Kernels;
use perfharness_contract::{Digest, MetricDef, Role};
use perfharness_record::ceilings::Ceilings;
use perfharness_record::{
    Counting, LookPlan, Machine, Reach, RunEnd, RunInfo, RunRecord, SamplesRef, Shard, TimeUse, file, samples,
};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;

use super::place::keep_older;
use super::{ComparedWith, Listener, Note, PlannedRun, RecordPlace, RunError};
use crate::build::{BaseFacts, RunFacts, build, sample_rows};
use crate::isa::{Codes, codes};
use crate::journal::{JOURNAL_VERSION, Journal, JournalError, JournalHeader, Replay, RunLock};
use crate::measure::{Callgrind, Event, ProcessExecutor, RunState, ToCount, count_sides, run_plan};
use crate::plan::{CasePlan, Catalog, Plan};
use crate::telemetry::{MeasuredGpu, Watcher};
use crate::{ceiling, fingerprint};

/// Part of the time of a run that counting may take on top of it: a fourth.
const COUNTING_SHARE: u32 = 4;
/// Time for each benchmark that counting has in a short run, and in all.
const COUNTING_EACH: Duration = Duration::from_secs(3);
const SHORT_COUNTING: Duration = Duration::from_secs(30);
/// Most time for counting, where a run has no budget to speak of.
const LONGEST_COUNTING: Duration = Duration::from_mins(5);

/// A run that goes on.
pub struct Run {
    path: PathBuf,
    /// Held until the record is written.
    _lock: RunLock,
    journal: Journal,
    journal_fault: Option<JournalError>,
    header: JournalHeader,
    planned: PlannedRun,
    machine: Machine,
    ceilings: Option<Ceilings>,
    /// What counts instructions, or why nothing does.
    callgrind: Result<Callgrind, String>,
    executor: ProcessExecutor,
    state: RunState,
}

impl Run {
    /// Takes the place and begins the journal, or goes on with the one that is there.
    pub(super) fn begin(
        planned: PlannedRun,
        place: RecordPlace,
        listener: &mut dyn Listener,
    ) -> Result<Self, RunError> {
        place.check()?;
        if let Some(Replay { header, .. }) = &place.replayed
            && header.request != planned.request.run
        {
            return Err(RunError::OtherRequest { started: header.started.clone() });
        }
        let machine = planned.machine(listener).clone();
        let mut executor = planned.executor();
        let PlannedRun { request, catalog, base, plan, .. } = &planned;
        let RecordPlace { path, lock, replayed } = place;
        let journal_path = Journal::path_for(&path);
        let mut state = RunState::new(plan.cases.iter().map(|case| case.sides.len()));
        let of_base = base.iter().flat_map(|base| &base.catalog.workers);
        let digests: Vec<Option<String>> =
            catalog.workers.iter().chain(of_base).map(|worker| worker.digest.clone()).collect();
        let code = code(base.as_ref());
        let (lock, header, journal) = match replayed {
            None => {
                let started = Timestamp::now();
                let header = JournalHeader {
                    journal: JOURNAL_VERSION,
                    run: run_id(started),
                    started: started.to_string(),
                    request: request.run.clone(),
                    plan: plan.clone(),
                    worker_digests: digests,
                    code,
                    resumed: 0,
                };
                let lock = RunLock::take(&path)?;
                let journal = Journal::create(&journal_path, &header)?;
                (lock, header, journal)
            }
            Some(replayed) => {
                unchanged(&replayed.header, plan, &digests, &code)?;
                if let Some(damage) = replayed.damage {
                    listener.note(&Note::Damaged(damage));
                }
                // Cases that were added follow from what was measured before them, and are added again.
                let planned = |event: &&Event| event.case().is_none_or(|case| case < plan.cases.len());
                replayed.events.iter().filter(planned).for_each(|event| state.apply(event));
                let resumed = replayed.header.resumed + 1;
                let header = JournalHeader { resumed, ..replayed.header };
                let lock = lock.map_or_else(|| RunLock::take(&path), Ok)?;
                let journal = Journal::append(&journal_path, &replayed.end, &header)?;
                (lock, header, journal)
            }
        };
        // Before anything watches or is timed: it keeps the machine busy for some seconds.
        let ceilings = ceilings(plan, catalog, &machine, listener);
        if request.telemetry {
            let fact = |key: &str| machine.facts.get(key).cloned();
            let adapter = fact("gpu").map(|name| MeasuredGpu { name, bus: fact("gpu-bus") });
            match Watcher::start(watch_interval(plan.budget), adapter.as_ref()) {
                Ok(watcher) => executor.watch(watcher),
                Err(error) => listener.note(&Note::NotWatched(error)),
            }
        }
        let journal_fault = None;
        let callgrind =
            if request.instructions { Callgrind::find() } else { Err("counting was not asked for".into()) };
        Ok(Self {
            path,
            _lock: lock,
            journal,
            journal_fault,
            header,
            planned,
            machine,
            ceilings,
            callgrind,
            executor,
            state,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// Everything that was measured so far.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Measures the whole plan and writes the record.
    ///
    /// # Errors
    /// When the record cannot be written, or the listener refuses.
    pub fn measure_all(mut self, listener: &mut dyn Listener) -> Result<RunRecord, RunError> {
        let end = self.measure(listener)?;
        self.finish(end, listener)
    }

    /// Measures the whole plan, then the cases that `more` adds for what the record so far shows, and writes the record.
    /// They have the time of the plan once more.
    ///
    /// # Errors
    /// Those of [`measure_all`](Self::measure_all), and those of `more`, with which the journal stays.
    pub fn measure_all_and<E: From<RunError>>(
        mut self,
        listener: &mut dyn Listener,
        more: impl FnOnce(&Plan, &RunRecord) -> Result<Vec<CasePlan>, E>,
    ) -> Result<RunRecord, E> {
        let mut end = self.measure(listener)?;
        if end == RunEnd::Complete {
            let cases = more(&self.planned.plan, &self.record(end, None))?;
            if !cases.is_empty() {
                let sides = RunState::new(cases.iter().map(|case| case.sides.len()));
                self.state.cases.extend(sides.cases);
                self.planned.plan.budget += Duration::from_nanos(self.state.spent_ns());
                self.planned.plan.cases.extend(cases);
                end = self.measure(listener)?;
            }
        }
        Ok(self.finish(end, listener)?)
    }

    /// Measures what the plan has and was not measured yet.
    ///
    /// # Errors
    /// When the listener refuses.
    pub fn measure(&mut self, listener: &mut dyn Listener) -> Result<RunEnd, RunError> {
        self.count(listener);
        self.thin_out();
        let Self { journal, journal_fault, planned, executor, state, .. } = self;
        let PlannedRun { catalog, plan, .. } = planned;
        let spent = Duration::from_nanos(state.spent_ns());
        listener.begin(plan, spent).map_err(RunError::Listener)?;
        let metrics = |case: &CasePlan| -> Vec<MetricDef> {
            catalog.definition(case.workload.as_str()).map(|d| d.metrics.clone()).unwrap_or_default()
        };
        let ended = run_plan(plan, &metrics, executor, state, &mut |event: &Event| {
            // Measuring goes on without a journal; the user learns of it once, at the end.
            if journal_fault.is_none() {
                *journal_fault = journal.event(event).err();
            }
            listener.event(event);
        });
        listener.end();
        Ok(ended)
    }

    /// Counts the instructions of what was not counted yet: before anything is timed, because counting keeps a core busy.
    fn count(&mut self, listener: &mut dyn Listener) {
        let Self { callgrind, planned, state, journal, journal_fault, .. } = self;
        let (Ok(tool), planned) = (callgrind, &*planned) else { return };
        let sides = to_count(planned, state);
        let counted = sides.iter().filter(|side| side.refused.is_none()).count();
        if counted > 0 {
            listener.note(&Note::Counting { benchmarks: counted });
        }
        let PlannedRun { plan, request, .. } = planned;
        let short = (COUNTING_EACH * counted as u32).min(SHORT_COUNTING);
        let time = (plan.budget / COUNTING_SHARE).clamp(short, LONGEST_COUNTING);
        let workers = planned.workers();
        count_sides(plan, tool, &workers, &sides, time, &request.interrupted, &mut |event| {
            if journal_fault.is_none() {
                *journal_fault = journal.event(event).err();
            }
            state.apply(event);
        });
    }

    /// Leaves the time of benchmarks that the change does not reach to the others, where their instructions are equal, too.
    /// Something that is not code may still have changed, so they get enough launches for any verdict.
    fn thin_out(&mut self) {
        let Self { planned: PlannedRun { request, plan, .. }, state, .. } = self;
        if !matches!(request.against, ComparedWith::Base(_)) || request.run.launches.is_some() {
            return;
        }
        for (case, known) in plan.cases.iter_mut().zip(&state.cases) {
            let counted = known.sides.iter().map(|side| side.counted.as_ref().map(|(counted, _)| counted));
            let [Some(base), Some(head)] = counted.collect::<Vec<_>>()[..] else { continue };
            let is_reached = !head.reach().is_some_and(Reach::is_nothing) || !head.equals(base);
            if case.design.stage.is_first() && case.design.looks.is_none() && !is_reached {
                case.design.looks = Some(LookPlan::Fixed { launches: MIN_LAUNCHES_TO_DECIDE as u32 });
            }
        }
    }

    /// Lets every case have so many launches, which may take so much more time.
    pub fn extend(&mut self, launches: u32, time: Duration) {
        self.planned.plan.design.looks = LookPlan::Fixed { launches };
        self.planned.plan.budget = Duration::from_nanos(self.state.spent_ns()) + time;
        for case in &mut self.state.cases {
            case.end = None;
        }
    }

    /// Writes samples and record, and removes the journal of a run that is complete. The samples come first, so that a
    /// record never names samples that are not there. An older record in the place is moved into a folder of its own.
    ///
    /// # Errors
    /// When they cannot be written; the journal is then still there.
    pub fn finish(self, end: RunEnd, listener: &mut dyn Listener) -> Result<RunRecord, RunError> {
        let path = &self.path;
        let samples_path = path.with_extension("samples.parquet");
        let rows = sample_rows(&self.planned.plan, &self.state);
        let content = samples::encode(&rows).map_err(RunError::Encode)?;
        let samples = SamplesRef {
            file: samples_path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            rows: rows.len() as u64,
            digest: Digest::of(&content),
        };
        let record = self.record(end, Some(samples));
        if let Some(fault) = self.journal_fault {
            listener.note(&Note::NotResumable(fault));
        }
        keep_older(path, &samples_path, &record.run.id)?;
        file::write_atomically(&samples_path, &content)
            .map_err(|source| file::RecordError::Write { path: samples_path, source })?;
        file::write(path, &record)?;
        if end == RunEnd::Complete {
            self.journal.remove();
        }
        Ok(record)
    }

    /// The record of what was measured so far.
    fn record(&self, end: RunEnd, samples: Option<SamplesRef>) -> RunRecord {
        let PlannedRun { request, catalog, base, plan, .. } = &self.planned;
        let facts = RunFacts {
            ceilings: self.ceilings.clone(),
            run: self.info(end),
            source: request.source.clone(),
            machine: self.machine.clone(),
            counting: match &self.callgrind {
                Ok(tool) => Counting::By { tool: format!("valgrind {}", tool.version), seconds: 0.0 },
                Err(absent) => Counting::Absent { absent: absent.clone() },
            },
            codes: self.codes(),
            base: base.clone(),
            samples,
        };
        build(plan, catalog, &self.state, facts)
    }

    /// Returns the codes of the kernels that were dispatched so far. They are kept from run to run, so that it costs little to
    /// ask again.
    fn codes(&self) -> Codes {
        let sides = self.state.cases.iter().flat_map(|case| &case.sides);
        let told: Vec<&Kernels> = sides.filter_map(|side| Some(&side.kernels.as_ref()?.0)).collect();
        if told.is_empty() {
            return Codes::default();
        }
        if !self.planned.request.instructions {
            return Codes::absent("counting was not asked for");
        }
        codes(told.into_iter().flat_map(|kernels| match kernels {
            Kernels::Known(kernels) => kernels.as_slice(),
            Kernels::Absent { .. } => &[],
        }))
    }

    fn info(&self, end: RunEnd) -> RunInfo {
        let Self { header, planned: PlannedRun { plan, request, .. }, .. } = self;
        RunInfo {
            id: header.run.clone(),
            started: header.started.clone(),
            finished: Timestamp::now().to_string(),
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            arguments: request.arguments.clone(),
            patterns: header.request.patterns.clone(),
            seed: plan.seed,
            effort: plan.effort,
            device: plan.device.clone(),
            settings: plan.settings.clone(),
            budget_s: plan.budget.as_secs_f64(),
            design: plan.design,
            shard: Shard { index: 1, count: 1 },
            ended: end,
            resumed: header.resumed,
            time: TimeUse::default(),
        }
    }
}

/// The sides of the first launches that were not counted yet. Optimized variants come first and slow ones last: time
/// may run out.
fn to_count(planned: &PlannedRun, state: &RunState) -> Vec<ToCount> {
    let PlannedRun { plan, catalog, .. } = planned;
    let mut sides = Vec::new();
    for (case, case_plan) in plan.cases.iter().enumerate().filter(|(_, case)| case.design.stage.is_first()) {
        let definition = catalog.definition(case_plan.workload.as_str());
        for (number, side) in case_plan.sides.iter().enumerate().filter(|(_, side)| side.skip.is_none()) {
            let known = &state.cases[case].sides[number];
            if known.counted.is_some() || known.outcome.is_some() {
                continue;
            }
            let variant = definition.and_then(|definition| definition.variant(&side.benchmark.variant));
            let rank = variant.map_or(1, |variant| match variant.role {
                Role::Optimized => 0,
                Role::Documented | Role::Other => 1,
                Role::Slow => 2,
            });
            let to_count = ToCount {
                case,
                side: number,
                worker: side.worker,
                benchmark: side.benchmark.clone(),
                is_paired: planned.base.is_some(),
                refused: planned.uncountable(side),
            };
            sides.push((rank, to_count));
        }
    }
    sides.sort_by_key(|(rank, _)| *rank);
    sides.into_iter().map(|(_, side)| side).collect()
}

/// Fingerprints of the code: that of the current folder, the commit of the base, and the digests of both builds.
fn code(base: Option<&BaseFacts>) -> Vec<Option<String>> {
    let commit = base.and_then(|base| base.source.commit()).map(str::to_owned);
    let versions = base.and_then(|base| base.versions.as_ref());
    let built = versions.map(|versions| [&versions.base, &versions.head]).into_iter().flatten();
    let built = built.map(|version| Some(version.digest.0.clone()));
    [fingerprint(), commit].into_iter().chain(built).collect()
}

/// Sortable by time; the process id tells runs of the same second apart.
fn run_id(started: Timestamp) -> String {
    format!("{}-{:05}", started.strftime("%Y%m%dT%H%M%SZ"), std::process::id() % 100_000)
}

/// A run is only continued with the plan and the programs that it began with: anything else would mix two runs.
fn unchanged(
    header: &JournalHeader,
    plan: &Plan,
    digests: &[Option<String>],
    code: &[Option<String>],
) -> Result<(), RunError> {
    let what = if header.worker_digests != digests {
        "a worker program"
    } else if header.plan != *plan {
        "what is to be measured"
    } else if header.code != code {
        "the code here, or the base,"
    } else {
        return Ok(());
    };
    Err(RunError::Changed { what, started: header.started.clone() })
}

/// The ceilings of the machine, where a case of the plan has a floor to hold against them. A run without them is no worse,
/// but for what it can show.
fn ceilings(
    plan: &Plan,
    catalog: &Catalog,
    machine: &Machine,
    listener: &mut dyn Listener,
) -> Option<Ceilings> {
    let has_floor = |case: &CasePlan| {
        let definition = catalog.definition(case.workload.as_str());
        definition.is_some_and(|d| d.cases.iter().any(|c| c.id == case.case && c.floor.is_some()))
    };
    if !plan.cases.iter().any(has_floor) {
        return None;
    }
    let ceilings =
        ceiling::ceilings(&machine.class, &plan.device, || listener.note(&Note::MeasuringCeilings));
    ceilings.map_err(|error| listener.note(&Note::NoCeilings(error))).ok()
}

/// Four readings a second, and fewer in a long run, because the record keeps them all.
fn watch_interval(budget: Duration) -> Duration {
    const MOST_READINGS: u32 = 2_000;
    (budget / MOST_READINGS).clamp(Duration::from_millis(250), Duration::from_secs(5))
}
