//! A run in the making: its files, its plan, and what was measured so far. `run` and `gate` share it.

use perfharness_engine::build::sample_rows;
use perfharness_engine::{fingerprint, read_machine};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use perfharness_contract::{Digest, MetricDef};

use super::Terminal;
use super::asked::Asked;
use crate::config::Config;
use crate::exit::CommandError;
use crate::plan_text::render_extent;
use crate::progress::Progress;
use perfharness_engine::build::{BaseFacts, RunFacts, build};
use perfharness_engine::journal::{
    JOURNAL_VERSION, Journal, JournalError, JournalHeader, Replay, RunLock, replay,
};
use perfharness_engine::measure::{Ended, Event, ProcessExecutor, RunState, run_plan};
use perfharness_engine::plan::{CasePlan, Catalog, Plan};
use perfharness_engine::probe::listed_adapter;
use perfharness_engine::request::RunRequest;
use perfharness_engine::telemetry::Watcher;
use perfharness_record::Stage;
use perfharness_record::WorkerCommand;
use perfharness_record::ceilings::Ceilings;
use perfharness_record::{
    Machine, RunEnd, RunInfo, RunRecord, SamplesRef, Shard, SourceState, TimeUse, file, samples,
};

/// Where the record goes, and what is there of it already.
pub(super) struct Place {
    /// The record, over links.
    path: PathBuf,
    /// The lock of that place, where it was taken already.
    lock: Option<RunLock>,
    /// The journal of the run that is continued.
    pub(super) replayed: Option<Replay>,
}

impl Place {
    /// A place for a run of its own or, to `resume`, that of the run that was cut off there.
    ///
    /// # Errors
    /// When there is no such run, another process goes on with it, or its journal cannot be read.
    pub(super) fn at(path: &Path, resume: bool) -> Result<Self, CommandError> {
        let path = file::through_links(path);
        if !resume {
            return Ok(Self { path, lock: None, replayed: None });
        }
        let journal = Journal::path_for(&path);
        // Before the journal is read: another run may be writing it.
        let lock = if journal.exists() { Some(RunLock::take(&path)?) } else { None };
        Ok(Self { path, lock, replayed: Some(replay(&journal)?) })
    }

    /// Refuses to go on with a run that was asked for something else.
    ///
    /// # Errors
    /// When it was.
    pub(super) fn insist_on(&self, request: &RunRequest) -> Result<(), CommandError> {
        let Some(Replay { header, .. }) = &self.replayed else { return Ok(()) };
        if header.request == *request {
            return Ok(());
        }
        let started = &header.started;
        let message =
            format!("--resume: the run of {started} was started with other arguments; give the same ones");
        Err(CommandError::Usage(message))
    }
}

/// What is measured.
pub(super) struct Subject {
    /// What was asked for.
    pub(super) asked: Asked,
    /// What follows from it.
    pub(super) plan: Plan,
    /// The source code.
    pub(super) source: SourceState,
    /// The machine.
    pub(super) machine: Machine,
    /// What it is measured against.
    pub(super) base: Option<BaseFacts>,
    /// What starts that, where it is other workers.
    pub(super) base_workers: Vec<WorkerCommand>,
    /// Whether somebody watches the machine meanwhile.
    pub(super) telemetry: bool,
}

/// A run in the making.
pub(super) struct Session<'t> {
    terminal: &'t Terminal,
    path: PathBuf,
    /// Held until the record is written.
    _lock: RunLock,
    journal: Journal,
    journal_fault: Option<JournalError>,
    header: JournalHeader,
    subject: Subject,
    /// What the machine can do at most.
    ceilings: Option<Ceilings>,
    executor: ProcessExecutor,
    state: RunState,
}

impl<'t> Session<'t> {
    /// Takes the place and begins the journal, or goes on with the one that is there.
    ///
    /// # Errors
    /// When the place is taken, cannot be written, or belongs to another run.
    pub(super) fn begin(
        place: Place,
        subject: Subject,
        terminal: &'t Terminal,
    ) -> Result<Self, CommandError> {
        let Place { path, lock, replayed } = place;
        let plan = &subject.plan;
        check_place(&path)?;
        let journal_path = Journal::path_for(&path);
        let mut state = RunState::new(plan.cases.iter().map(|c| c.sides.len()));
        let Asked { request, catalog, interrupted, .. } = &subject.asked;
        let interrupted = Arc::clone(interrupted);
        let base = subject.base.iter().flat_map(|base| &base.catalog.workers);
        let digests: Vec<Option<String>> =
            catalog.workers.iter().chain(base).map(|worker| worker.digest.clone()).collect();
        let base_commit = subject.base.as_ref().and_then(|base| base.source.commit());
        let versions = subject.base.iter().filter_map(|base| base.versions.as_ref());
        let built = versions.flat_map(|v| [&v.base, &v.head]).map(|version| Some(version.digest.0.clone()));
        let code = [fingerprint(), base_commit.map(str::to_owned)].into_iter().chain(built);
        let code: Vec<Option<String>> = code.collect();
        let (lock, header, journal) = match replayed {
            None => {
                let started = Timestamp::now();
                let header = JournalHeader {
                    journal: JOURNAL_VERSION,
                    run: run_id(started),
                    started: started.to_string(),
                    request: request.clone(),
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
                if let Some(damage) = &replayed.damage {
                    terminal.warn(&format!("--resume: {damage}"));
                }
                // What a gate or a calibration added to the plan follows from what was measured before, and is added again.
                let planned = |event: &&Event| event.case().is_none_or(|case| case < plan.cases.len());
                replayed.events.iter().filter(planned).for_each(|event| state.apply(event));
                let resumed = replayed.header.resumed + 1;
                let header = JournalHeader { resumed, ..replayed.header };
                let lock = lock.map_or_else(|| RunLock::take(&path), Ok)?;
                let journal = Journal::append(&journal_path, &replayed.end, &header)?;
                (lock, header, journal)
            }
        };
        // Before anybody watches, and before anything is timed: it keeps the machine busy for some seconds.
        let ceilings = ceilings(&subject, terminal);
        let mut executor = subject.asked.executor(&subject.base_workers);
        if subject.telemetry {
            watch(&mut executor, &subject, terminal);
        }
        // From here on there is something to keep, so that Ctrl-C ends the run in good order.
        ctrlc::set_handler(move || interrupted.store(true, Ordering::Relaxed))
            .context("cannot listen to Ctrl-C")?;
        Ok(Self {
            terminal,
            path,
            _lock: lock,
            journal,
            journal_fault: None,
            header,
            subject,
            ceilings,
            executor,
            state,
        })
    }

    /// The plan.
    pub(super) fn plan(&self) -> &Plan {
        &self.subject.plan
    }

    /// Measures what the plan has and was not measured yet.
    pub(super) fn measure(&mut self) -> Ended {
        let Self { terminal, journal, journal_fault, subject, executor, state, .. } = self;
        let Subject { plan, asked, .. } = subject;
        terminal.hint(&announcement(plan, state));
        let mut progress = Progress::new(plan, terminal.quiet);
        let ended = run_plan(
            plan,
            &|case: &CasePlan| metrics_of(&asked.catalog, case),
            executor,
            state,
            &mut |event: &Event| {
                // Measuring goes on without a journal; the user is told once, at the end.
                if journal_fault.is_none() {
                    *journal_fault = journal.event(event).err();
                }
                progress.event(event);
            },
        );
        progress.finish();
        ended
    }

    /// Adds cases to what is to be measured, and the time for them.
    pub(super) fn add(&mut self, cases: Vec<CasePlan>, time: Duration) {
        let sides = RunState::new(cases.iter().map(|case| case.sides.len()));
        self.state.cases.extend(sides.cases);
        self.subject.plan.budget = Duration::from_nanos(self.state.spent_ns()) + time;
        self.subject.plan.cases.extend(cases);
    }

    /// The record of what was measured so far.
    pub(super) fn record(&self, ended: Ended) -> RunRecord {
        let Subject { plan, asked, .. } = &self.subject;
        build(plan, &asked.catalog, &self.state, self.facts(ended, None))
    }

    fn facts(&self, ended: Ended, samples: Option<SamplesRef>) -> RunFacts {
        let Subject { plan, source, machine, base, .. } = &self.subject;
        RunFacts {
            ceilings: self.ceilings.clone(),
            run: info(&self.header, plan, ended),
            source: source.clone(),
            machine: machine.clone(),
            base: base.clone(),
            samples,
        }
    }

    /// Writes samples and record, and removes the journal of a run that is complete. The samples come first, so that a
    /// record never names samples that are not there. An older record in the place is moved into a folder of its own.
    ///
    /// # Errors
    /// When they cannot be written; the journal is then still there.
    pub(super) fn finish(self, ended: Ended) -> Result<RunRecord, CommandError> {
        if let Some(fault) = &self.journal_fault {
            self.terminal.warn(&format!("{fault}; this run could not have been resumed"));
        }
        let Subject { plan, asked, .. } = &self.subject;
        let path = &self.path;
        let samples_path = path.with_extension("samples.parquet");
        let rows = sample_rows(plan, &self.state);
        let content = samples::encode(&rows).context("cannot encode the samples")?;
        let samples = SamplesRef {
            file: samples_path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            rows: rows.len() as u64,
            digest: Digest::of(&content),
        };
        let record = build(plan, &asked.catalog, &self.state, self.facts(ended, Some(samples)));
        keep_older(path, &samples_path, &record.run.id)?;
        file::write_atomically(&samples_path, &content)
            .map_err(|source| file::RecordError::Write { path: samples_path, source })?;
        file::write(path, &record)?;
        match ended {
            Ended::Complete => self.journal.remove(),
            Ended::Interrupted => {}
        }
        Ok(record)
    }
}

/// Lets a process watch the machine. A run without is no worse, but for what it can tell.
fn watch(executor: &mut ProcessExecutor, subject: &Subject, terminal: &Terminal) {
    let adapter = subject.machine.facts.get("gpu").map(String::as_str);
    match Watcher::start(watch_interval(subject.plan.budget), adapter) {
        Ok(watcher) => executor.watch(watcher),
        Err(error) => terminal.hint(&format!("the machine is not watched meanwhile: {error}")),
    }
}

/// Four readings a second, and fewer in a long run, whose record would be made of them.
fn watch_interval(budget: Duration) -> Duration {
    const MOST_READINGS: u32 = 2_000;
    (budget / MOST_READINGS).clamp(Duration::from_millis(250), Duration::from_secs(5))
}

/// A run is only continued with the plan and the programs that it began with: anything else would mix two runs.
fn unchanged(
    header: &JournalHeader,
    plan: &Plan,
    digests: &[Option<String>],
    code: &[Option<String>],
) -> Result<(), CommandError> {
    let what = if header.worker_digests != digests {
        "a worker program"
    } else if header.plan != *plan {
        "what is to be measured"
    } else if header.code != code {
        "the code here, or the base,"
    } else {
        return Ok(());
    };
    let message = format!(
        "--resume: {what} has changed since {}; start the run again without --resume",
        header.started
    );
    Err(CommandError::Usage(message))
}

/// The machine with the adapter that this run uses. A driver that fails is no reason not to measure anything else.
pub(super) fn machine(device: &str, config: &Config, terminal: &Terminal) -> Machine {
    let gpu = listed_adapter(device).map_err(|error| {
        let fault = format!("the process that lists the adapters {error}");
        terminal.hint(&format!("the record names no GPU: {fault}; `perfharness doctor` says more"));
        fault
    });
    read_machine(config.machine.class.as_deref(), gpu.as_ref().map(Option::as_ref))
}

/// What the machine can do at most, where a case of the plan says what it cannot do without. A figure less is no reason not
/// to measure.
fn ceilings(subject: &Subject, terminal: &Terminal) -> Option<Ceilings> {
    let Subject { plan, asked, machine, .. } = subject;
    let has_floor = |case: &CasePlan| {
        let definition = asked.catalog.definition(case.workload.as_str());
        definition.is_some_and(|d| d.cases.iter().any(|c| c.id == case.case && c.floor.is_some()))
    };
    if !plan.cases.iter().any(has_floor) {
        return None;
    }
    let tell = || terminal.hint("finding out what this machine can do at most; that is kept for a week");
    match perfharness_engine::ceiling::ceilings(&machine.class, &plan.device, tell) {
        Ok(ceilings) => Some(ceilings),
        Err(error) => {
            terminal.hint(&format!("the process that measures what this machine can do at most {error}"));
            None
        }
    }
}

/// Refuses to put a record in the place of something else, before anything is measured for it.
fn check_place(path: &Path) -> Result<(), CommandError> {
    let refused = |what: String| {
        let message =
            format!("cannot write the record to {}: {what}; name another file with --output", path.display());
        Err(CommandError::Usage(message))
    };
    match std::fs::metadata(path) {
        // The journal, the first file that is written, tells what is wrong with the folder.
        Err(_) => return Ok(()),
        Ok(there) if there.is_dir() => return refused("it is a folder".into()),
        Ok(there) if !there.is_file() => return refused("it is no regular file".into()),
        Ok(there) if there.len() == 0 => return Ok(()),
        Ok(_) => {}
    }
    match file::read(path) {
        Ok(_) => Ok(()),
        Err(error) => refused(format!("something else is there ({error})")),
    }
}

/// Where the record of a source state goes by default.
pub(super) fn default_path(source: &SourceState) -> PathBuf {
    Path::new("reports").join(source.folder()).join("run.json")
}

/// Sortable by time; the process id tells runs of the same second apart.
fn run_id(started: Timestamp) -> String {
    format!("{}-{:05}", started.strftime("%Y%m%dT%H%M%SZ"), std::process::id() % 100_000)
}

fn announcement(plan: &Plan, state: &RunState) -> String {
    let spent = Duration::from_nanos(state.spent_ns());
    let again: Vec<Stage> =
        plan.cases.iter().map(|case| case.design.stage).filter(|stage| !stage.is_first()).collect();
    if let Some(stage) = again.first() {
        let what = match stage {
            Stage::Planted => {
                "measuring again, with slowdowns planted that this machine should be able to see"
            }
            Stage::First | Stage::Confirmation => "measuring again, in fresh processes, what was flagged",
        };
        return format!("{what}: {}", perfharness_record::units::counted(again.len(), "benchmark"));
    }
    let verb = if spent.is_zero() { "measuring" } else { "going on with" };
    format!("{verb} {}", render_extent(plan, spent))
}

fn metrics_of(catalog: &Catalog, case: &CasePlan) -> Vec<MetricDef> {
    catalog.definition(case.workload.as_str()).map(|d| d.metrics.clone()).unwrap_or_default()
}

fn info(header: &JournalHeader, plan: &Plan, ended: Ended) -> RunInfo {
    RunInfo {
        id: header.run.clone(),
        started: header.started.clone(),
        finished: Timestamp::now().to_string(),
        harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
        arguments: std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect(),
        patterns: header.request.patterns.clone(),
        seed: plan.seed,
        effort: plan.effort,
        device: plan.device.clone(),
        settings: plan.settings.clone(),
        budget_s: plan.budget.as_secs_f64(),
        design: plan.design,
        shard: Shard { index: 1, count: 1 },
        ended: match ended {
            Ended::Complete => RunEnd::Complete,
            Ended::Interrupted => RunEnd::Interrupted,
        },
        resumed: header.resumed,
        time: TimeUse::default(),
    }
}

/// Moves a record that is in the way, with its samples, into `earlier/<run id>/` beside it.
fn keep_older(path: &Path, samples_path: &Path, run: &str) -> Result<(), CommandError> {
    let Ok(older) = file::read(path) else { return Ok(()) };
    if older.run.id == run {
        return Ok(());
    }
    let folder = path.with_file_name("earlier").join(&older.run.id);
    let moved = std::fs::create_dir_all(&folder).and_then(|()| {
        for file in [samples_path, path] {
            if let Some(name) = file.file_name().filter(|_| file.exists()) {
                std::fs::rename(file, folder.join(name))?;
            }
        }
        Ok(())
    });
    moved.with_context(|| format!("cannot move the older record {} away", path.display()))?;
    Ok(())
}
