//! `perfharness trace`.

use std::path::{Path, PathBuf};

use perfharness_engine::measure::{ProcessExecutor, Traced, trace_side};
use perfharness_engine::plan::Plan;
use perfharness_engine::source_state;
use perfharness_report::render::render_traces;
use perfharness_report::trace::{
    Destination, TraceFile, TraceState, TraceSummary, TraceWriter, TracedBenchmark, Traces,
};

use super::Terminal;
use super::alone::{exit_code, has_failed, prepare, workers_failed};
use super::places::default_path;
use crate::args::TraceOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult};

/// Name of the folder beside a record.
const FOLDER: &str = "traces";
/// Address of the viewer.
const VIEWER: &str = "https://ui.perfetto.dev";

/// Traces benchmarks and writes a file for each.
pub(super) fn trace(opts: &TraceOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let planned = prepare(&opts.patterns, &opts.conditions, config, terminal)?;
    let plan = planned.plan();
    let destination = destination(opts.out.as_deref(), plan)?;
    let taken = take(plan, planned.executor(), opts.iterations, &destination, terminal)?;
    if opts.json {
        terminal.print_json(&taken.traces)?;
    } else {
        terminal.print_styled(&render_traces(&taken.traces))?;
    }
    if taken.any() {
        terminal
            .hint(&format!("open a trace in {VIEWER} (it stays in your browser), or in chrome://tracing"));
    }
    Ok(taken.exit_code(plan, workers_failed(planned.catalog())))
}

/// Returns the place to write to, once it is known to be writable.
fn destination(out: Option<&Path>, plan: &Plan) -> Result<Destination, CommandError> {
    let default = || default_path(&source_state()).with_file_name(FOLDER);
    let destination = out.map_or_else(|| Destination::Folder(default()), Destination::of);
    let benchmarks = plan.cases.iter().map(|case| case.sides.len()).sum::<usize>();
    if let (Destination::File(file), 2..) = (&destination, benchmarks) {
        return Err(CommandError::Usage(format!(
            "--out {} is one file, and {benchmarks} benchmarks are selected: name a folder, or select one of them as \
             workload/case/variant",
            file.display()
        )));
    }
    destination.prepare().map_err(|error| {
        let folder = destination.folder().display();
        CommandError::Usage(format!(
            "cannot write to the folder {folder}: {error}; name one that you can write to with --out"
        ))
    })?;
    Ok(destination)
}

/// Benchmarks that were traced.
struct Taken {
    traces: Traces,
    interrupted: bool,
}

/// Traces every side, one after the other, and writes each at once: what is there stays there, whatever comes.
fn take(
    plan: &Plan,
    mut executor: ProcessExecutor,
    iterations: u64,
    destination: &Destination,
    terminal: &Terminal,
) -> Result<Taken, CommandError> {
    let mut taken = Taken { traces: Traces::default(), interrupted: false };
    let mut writer = TraceWriter::new(destination);
    for side in plan.cases.iter().flat_map(|case| &case.sides) {
        if side.skip.is_none() {
            terminal.hint(&format!("tracing {}", side.benchmark));
        }
        let Ok(Traced { outcome, timeline }) = trace_side(plan, side, &mut executor, iterations) else {
            taken.interrupted = true;
            break;
        };
        let trace = match timeline {
            Ok(timeline) => {
                let file: PathBuf = writer.write(&side.benchmark, &timeline)?;
                TraceState::Taken(TraceFile { file, summary: TraceSummary::of(&timeline) })
            }
            Err(absent) => TraceState::Absent { absent },
        };
        taken.traces.benchmarks.push(TracedBenchmark { id: side.benchmark.clone(), outcome, trace });
    }
    Ok(taken)
}

impl Taken {
    fn any(&self) -> bool {
        self.traces.benchmarks.iter().any(|traced| traced.trace.facts().is_some())
    }

    fn exit_code(&self, plan: &Plan, workers_failed: bool) -> u8 {
        let expected = plan.cases.iter().flat_map(|case| &case.sides).map(|side| side.expect);
        let mut traced = self.traces.benchmarks.iter().zip(expected);
        let failed = traced.any(|(traced, expected)| has_failed(traced.outcome.kind, expected));
        exit_code(self.interrupted, workers_failed || failed, self.any())
    }
}
