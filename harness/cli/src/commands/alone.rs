//! What `profile`, `trace` and `memory` have in common: benchmarks that are launched alone, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use perfharness_contract::{Effort, OutcomeKind};

use super::Terminal;
use super::asked::{Asked, untimed};
use crate::args::ConditionOpts;
use crate::config::Config;
use crate::exit::{CommandError, Exit};
use perfharness_engine::measure::ProcessExecutor;
use perfharness_engine::plan::{Catalog, Plan};

/// What was asked for.
pub(super) struct Alone {
    pub(super) plan: Plan,
    pub(super) catalog: Catalog,
    pub(super) executor: ProcessExecutor,
}

impl Alone {
    /// Finds the benchmarks that patterns select. From here on Ctrl-C ends in good order what follows.
    pub(super) fn asked(
        patterns: &[String],
        opts: &ConditionOpts,
        config: &Config,
        terminal: &Terminal,
    ) -> Result<Self, CommandError> {
        let request = untimed(patterns, opts, config, config.run.effort.unwrap_or(Effort::Quick))?;
        let asked = Asked::of(request, opts, config, terminal)?;
        let plan = asked.plan(asked.selection()?);
        stop_on_interrupt(&asked.interrupted)?;
        let executor = asked.executor(&[]);
        Ok(Self { plan, catalog: asked.catalog, executor })
    }
}

/// Lets Ctrl-C end in good order what is under way.
pub(super) fn stop_on_interrupt(interrupted: &Arc<AtomicBool>) -> Result<(), CommandError> {
    let asked_to_stop = Arc::clone(interrupted);
    ctrlc::set_handler(move || asked_to_stop.store(true, Ordering::Relaxed))
        .context("cannot listen to Ctrl-C")?;
    Ok(())
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
