//! What the user asks for: flags over configuration, and the workers that are to do it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use perfharness_contract::{Effort, SettingKind};

use super::{Terminal, workers};
use crate::args::MeasureOpts;
use crate::config::Config;
use crate::exit::CommandError;
use crate::measure::{ProcessExecutor, WorkerCommand};
use crate::plan::Catalog;
use crate::request::RunRequest;

/// What arguments and configuration say together.
///
/// # Errors
/// When a worker's command line cannot be read.
pub(super) fn request(
    patterns: &[String],
    opts: &MeasureOpts,
    config: &Config,
    effort: Effort,
) -> Result<RunRequest, CommandError> {
    let device = opts.worker.device.clone().or_else(|| config.run.device.clone());
    Ok(RunRequest {
        patterns: patterns.to_vec(),
        effort: opts.effort.map(Effort::from).or(config.run.effort).unwrap_or(effort),
        time_budget: opts.time_budget,
        seed: opts.seed.or(config.run.seed).unwrap_or(1),
        device: device.unwrap_or_else(|| "auto".into()),
        settings: settings(opts, config),
        workers: workers::commands(&opts.worker, config)?,
        launches: opts.launches,
        memory_limit_bytes: opts.memory_limit,
        timeout: opts.worker.timeout,
    })
}

/// Asks workers for their workloads.
///
/// # Errors
/// Those of [`workers::catalog`].
pub(super) fn describe(
    request: &RunRequest,
    commands: &[WorkerCommand],
    interrupted: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<Catalog, CommandError> {
    let mut executor = ProcessExecutor::new(commands.to_vec(), Arc::clone(interrupted));
    let (seed, device) = (request.seed, &request.device);
    workers::catalog(&mut executor, commands, seed, device, request.timeout, terminal)
}

/// The configuration's settings, and over them those of the flags.
fn settings(opts: &MeasureOpts, config: &Config) -> BTreeMap<String, String> {
    let mut settings = config.settings.clone();
    settings.extend(opts.set.iter().cloned());
    settings.extend(opts.images.iter().map(|folder| ("images".to_owned(), folder.clone())));
    settings
}

/// Makes paths that the configuration sets relative to where they are looked up from: workers start in the folder that
/// this program is started in, and a flag means that one.
pub(super) fn place_paths(
    settings: &mut BTreeMap<String, String>,
    opts: &MeasureOpts,
    config: &Config,
    catalog: &Catalog,
) {
    let defined = catalog.entries.iter().flat_map(|e| &e.definition.settings);
    for path in defined.filter(|s| s.kind == SettingKind::Path) {
        let by_flag = opts.set.iter().any(|(name, _)| path.name.as_str() == name)
            || (opts.images.is_some() && path.name == "images");
        if let Some(text) = config.settings.get(path.name.as_str()).filter(|_| !by_flag) {
            let placed = config.folder.join(text).to_string_lossy().into_owned();
            settings.insert(path.name.to_string(), placed);
        }
    }
}

/// Refuses names that no workload asks for: a misspelt one would silently do nothing. The configuration may have
/// settings of workloads that are not there today.
///
/// # Errors
/// When there is such a name.
pub(super) fn check_settings(opts: &MeasureOpts, catalog: &Catalog) -> Result<(), CommandError> {
    let known: BTreeSet<&str> =
        catalog.entries.iter().flat_map(|e| &e.definition.settings).map(|s| s.name.as_str()).collect();
    let mut asked =
        opts.set.iter().map(|(name, _)| name.as_str()).chain(opts.images.as_ref().map(|_| "images"));
    let Some(unknown) = asked.find(|name| !known.contains(name)) else { return Ok(()) };
    let known = if known.is_empty() {
        "no workload here has any".to_owned()
    } else {
        format!("there are: {}", known.into_iter().collect::<Vec<_>>().join(", "))
    };
    Err(CommandError::Usage(format!("no workload has a setting `{unknown}`; {known}")))
}
