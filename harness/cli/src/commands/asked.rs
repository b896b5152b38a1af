//! What the user asks for: flags over configuration, and what the workers have of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use perfharness_contract::{Effort, SettingKind};

use super::{Terminal, workers};
use crate::args::{ConditionOpts, MeasureOpts};
use crate::config::Config;
use crate::exit::CommandError;
use perfharness_engine::measure::ProcessExecutor;
use perfharness_engine::plan::{Catalog, Plan, Selection, defined_by_base, select};
use perfharness_engine::request::RunRequest;
use perfharness_record::WorkerCommand;
use perfharness_record::{Pattern, Redefinition};

/// What arguments and configuration say together, of whatever is measured.
///
/// # Errors
/// When a worker's command line cannot be read.
pub(super) fn request(
    patterns: &[String],
    opts: &MeasureOpts,
    config: &Config,
    effort: Effort,
) -> Result<RunRequest, CommandError> {
    let untimed = untimed(patterns, &opts.conditions, config, effort)?;
    Ok(RunRequest { time_budget: opts.time_budget, launches: opts.launches, ..untimed })
}

/// What arguments and configuration say together, where no time is measured.
///
/// # Errors
/// When a worker's command line cannot be read.
pub(super) fn untimed(
    patterns: &[String],
    opts: &ConditionOpts,
    config: &Config,
    effort: Effort,
) -> Result<RunRequest, CommandError> {
    let device = opts.worker.device.clone().or_else(|| config.run.device.clone());
    Ok(RunRequest {
        patterns: patterns.to_vec(),
        effort: opts.effort.map_or(effort, Effort::from),
        time_budget: None,
        seed: opts.seed.or(config.run.seed).unwrap_or(1),
        device: device.unwrap_or_else(|| "auto".into()),
        settings: settings(opts, config),
        workers: workers::commands(&opts.worker, config)?,
        launches: None,
        memory_limit_bytes: opts.memory_limit,
        timeout: opts.worker.timeout,
    })
}

/// What was asked for, and what the workers have.
pub(super) struct Asked {
    /// What the user asked for.
    pub(super) request: RunRequest,
    /// What the workers have.
    pub(super) catalog: Catalog,
    /// Set by Ctrl-C, once somebody listens to it.
    pub(super) interrupted: Arc<AtomicBool>,
    patterns: Vec<Pattern>,
    /// The request's settings, with the configuration's paths made relative to here.
    settings: BTreeMap<String, String>,
}

impl Asked {
    /// Asks the workers of a request.
    ///
    /// # Errors
    /// When a pattern or a setting is none, and those of [`workers::catalog`].
    pub(super) fn of(
        request: RunRequest,
        opts: &ConditionOpts,
        config: &Config,
        terminal: &Terminal,
    ) -> Result<Self, CommandError> {
        let patterns = request.parsed_patterns()?;
        let interrupted = Arc::new(AtomicBool::new(false));
        let catalog = describe(&request, &request.workers, &interrupted, terminal)?;
        workers::insist_on_workloads(&catalog)?;
        check_settings(opts, &catalog)?;
        let settings = placed(&request, opts, config, &catalog);
        Ok(Self { request, catalog, interrupted, patterns, settings })
    }

    /// What the patterns select of what the workers have.
    ///
    /// # Errors
    /// When one selects nothing.
    pub(super) fn selection(&self) -> Result<Selection, CommandError> {
        Ok(select(&self.catalog, &self.patterns, self.request.effort)?)
    }

    /// The workloads of other workers, and the patterns' selection of them: maybe nothing, which is no mistake of the user's, and
    /// maybe because none of the workers works, which is for the gate to tell.
    ///
    /// # Errors
    /// Those of [`workers::catalog`].
    pub(super) fn of_others(
        &self,
        commands: &[WorkerCommand],
        terminal: &Terminal,
    ) -> Result<(Catalog, Selection), CommandError> {
        let catalog = describe(&self.request, commands, &self.interrupted, terminal)?;
        let effort = self.request.effort;
        let is_known = |pattern: &&Pattern| select(&catalog, &[(*pattern).clone()], effort).is_ok();
        let known: Vec<Pattern> = self.patterns.iter().filter(is_known).cloned().collect();
        let selection = select(&catalog, &known, effort).unwrap_or_default();
        Ok((catalog, selection))
    }

    /// Takes the definitions of a base for those of what it has, too, and tells what differs.
    pub(super) fn define_by(
        &mut self,
        base: &Catalog,
        opts: &ConditionOpts,
        config: &Config,
    ) -> Vec<Redefinition> {
        let (catalog, redefined) = defined_by_base(&self.catalog, base);
        self.catalog = catalog;
        self.settings = placed(&self.request, opts, config, &self.catalog);
        redefined
    }

    /// The plan for a selection.
    pub(super) fn plan(&self, selection: Selection) -> Plan {
        Plan { settings: self.settings.clone(), ..self.request.plan(selection) }
    }

    /// What starts the workers, and behind them those of `others`.
    pub(super) fn executor(&self, others: &[WorkerCommand]) -> ProcessExecutor {
        let all = self.request.workers.iter().chain(others).cloned().collect();
        ProcessExecutor::new(all, Arc::clone(&self.interrupted))
    }
}

fn describe(
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
fn settings(opts: &ConditionOpts, config: &Config) -> BTreeMap<String, String> {
    let mut settings = config.settings.clone();
    settings.extend(opts.set.iter().cloned());
    settings.extend(opts.images.iter().map(|folder| ("images".to_owned(), folder.clone())));
    settings
}

/// Makes paths in settings lead to what they mean, from where they are looked up. Workers start in the folder that this
/// program is started in, which a flag means, too, and not the configuration; or else each in the configuration's folder of
/// its own version, whose files the configuration then means.
fn placed(
    request: &RunRequest,
    opts: &ConditionOpts,
    config: &Config,
    catalog: &Catalog,
) -> BTreeMap<String, String> {
    let mut settings = request.settings.clone();
    let are_apart = request.workers.iter().any(|worker| worker.folder.is_some());
    let defined = catalog.entries.iter().flat_map(|e| &e.definition.settings);
    for path in defined.filter(|s| s.kind == SettingKind::Path) {
        let by_flag = opts.set.iter().any(|(name, _)| path.name.as_str() == name)
            || (opts.images.is_some() && path.name == "images");
        let Some(text) = request.settings.get(path.name.as_str()) else { continue };
        let placed = match (by_flag, are_apart) {
            (true, true) => std::path::absolute(text).unwrap_or_else(|_| text.into()),
            (false, false) => config.folder.join(text),
            (true, false) | (false, true) => text.into(),
        };
        settings.insert(path.name.to_string(), placed.to_string_lossy().into_owned());
    }
    settings
}

/// Refuses names that no workload asks for: a misspelt one would silently do nothing. The configuration may have
/// settings of workloads that are not there today.
fn check_settings(opts: &ConditionOpts, catalog: &Catalog) -> Result<(), CommandError> {
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
