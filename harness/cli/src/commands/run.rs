//! `perfharness run`

use std::path::Path;

use perfharness_contract::{Effort, OutcomeKind};
use perfharness_engine::journal::JournalHeader;
use perfharness_engine::run::{PlannedRun, RecordPlace, RunSpec, SettingPaths};
use perfharness_record::{BenchmarkRecord, RunEnd, RunRecord};
use perfharness_report::render::render_record;

use super::pages::Pages;
use super::places::default_path;
use super::request::timed;
use super::{Terminal, alone, profile};
use crate::args::{BaselineFolder, ConditionOpts, MeasureOpts, RunOpts};
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::listener::Shown;
use crate::plan_text::render_plan;

/// Measures benchmarks, writes a record, and prints the result.
pub(super) fn run(opts: &RunOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    if opts.patterns.is_empty() && !opts.resume {
        let message = "say what to measure: `perfharness run all`, or a pattern from `perfharness list`";
        return Err(CommandError::Usage(message.into()));
    }
    let effort = config.run.effort.unwrap_or(Effort::Quick);
    let mut request = timed(&opts.patterns, &opts.measure, config, effort)?;
    let path = opts.output.clone().unwrap_or_else(|| default_path(&request.source));
    let place = RecordPlace::at(&path, opts.resume)?;
    if let Some(replayed) = place.replayed() {
        request = continued(request, &replayed.header, opts)?;
    }
    let mut listener = Shown::new(&request.interrupted, terminal);
    let planned = PlannedRun::new(request, &mut listener)?;
    if opts.dry_run {
        let plan = planned.plan();
        return if opts.json { terminal.print_json(plan) } else { terminal.print(&render_plan(plan)) };
    }
    let to_profile = opts.flamegraph.then(|| (planned.plan().clone(), planned.executor()));
    let record = planned.begin(place, &mut listener)?.measure_all(&mut listener)?;
    if opts.json {
        terminal.print_json(&record)?;
    } else {
        terminal.print_styled(&render_record(&record, Terminal::layout()))?;
        terminal.hint(&format!("record: {}", path.display()));
    }
    if let (Some((plan, executor)), RunEnd::Complete) = (to_profile, record.run.ended)
        && profile::beside(&record, &path, &plan, executor, !opts.json, terminal)? == RunEnd::Interrupted
    {
        return Ok(Exit::INTERRUPTED);
    }
    // After the profiles, which the page has links to. A user who named a place for the record wants nothing else there.
    if opts.output.is_none() {
        Pages::new(Path::new(BaselineFolder::DEFAULT), &config.gate).leave(&path, terminal);
    }
    Ok(exit_code(&record))
}

/// The request of the run that is continued. `--resume` alone takes everything from it; the whole command line with
/// `--resume` behind it must ask for the same.
fn continued(asked: RunSpec, header: &JournalHeader, opts: &RunOpts) -> Result<RunSpec, CommandError> {
    if !resumes_alone(opts) && asked.run != header.request {
        return Err(CommandError::Usage(format!(
            "--resume: the run of {} was started with other arguments; give `run --resume` alone, or the same ones",
            header.started
        )));
    }
    // Paths lead where they led then; the folder that they were relative to is not known any more.
    let settings = SettingPaths::AsPlanned(header.plan.settings.clone());
    Ok(RunSpec { run: header.request.clone(), settings, ..asked })
}

/// Whether nothing is asked for beside going on.
fn resumes_alone(opts: &RunOpts) -> bool {
    let patterns = &opts.patterns;
    // What is watched and counted beside the times is no part of what a run is.
    let MeasureOpts { time_budget, launches, no_telemetry: _, no_instructions: _, conditions } =
        &opts.measure;
    let ConditionOpts { effort, seed, memory_limit, set, images, worker } = conditions;
    let numbers = [launches.map(u64::from), *seed, *memory_limit];
    let named = !worker.workers.is_empty() || worker.device.is_some();
    let set = !set.is_empty() || images.is_some();
    patterns.is_empty() && !named && !set && effort.is_none() && time_budget.is_none() && numbers == [None; 3]
}

fn exit_code(record: &RunRecord) -> u8 {
    let workers_failed = record.workers.iter().any(|w| w.outcome.kind != OutcomeKind::Ok);
    let failed = workers_failed || record.benchmarks.iter().any(BenchmarkRecord::failed);
    let not_run = record.benchmarks.iter().any(|b| b.outcome.kind == OutcomeKind::NotRun);
    let anything = record.benchmarks.iter().any(BenchmarkRecord::succeeded);
    alone::exit_code(record.run.ended == RunEnd::Interrupted, failed, anything && !not_run)
}
