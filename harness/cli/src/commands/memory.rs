//! `perfharness memory`.

use jiff::Timestamp;
use perfharness_engine::measure::{ProcessExecutor, follow_side};
use perfharness_engine::plan::Plan;
use perfharness_engine::source_state;
use perfharness_report::memory::{Course, INDEX_FILE, MemoryIndex, write};
use perfharness_report::render::render_memory;
use perfharness_verdict::GrowthVerdict;

use super::Terminal;
use super::alone::{exit_code, has_failed, prepare, workers_failed};
use super::places::default_path;
use crate::args::MemoryOpts;
use crate::config::Config;
use crate::exit::CommandResult;

/// Name of the folder beside a record.
pub(super) const FOLDER: &str = "memory";

/// Follows the memory of benchmarks over many iterations, and says whether it grows.
pub(super) fn memory(opts: &MemoryOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let planned = prepare(&opts.patterns, &opts.conditions, config, terminal)?;
    let folder = opts.out.clone().unwrap_or_else(|| default_path(&source_state()).with_file_name(FOLDER));
    let taken = Timestamp::now().to_string();
    let (courses, is_whole) = follow(planned.plan(), planned.executor(), opts, terminal);
    let index = write(&folder, &courses, &taken)?;
    if opts.json {
        terminal.print_json(&index)?;
    } else {
        terminal.print_styled(&render_memory(&index, &courses, Terminal::layout()))?;
        terminal.hint(&format!("memory over iterations: {}", folder.join(INDEX_FILE).display()));
    }
    let grows = opts.fail_on_growth && courses.iter().any(|course| is_growing(&index, course));
    let has_failed =
        courses.iter().any(|course| has_failed(course.followed.outcome.kind, course.side.expect));
    let anything = courses.iter().any(|course| course.followed.story.is_ok());
    Ok(exit_code(!is_whole, grows || has_failed || workers_failed(planned.catalog()), anything))
}

/// Follows every side, one after the other; tells whether all had their turn.
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
