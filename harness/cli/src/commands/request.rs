//! The request that flags and configuration make together, the flags over the configuration. There is none when a worker's
//! command line cannot be read.

use perfharness_contract::Effort;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::{RunSpec, SettingPaths};

use super::workers;
use crate::args::{ConditionOpts, MeasureOpts};
use crate::config::{Config, InstructionMeter};
use crate::exit::CommandError;

/// The patterns that were given, or `all`.
pub(super) fn or_all(patterns: &[String]) -> Vec<String> {
    if patterns.is_empty() { vec!["all".into()] } else { patterns.to_vec() }
}

/// The request for a run.
pub(super) fn timed(
    patterns: &[String],
    opts: &MeasureOpts,
    config: &Config,
    effort: Effort,
) -> Result<RunSpec, CommandError> {
    let mut spec = untimed(patterns, &opts.conditions, config, effort)?;
    spec.run.time_budget = opts.time_budget;
    spec.run.launches = opts.launches;
    spec.telemetry = !opts.no_telemetry;
    spec.instructions = config.meters.instructions == InstructionMeter::Auto && !opts.no_instructions;
    Ok(spec)
}

/// The request for launches in which nothing is timed.
pub(super) fn untimed(
    patterns: &[String],
    opts: &ConditionOpts,
    config: &Config,
    effort: Effort,
) -> Result<RunSpec, CommandError> {
    let device = opts.worker.device.clone().or_else(|| config.run.device.clone());
    let run = RunRequest {
        patterns: patterns.to_vec(),
        effort: opts.effort.map_or(effort, Effort::from),
        time_budget: None,
        seed: opts.seed.or(config.run.seed).unwrap_or(1),
        device: device.unwrap_or_else(|| "auto".into()),
        settings: config.settings.clone().into_iter().chain(flags(opts)).collect(),
        workers: workers::commands(&opts.worker, config)?,
        launches: None,
        memory_limit_bytes: opts.memory_limit,
        timeout: opts.worker.timeout,
    };
    let by_flag = flags(opts).map(|(name, _)| name).collect();
    Ok(RunSpec {
        settings: SettingPaths::Written { folder: config.folder.clone(), by_flag },
        machine_class: config.machine.class.clone(),
        arguments: std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect(),
        ..RunSpec::new(run)
    })
}

fn flags(opts: &ConditionOpts) -> impl Iterator<Item = (String, String)> {
    let images = opts.images.iter().map(|folder| ("images".to_owned(), folder.clone()));
    opts.set.iter().cloned().chain(images)
}
