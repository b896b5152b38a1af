//! `perfharness list`

use std::sync::Arc;

use perfharness_contract::Effort;
use perfharness_engine::plan::select;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::ask_workers;
use perfharness_record::Pattern;

use super::{Terminal, workers};
use crate::args::ListOpts;
use crate::config::Config;
use crate::exit::CommandResult;
use crate::listener::Shown;
use crate::plan_text::render_list;

/// Lists what the workers can do.
pub(super) fn list(opts: &ListOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let patterns = opts.patterns.iter().map(|p| p.parse()).collect::<Result<Vec<Pattern>, _>>()?;
    let device = opts.worker.device.as_ref().or(config.run.device.as_ref()).map_or("auto", String::as_str);
    let request = RunRequest {
        device: device.into(),
        timeout: opts.worker.timeout,
        ..RunRequest::new(Vec::<String>::new(), Effort::Thorough, workers::commands(&opts.worker, config)?)
    };
    let mut listener = Shown::new(&Arc::default(), terminal);
    let mut catalog = ask_workers(&request, &mut listener)?;
    if !patterns.is_empty() {
        let selection = select(&catalog, &patterns, Effort::Thorough)?;
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
