//! `perfharness list`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Terminal, workers};
use crate::args::ListOpts;
use crate::config::Config;
use crate::exit::CommandResult;
use crate::plan_text::render_list;
use perfharness_engine::measure::ProcessExecutor;
use perfharness_engine::plan::select;
use perfharness_record::Pattern;

/// Lists what the workers can do.
pub(super) fn list(opts: &ListOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let patterns = opts.patterns.iter().map(|p| p.parse()).collect::<Result<Vec<Pattern>, _>>()?;
    let commands = workers::commands(&opts.worker, config)?;
    let device = opts.worker.device.as_ref().or(config.run.device.as_ref()).map_or("auto", String::as_str);
    let mut executor = ProcessExecutor::new(commands.clone(), Arc::new(AtomicBool::new(false)));
    let mut catalog = workers::catalog(&mut executor, &commands, 1, device, opts.worker.timeout, terminal)?;
    workers::insist_on_workloads(&catalog)?;
    if !patterns.is_empty() {
        let selection = select(&catalog, &patterns, perfharness_contract::Effort::Thorough)?;
        catalog.entries.retain(|e| selection.cases.iter().any(|c| c.workload == e.definition.id));
    }
    if opts.json {
        let definitions: Vec<_> = catalog.entries.iter().map(|e| &e.definition).collect();
        return terminal.print_json(&serde_json::json!({
            "workers": catalog.workers,
            "workloads": definitions,
        }));
    }
    terminal.print_styled(&render_list(&catalog))
}
