//! `perfharness baseline`

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use perfharness_contract::Effort;
use perfharness_engine::{fingerprint, source_state};
use perfharness_record::baseline::accept::{AcceptError, AcceptTerms, accept};
use perfharness_record::baseline::{Baseline, difference, file};
use perfharness_record::{Pattern, RunRecord, file as record_file};
use perfharness_report::render::{render_baseline, render_changes};

use super::Terminal;
use super::gate::baselines_at;
use super::places::place_of;
use super::request::or_all;
use crate::args::{
    AcceptOpts, BaselineCommand, BaselineDiffOpts, BaselineFileOpts, ConditionOpts, MeasureOpts,
};
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::versions::Repository;

/// Accepts figures, or shows what is accepted.
pub(super) fn baseline(
    command: &BaselineCommand,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    match command {
        BaselineCommand::Accept(opts) => accepted(opts, config_path, terminal),
        BaselineCommand::Show(opts) => show(opts, terminal),
        BaselineCommand::Diff(opts) => diff(opts, terminal),
        BaselineCommand::Check(opts) => check(opts, terminal),
    }
}

fn accepted(opts: &AcceptOpts, config_path: Option<&Path>, terminal: &Terminal) -> CommandResult {
    let only = opts.only.iter().map(|text| text.parse()).collect::<Result<Vec<Pattern>, _>>()?;
    let paths = match opts.runs {
        Some(runs) => measure(runs, opts, config_path, terminal)?,
        None => opts.records.clone(),
    };
    let records = paths.iter().map(|path| record_file::read(path)).collect::<Result<Vec<RunRecord>, _>>()?;
    let first = records.first().ok_or(AcceptError::NoRecord)?;
    let before = file::read_class(&opts.folder.baselines, &first.machine.class)?;
    let terms = AcceptTerms { only: &only, reason: &opts.reason, when: now() };
    let made = accept(&records, before.as_ref(), &terms)?;
    for remark in &made.remarks {
        terminal.warn(remark);
    }
    let path = file::write(&opts.folder.baselines, &made.baseline)?;
    let changed = before.map_or(0, |before| difference::changes(&before, &made.baseline).len());
    let text = format!(
        "accepted {} benchmarks of {} runs into {}; {changed} changes\n",
        made.accepted.len(),
        records.len(),
        path.display()
    );
    terminal.print(&text)
}

/// Seconds are enough to tell when.
fn now() -> String {
    let now = Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// Runs this program so often, because runs that share a process would share its luck.
fn measure(
    runs: u32,
    opts: &AcceptOpts,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> Result<Vec<PathBuf>, CommandError> {
    // What a gate is going to measure, so that it finds everything accepted.
    let effort = Config::load(config_path)?.gate.effort.unwrap_or(Effort::Standard);
    let program = std::env::current_exe()
        .map_err(|error| anyhow::Error::new(error).context("cannot find the path of this program"))?;
    let place = place_of(&source_state(), "baseline");
    let code = fingerprint();
    let mut paths = Vec::new();
    for number in 1..=runs {
        let path = place.with_file_name(format!("run-{number}.json"));
        // Runs of different code are not accepted together; better said before the time for the others is spent.
        if fingerprint() != code {
            let what = format!("the code here has changed before run {number} of {runs}");
            return Err(CommandError::Usage(nothing_accepted(&what, &paths)));
        }
        terminal.hint(&format!("run {number} of {runs}"));
        let status = Command::new(&program)
            .args(["run", "--quiet", "--json", "--output"])
            .arg(&path)
            .args(as_arguments(&opts.measure, effort, config_path))
            .args(or_all(&opts.only))
            .stdout(std::process::Stdio::null())
            .status()
            .map_err(|error| anyhow::Error::new(error).context("cannot start a run"))?;
        match status.code() {
            Some(code) if code == i32::from(Exit::OK) => paths.push(path),
            Some(code) if code == i32::from(Exit::INTERRUPTED) => {
                return Err(CommandError::Usage(nothing_accepted("interrupted", &paths)));
            }
            _ => {
                let what = nothing_accepted(&format!("run {number} ended with {status}"), &paths);
                return Err(CommandError::Other(anyhow::Error::msg(what)));
            }
        }
    }
    Ok(paths)
}

/// Why nothing was accepted, and how to accept the runs that are whole.
fn nothing_accepted(why: &str, whole: &[PathBuf]) -> String {
    if whole.is_empty() {
        return format!("{why}; nothing was accepted");
    }
    let quoted = |path: &PathBuf| {
        let path = path.to_string_lossy();
        shlex::try_quote(&path).map_or_else(|_| path.to_string(), Cow::into_owned)
    };
    let paths: Vec<String> = whole.iter().map(quoted).collect();
    format!(
        "{why}; nothing was accepted. The runs before it are whole: `perfharness baseline accept {} --reason ...` accepts those",
        paths.join(" ")
    )
}

/// The flags again, for a run of its own.
fn as_arguments(opts: &MeasureOpts, default: Effort, config_path: Option<&Path>) -> Vec<String> {
    let MeasureOpts { time_budget, launches, no_telemetry, no_instructions, conditions } = opts;
    let ConditionOpts { effort, seed, memory_limit, set, images, worker } = conditions;
    let mut words = Vec::new();
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([format!("--{name}"), value]);
        }
    };
    flag("config", config_path.map(|path| path.to_string_lossy().into_owned()));
    flag("effort", Some(effort.map_or(default, Effort::from).as_str().to_owned()));
    flag("time-budget", time_budget.map(|time| format!("{}ms", time.as_millis())));
    flag("launches", launches.map(|n| n.to_string()));
    flag("seed", seed.map(|n| n.to_string()));
    flag("memory-limit", memory_limit.map(|n| format!("{n}B")));
    flag("images", images.clone());
    flag("device", worker.device.clone());
    flag("timeout", Some(format!("{}ms", worker.timeout.as_millis())));
    for (name, value) in set {
        flag("set", Some(format!("{name}={value}")));
    }
    for command in &worker.workers {
        flag("worker", Some(command.clone()));
    }
    if *no_telemetry {
        words.push("--no-telemetry".into());
    }
    if *no_instructions {
        words.push("--no-instructions".into());
    }
    words
}

fn some_of(folder: &Path, classes: &[String]) -> Result<Vec<Baseline>, CommandError> {
    if classes.is_empty() {
        let all = file::read_all(folder)?;
        let none = || {
            format!(
                "there are no accepted figures in {}; `perfharness baseline accept` makes some",
                folder.display()
            )
        };
        return if all.is_empty() { Err(CommandError::Usage(none())) } else { Ok(all) };
    }
    let named = |class: &String| {
        let found = file::read_class(folder, class)?;
        found.ok_or_else(|| {
            let path = folder.join(file::name_for(class));
            CommandError::Usage(format!("there are no accepted figures at {}", path.display()))
        })
    };
    classes.iter().map(named).collect()
}

fn show(opts: &BaselineFileOpts, terminal: &Terminal) -> CommandResult {
    for baseline in some_of(&opts.folder.baselines, &opts.classes)? {
        terminal.print_styled(&render_baseline(&baseline, Terminal::layout()))?;
    }
    Ok(Exit::OK)
}

fn check(opts: &BaselineFileOpts, terminal: &Terminal) -> CommandResult {
    for baseline in some_of(&opts.folder.baselines, &opts.classes)? {
        let text = format!("{}: {} benchmarks, whole\n", baseline.class, baseline.benchmarks.len());
        terminal.print(&text)?;
    }
    Ok(Exit::OK)
}

fn diff(opts: &BaselineDiffOpts, terminal: &Terminal) -> CommandResult {
    let repository = Repository::find()?;
    let before = baselines_at(&repository, &opts.base, &opts.folder.baselines)?;
    let after = file::read_all(&opts.folder.baselines)?;
    let classes: std::collections::BTreeSet<&str> =
        before.iter().chain(&after).map(|baseline| baseline.class.as_str()).collect();
    for class in classes {
        let of = |all: &'_ [Baseline]| all.iter().find(|b| b.class == class).cloned();
        let text = match (of(&before), of(&after)) {
            (Some(before), Some(after)) => render_changes(class, &difference::changes(&before, &after)),
            (None, Some(after)) => format!("{class}: new, {} benchmarks\n", after.benchmarks.len()),
            (Some(before), None) => format!("{class}: gone, {} benchmarks\n", before.benchmarks.len()),
            (None, None) => String::new(),
        };
        terminal.print(&text)?;
    }
    Ok(Exit::OK)
}
