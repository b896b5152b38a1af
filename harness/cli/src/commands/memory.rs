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
use crate::measure::{ProcessExecutor, watch_side};
use crate::memory::{INDEX_FILE, MemoryIndex, Watch, write};
use crate::plan::{Plan, select};
use crate::record::SourceState;
use crate::render::render_memory;

/// Name of the folder beside a record.
pub(super) const FOLDER: &str = "memory";

/// Watches the memory of benchmarks over many iterations, and says whether it grows.
pub(super) fn memory(opts: &MemoryOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let measure = measure_opts(opts);
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
    let (watches, is_whole) = watch(&plan, executor, opts, terminal);
    let index = write(&folder, &watches, &taken)?;
    if opts.json {
        terminal.print_json(&index)?;
    } else {
        terminal.print(&render_memory(&index, &watches, Terminal::layout()))?;
        terminal.hint(&format!("memory over iterations: {}", folder.join(INDEX_FILE).display()));
    }
    let grows = opts.fail_on_growth && watches.iter().any(|watch| is_growing(&index, watch));
    Ok(if !is_whole {
        Exit::INTERRUPTED
    } else if grows || failed(&catalog) || watches.iter().any(has_failed) {
        Exit::BENCHMARK_FAILED
    } else if watches.iter().all(|watch| watch.watched.story.is_err()) {
        Exit::UNDECIDED
    } else {
        Exit::OK
    })
}

/// Watches every side, one after the other; tells whether all had their turn.
fn watch(
    plan: &Plan,
    mut executor: ProcessExecutor,
    opts: &MemoryOpts,
    terminal: &Terminal,
) -> (Vec<Watch>, bool) {
    let mut watches = Vec::new();
    for (case, side) in plan.cases.iter().flat_map(|case| case.sides.iter().map(move |side| (case, side))) {
        if side.skip.is_none() {
            terminal.hint(&format!("watching {}/{}", case.label(), side.benchmark.variant));
        }
        match watch_side(plan, side, &mut executor, opts.iterations, opts.seconds) {
            Ok(watched) => watches.push(Watch { side: side.clone(), watched }),
            Err(_interrupted) => return (watches, false),
        }
    }
    (watches, true)
}

fn is_growing(index: &MemoryIndex, watch: &Watch) -> bool {
    let facts = index.benchmark(&watch.side.benchmark).and_then(|benchmark| benchmark.memory.facts());
    facts.is_some_and(|facts| facts.verdict == GrowthVerdict::Grows)
}

fn has_failed(watch: &Watch) -> bool {
    let kind = watch.watched.outcome.kind;
    !matches!(kind, OutcomeKind::Ok | OutcomeKind::Skipped) && kind != watch.side.expect
}

/// Those of a run that make sense here.
fn measure_opts(opts: &MemoryOpts) -> MeasureOpts {
    MeasureOpts {
        effort: opts.effort,
        time_budget: None,
        launches: None,
        seed: opts.seed,
        memory_limit: opts.memory_limit,
        set: opts.set.clone(),
        images: opts.images.clone(),
        worker: opts.worker.clone(),
    }
}
