//! `perfharness memory`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use jiff::Timestamp;
use perfharness_contract::{Effort, OutcomeKind};
use perfharness_verdict::GrowthVerdict;

use super::Terminal;
use super::asked::{check_settings, place_paths, request};
use super::profile::{describe, failed};
use super::session::default_path;
use crate::args::{MeasureOpts, MemoryOpts};
use crate::config::Config;
use crate::exit::{CommandResult, Exit};
use crate::measure::{ProcessExecutor, follow_side};
use crate::memory::{Course, INDEX_FILE, MemoryIndex, write};
use crate::plan::{Plan, select};
use crate::record::SourceState;
use crate::render::render_memory;

/// Name of the folder beside a record.
pub(super) const FOLDER: &str = "memory";

/// Watches the memory of benchmarks over many iterations, and says whether it grows.
pub(super) fn memory(opts: &MemoryOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let measure = MeasureOpts::from(&opts.alone);
    let request = request(&opts.patterns, &measure, config, Effort::Quick)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let catalog = describe(&request, &request.workers, &interrupted, terminal)?;
    check_settings(&measure, &catalog)?;
    let selection = select(&catalog, &request.parsed_patterns()?, request.effort)?;
    let mut plan = request.plan(selection);
    place_paths(&mut plan.settings, &measure, config, &catalog);

    let asked_to_stop = Arc::clone(&interrupted);
    ctrlc::set_handler(move || asked_to_stop.store(true, Ordering::Relaxed))
        .context("cannot listen to Ctrl-C")?;
    let folder =
        opts.out.clone().unwrap_or_else(|| default_path(&SourceState::read()).with_file_name(FOLDER));
    let executor = ProcessExecutor::new(request.workers.clone(), interrupted);
    let taken = Timestamp::now().to_string();
    let (courses, is_whole) = follow(&plan, executor, opts, terminal);
    let index = write(&folder, &courses, &taken)?;
    if opts.json {
        terminal.print_json(&index)?;
    } else {
        terminal.print(&render_memory(&index, &courses, Terminal::layout()))?;
        terminal.hint(&format!("memory over iterations: {}", folder.join(INDEX_FILE).display()));
    }
    let grows = opts.fail_on_growth && courses.iter().any(|course| is_growing(&index, course));
    Ok(if !is_whole {
        Exit::INTERRUPTED
    } else if grows || failed(&catalog) || courses.iter().any(has_failed) {
        Exit::BENCHMARK_FAILED
    } else if courses.iter().all(|course| course.followed.story.is_err()) {
        Exit::UNDECIDED
    } else {
        Exit::OK
    })
}

/// Watches every side, one after the other; tells whether all had their turn.
fn follow(
    plan: &Plan,
    mut executor: ProcessExecutor,
    opts: &MemoryOpts,
    terminal: &Terminal,
) -> (Vec<Course>, bool) {
    let mut courses = Vec::new();
    for (case, side) in plan.cases.iter().flat_map(|case| case.sides.iter().map(move |side| (case, side))) {
        if side.skip.is_none() {
            terminal.hint(&format!("following {}/{}", case.label(), side.benchmark.variant));
        }
        match follow_side(plan, side, &mut executor, opts.iterations, opts.seconds) {
            Ok(followed) => courses.push(Course { side: side.clone(), followed }),
            Err(_interrupted) => return (courses, false),
        }
    }
    (courses, true)
}

fn is_growing(index: &MemoryIndex, course: &Course) -> bool {
    let facts = index.benchmark(&course.side.benchmark).and_then(|benchmark| benchmark.memory.facts());
    facts.is_some_and(|facts| facts.verdict == GrowthVerdict::Grows)
}

fn has_failed(course: &Course) -> bool {
    let kind = course.followed.outcome.kind;
    !matches!(kind, OutcomeKind::Ok | OutcomeKind::Skipped) && kind != course.side.expect
}
