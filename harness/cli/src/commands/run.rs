//! `perfharness run`

use perfharness_engine::source_state;
use std::path::Path;

use perfharness_contract::{Effort, OutcomeKind};

use super::asked::{Asked, request};
use super::pages::Pages;
use super::session::{Place, Session, Subject, default_path, machine};
use super::{Terminal, profile};
use crate::args::{BaselineFolder, ConditionOpts, MeasureOpts, RunOpts};
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::plan_text::render_plan;
use perfharness_engine::journal::JournalHeader;
use perfharness_engine::request::RunRequest;
use perfharness_record::{BenchmarkRecord, RunEnd, RunRecord};
use perfharness_report::render::render_record;

/// Measures benchmarks, writes a record, and prints the result.
pub(super) fn run(opts: &RunOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let source = source_state();
    let path = opts.output.clone().unwrap_or_else(|| default_path(&source));
    if opts.patterns.is_empty() && !opts.resume {
        let message = "say what to measure: `perfharness run all`, or a pattern from `perfharness list`";
        return Err(CommandError::Usage(message.into()));
    }
    let asked = request(&opts.patterns, &opts.measure, config, config.run.effort.unwrap_or(Effort::Quick))?;
    let place = Place::at(&path, opts.resume)?;
    let request = match &place.replayed {
        Some(replayed) => continued(&asked, &replayed.header, opts)?,
        None => asked,
    };

    let asked = Asked::of(request, &opts.measure.conditions, config, terminal)?;
    let mut plan = asked.plan(asked.selection()?);
    if let Some(replayed) = &place.replayed {
        // Those that the run began with: what they were relative to then is not known any more.
        plan.settings.clone_from(&replayed.header.plan.settings);
    }
    if opts.dry_run {
        return if opts.json { terminal.print_json(&plan) } else { terminal.print(&render_plan(&plan)) };
    }
    let machine = machine(&asked.request.device, config, terminal);
    let to_profile = opts.flamegraph.then(|| (plan.clone(), asked.executor(&[])));
    let subject = Subject {
        asked,
        plan,
        source,
        machine,
        base: None,
        base_workers: Vec::new(),
        telemetry: !opts.measure.no_telemetry,
    };
    let mut session = Session::begin(place, subject, terminal)?;
    let ended = session.measure();
    let record = session.finish(ended)?;
    if opts.json {
        terminal.print_json(&record)?;
    } else {
        terminal.print_styled(&render_record(&record, Terminal::layout()))?;
        terminal.hint(&format!("record: {}", path.display()));
    }
    if let (Some((plan, executor)), RunEnd::Complete) = (to_profile, record.run.ended) {
        let ended = profile::beside(&record, &path, &plan, executor, !opts.json, terminal)?;
        if ended == profile::Ended::Interrupted {
            return Ok(Exit::INTERRUPTED);
        }
    }
    // Behind the profiles, which the page has links to. Who named a place for the record wants it there, and nothing else.
    if opts.output.is_none() {
        let pages = Pages::new(Path::new(BaselineFolder::DEFAULT), &config.gate);
        pages.leave(&path, terminal);
    }
    Ok(exit_code(&record))
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
    let patterns = &opts.patterns;
    // Whether the machine is watched is no part of what a run is.
    let MeasureOpts { time_budget, launches, no_telemetry: _, conditions } = &opts.measure;
    let ConditionOpts { effort, seed, memory_limit, set, images, worker } = conditions;
    let numbers = [launches.map(u64::from), *seed, *memory_limit];
    let named = !worker.workers.is_empty() || worker.device.is_some();
    let set = !set.is_empty() || images.is_some();
    patterns.is_empty() && !named && !set && effort.is_none() && time_budget.is_none() && numbers == [None; 3]
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
