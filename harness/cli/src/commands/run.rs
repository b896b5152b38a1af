//! `perfharness run`

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use perfharness_contract::{Digest, Effort, MetricDef, OutcomeKind, SettingKind};

use super::{Terminal, workers};
use crate::args::RunOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::measure::{Ended, Event, ProcessExecutor, RunState, run_plan};
use crate::plan::{CasePlan, Catalog, Pattern, Plan, select};
use crate::probe::listed_adapter;
use crate::record::journal::{JOURNAL_VERSION, Journal, JournalHeader, RunLock, replay};
use crate::record::{
    BenchmarkRecord, Machine, RunEnd, RunFacts, RunInfo, RunRecord, SamplesRef, Shard, SourceState, TimeUse,
    build, file, samples,
};
use crate::render::{Progress, render_extent, render_plan, render_record};
use crate::request::RunRequest;

/// Measures benchmarks, writes a record, and prints the result.
pub(super) fn run(opts: &RunOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let source = SourceState::read();
    let path = opts.output.clone().unwrap_or_else(|| default_path(&source));
    let journal_path = Journal::path_for(&path);
    let asked = request(opts, config)?;
    let mut lock = None;
    let (request, replayed) = if opts.resume {
        // Before the journal is read: another run may be writing it.
        lock = if journal_path.exists() { Some(RunLock::take(&path)?) } else { None };
        let replayed = replay(&journal_path)?;
        (continued(&asked, &replayed.header, opts)?, Some(replayed))
    } else {
        (asked, None)
    };

    let patterns = request.patterns.iter().map(|p| p.parse()).collect::<Result<Vec<Pattern>, _>>()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut executor = ProcessExecutor::new(request.workers.clone(), Arc::clone(&interrupted));
    let (seed, device) = (request.seed, &request.device);
    let catalog = workers::catalog(&mut executor, &request.workers, seed, device, request.timeout, terminal)?;
    check_settings(opts, &catalog)?;
    let mut plan = request.plan(select(&catalog, &patterns, request.effort)?);
    match &replayed {
        // Those that the run began with: what they were relative to then is not known any more.
        Some(replayed) => plan.settings.clone_from(&replayed.header.plan.settings),
        None => place_paths(&mut plan.settings, opts, config, &catalog),
    }
    if opts.dry_run {
        return if opts.json { terminal.print_json(&plan) } else { terminal.print(&render_plan(&plan)) };
    }
    check_place(&path)?;

    let mut state = RunState::new(plan.cases.iter().map(|c| c.sides.len()));
    let digests: Vec<Option<String>> = catalog.workers.iter().map(|w| w.digest.clone()).collect();
    let (header, mut journal) = match replayed {
        None => {
            let started = Timestamp::now();
            let header = JournalHeader {
                journal: JOURNAL_VERSION,
                run: run_id(started),
                started: started.to_string(),
                request: request.clone(),
                plan: plan.clone(),
                worker_digests: digests,
                resumed: 0,
            };
            lock = Some(RunLock::take(&path)?);
            let journal = Journal::create(&journal_path, &header)?;
            (header, journal)
        }
        Some(replayed) => {
            unchanged(&replayed.header, &plan, &digests)?;
            replayed.events.iter().for_each(|event| state.apply(event));
            let resumed = replayed.header.resumed + 1;
            let header = JournalHeader { resumed, ..replayed.header };
            let journal = Journal::append(&journal_path, replayed.length, &header)?;
            (header, journal)
        }
    };

    let machine = machine(&request.device, config, terminal);
    // From here on there is something to keep, so that Ctrl-C ends the run in good order.
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("cannot listen to Ctrl-C")?;
    terminal.hint(&announcement(&plan, &state));
    let mut progress = Progress::new(&plan, terminal.quiet);
    let mut journal_fault = None;
    let ended = run_plan(
        &plan,
        &|case: &CasePlan| metrics_of(&catalog, case),
        &mut executor,
        &mut state,
        &mut |event: &Event| {
            // Measuring goes on without a journal; the user is told once, at the end.
            if journal_fault.is_none() {
                journal_fault = journal.event(event).err();
            }
            progress.event(event);
        },
    );
    progress.finish();
    if let Some(fault) = journal_fault {
        terminal.warn(&format!("{fault}; this run could not have been resumed"));
    }

    let facts = RunFacts { run: info(&header, &plan, ended), source, machine, samples: None };
    let record = write(&path, &plan, &catalog, &state, facts)?;
    match ended {
        Ended::Complete => journal.remove(),
        Ended::Interrupted => {}
    }
    drop(lock);
    if opts.json {
        terminal.print_json(&record)?;
    } else {
        terminal.print(&render_record(&record, Terminal::layout()))?;
        terminal.hint(&format!("record: {}", path.display()));
    }
    Ok(exit_code(&record))
}

/// What arguments and configuration say together.
fn request(opts: &RunOpts, config: &Config) -> Result<RunRequest, CommandError> {
    if opts.patterns.is_empty() && !opts.resume {
        let message = "say what to measure: `perfharness run all`, or a pattern from `perfharness list`";
        return Err(CommandError::Usage(message.into()));
    }
    let device = opts.worker.device.clone().or_else(|| config.run.device.clone());
    Ok(RunRequest {
        patterns: opts.patterns.clone(),
        effort: opts.effort.map(Effort::from).or(config.run.effort).unwrap_or(Effort::Quick),
        time_budget: opts.time_budget,
        seed: opts.seed.or(config.run.seed).unwrap_or(1),
        device: device.unwrap_or_else(|| "auto".into()),
        settings: settings(opts, config),
        workers: workers::commands(&opts.worker, config)?,
        launches: opts.launches,
        memory_limit_bytes: opts.memory_limit,
        timeout: opts.worker.timeout,
    })
}

/// The configuration's settings, and over them those of the flags.
fn settings(opts: &RunOpts, config: &Config) -> BTreeMap<String, String> {
    let mut settings = config.settings.clone();
    settings.extend(opts.set.iter().cloned());
    settings.extend(opts.images.iter().map(|folder| ("images".to_owned(), folder.clone())));
    settings
}

/// Makes paths that the configuration sets relative to where they are looked up from: workers start in the folder that
/// this program is started in, and a flag means that one.
fn place_paths(settings: &mut BTreeMap<String, String>, opts: &RunOpts, config: &Config, catalog: &Catalog) {
    let defined = catalog.entries.iter().flat_map(|e| &e.definition.settings);
    for path in defined.filter(|s| s.kind == SettingKind::Path) {
        let by_flag = opts.set.iter().any(|(name, _)| path.name.as_str() == name)
            || (opts.images.is_some() && path.name == "images");
        if let Some(text) = config.settings.get(path.name.as_str()).filter(|_| !by_flag) {
            let placed = config.folder.join(text).to_string_lossy().into_owned();
            settings.insert(path.name.to_string(), placed);
        }
    }
}

/// Refuses names that no workload asks for: a misspelt one would silently do nothing. The configuration may have
/// settings of workloads that are not there today.
fn check_settings(opts: &RunOpts, catalog: &Catalog) -> Result<(), CommandError> {
    let known: BTreeSet<&str> =
        catalog.entries.iter().flat_map(|e| &e.definition.settings).map(|s| s.name.as_str()).collect();
    let mut asked =
        opts.set.iter().map(|(name, _)| name.as_str()).chain(opts.images.as_ref().map(|_| "images"));
    let Some(unknown) = asked.find(|name| !known.contains(name)) else { return Ok(()) };
    let known = if known.is_empty() {
        "no workload here has any".to_owned()
    } else {
        format!("there are: {}", known.into_iter().collect::<Vec<_>>().join(", "))
    };
    Err(CommandError::Usage(format!("no workload has a setting `{unknown}`; {known}")))
}

/// The request of the run that is continued. `--resume` alone takes everything from it; the whole command line with
/// `--resume` behind it must ask for the same.
fn continued(asked: &RunRequest, header: &JournalHeader, opts: &RunOpts) -> Result<RunRequest, CommandError> {
    if resumes_alone(opts) || *asked == header.request {
        return Ok(header.request.clone());
    }
    let message = format!(
        "--resume: the run of {} was started with other arguments; give `run --resume` alone, or the same ones",
        header.started
    );
    Err(CommandError::Usage(message))
}

/// Whether nothing is asked for beside going on.
fn resumes_alone(opts: &RunOpts) -> bool {
    let RunOpts { patterns, effort, time_budget, launches, seed, memory_limit, set, images, worker, .. } =
        opts;
    let numbers = [launches.map(u64::from), *seed, *memory_limit];
    let named = !worker.workers.is_empty() || worker.device.is_some();
    let set = !set.is_empty() || images.is_some();
    patterns.is_empty() && !named && !set && effort.is_none() && time_budget.is_none() && numbers == [None; 3]
}

/// A run is only continued with the plan and the programs that it began with: anything else would mix two runs.
fn unchanged(header: &JournalHeader, plan: &Plan, digests: &[Option<String>]) -> Result<(), CommandError> {
    let what = if header.worker_digests != digests {
        "a worker program"
    } else if header.plan != *plan {
        "what the workers describe"
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
fn machine(device: &str, config: &Config, terminal: &Terminal) -> Machine {
    let gpu = listed_adapter(device).map_err(|error| {
        let fault = format!("the process that lists the adapters {error}");
        terminal.hint(&format!("the record names no GPU: {fault}; `perfharness doctor` says more"));
        fault
    });
    Machine::read(config.machine.class.as_deref(), gpu.as_ref().map(Option::as_ref))
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

fn default_path(source: &SourceState) -> PathBuf {
    Path::new("reports").join(source.folder()).join("run.json")
}

/// Sortable by time; the process id tells runs of the same second apart.
fn run_id(started: Timestamp) -> String {
    format!("{}-{:05}", started.strftime("%Y%m%dT%H%M%SZ"), std::process::id() % 100_000)
}

fn announcement(plan: &Plan, state: &RunState) -> String {
    let spent = Duration::from_nanos(state.spent_ns());
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

/// Writes samples and record. The samples come first, so that a record never names samples that are not there. An
/// older record in the place is moved into a folder of its own.
fn write(
    path: &Path,
    plan: &Plan,
    catalog: &Catalog,
    state: &RunState,
    facts: RunFacts,
) -> Result<RunRecord, CommandError> {
    let samples_path = path.with_extension("samples.parquet");
    let (content, rows) = samples::encode(plan, state).context("cannot encode the samples")?;
    let samples = SamplesRef {
        file: samples_path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
        rows,
        digest: Digest::of(&content),
    };
    let record = build(plan, catalog, state, RunFacts { samples: Some(samples), ..facts });
    keep_older(path, &samples_path, &record.run.id)?;
    file::write_atomically(&samples_path, &content)
        .map_err(|source| file::RecordError::Write { path: samples_path, source })?;
    file::write(path, &record)?;
    Ok(record)
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

fn exit_code(record: &RunRecord) -> u8 {
    if record.run.ended == RunEnd::Interrupted {
        return Exit::INTERRUPTED;
    }
    let workers_failed = record.workers.iter().any(|w| w.outcome.kind != OutcomeKind::Ok);
    if workers_failed || record.benchmarks.iter().any(BenchmarkRecord::failed) {
        return Exit::BENCHMARK_FAILED;
    }
    let not_run = record.benchmarks.iter().any(|b| b.outcome.kind == OutcomeKind::NotRun);
    let anything = record.benchmarks.iter().any(BenchmarkRecord::succeeded);
    if anything && !not_run { Exit::OK } else { Exit::UNDECIDED }
}
