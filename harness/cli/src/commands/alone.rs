//! The shared part of `profile`, `trace` and `memory`: benchmarks that are launched alone, one after the other.

use perfharness_contract::{Effort, OutcomeKind};
use perfharness_engine::plan::Catalog;
use perfharness_engine::run::{PlannedRun, RunSpec};

use super::Terminal;
use super::request::untimed;
use crate::args::ConditionOpts;
use crate::config::Config;
use crate::exit::{CommandError, Exit};
use crate::listener::Shown;

/// Plans launches of the benchmarks that patterns select.
pub(super) fn prepare(
    patterns: &[String],
    opts: &ConditionOpts,
    config: &Config,
    terminal: &Terminal,
) -> Result<PlannedRun, CommandError> {
    prepare_for(untimed(patterns, opts, config, config.run.effort.unwrap_or(Effort::Quick))?, terminal)
}

/// Plans the launches of a request. From here on Ctrl-C ends them in good order.
pub(super) fn prepare_for(request: RunSpec, terminal: &Terminal) -> Result<PlannedRun, CommandError> {
    let mut listener = Shown::new(&request.interrupted, terminal);
    let planned = PlannedRun::new(request, &mut listener)?;
    listener.hear_interrupts().map_err(anyhow::Error::msg)?;
    Ok(planned)
}

/// Whether a worker gave no workloads.
pub(super) fn workers_failed(catalog: &Catalog) -> bool {
    catalog.workers.iter().any(|worker| worker.outcome.kind != OutcomeKind::Ok)
}

/// Whether a benchmark failed that should not have.
pub(super) fn has_failed(outcome: OutcomeKind, expected: OutcomeKind) -> bool {
    !matches!(outcome, OutcomeKind::Ok | OutcomeKind::Skipped) && outcome != expected
}

/// The exit code of such a command, the first that applies.
pub(super) fn exit_code(interrupted: bool, failed: bool, anything: bool) -> u8 {
    if interrupted {
        Exit::INTERRUPTED
    } else if failed {
        Exit::BENCHMARK_FAILED
    } else if anything {
        Exit::OK
    } else {
        Exit::UNDECIDED
    }
}
