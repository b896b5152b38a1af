//! Twenty known causes of a slowdown, planted one at a time in a small program: does a gate name them?

mod worker;

use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum as _;
use perfharness_contract::Effort;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::Listener;
use perfharness_record::WorkerCommand;
use perfharness_record::compare::{GatePolicy, GateReport};
use perfharness_report::render::{GateFormat, Layout, render_gate};
use perfharness_verdict::judge::Verdict;

use crate::gated::{Asked, gated};
use crate::{CausesOpts, say};
pub(crate) use worker::{Cause, serve};

/// Lines of a gate's answer that a person reads at once: a row, its figures, and what moved with them.
const READ_AT_ONCE: usize = 3;

/// Prints for each cause whether a gate found it and named it in its first lines.
pub(crate) fn run(opts: &CausesOpts) -> anyhow::Result<()> {
    let asked: Vec<Cause> = Cause::value_variants()
        .iter()
        .copied()
        .filter(|cause| *cause != Cause::None && (opts.causes.is_empty() || opts.causes.contains(cause)))
        .collect();
    let (mut found, mut named) = (0, 0);
    for cause in &asked {
        let report = gate(*cause, opts)?;
        let regressed = report.rows.iter().any(|row| row.judgement.verdict == Verdict::Regressed);
        let lines = first_lines(&report)?;
        let name = cause.names().iter().find(|name| lines.iter().any(|line| line.contains(*name)));
        found += usize::from(regressed);
        named += usize::from(name.is_some());
        let told = name.map_or("not named".to_owned(), |name| format!("named by `{name}`"));
        say(&format!("{}: {}, {told}", cause.name(), if regressed { "found" } else { "not found" }));
        for line in lines {
            say(&format!("    {}", line.trim()));
        }
    }
    say(&format!("{found} of {} found, {named} named in the first {READ_AT_ONCE} lines", asked.len()));
    Ok(())
}

/// Returns the first lines of what a gate says of its rows.
fn first_lines(report: &GateReport) -> anyhow::Result<Vec<String>> {
    let text = render_gate(report, GateFormat::Text, Layout { width: u16::MAX })?;
    // The tally and what was compared stand above the row.
    Ok(text.lines().skip(2).take(READ_AT_ONCE).map(str::to_owned).collect())
}

/// Gates the program with a cause against itself without.
fn gate(cause: Cause, opts: &CausesOpts) -> anyhow::Result<GateReport> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let worker = |cause: Cause| WorkerCommand {
        name: cause.name(),
        command: vec![program.to_string_lossy().into_owned(), "causes-worker".into(), cause.name()],
        ..WorkerCommand::default()
    };
    let run = RunRequest {
        time_budget: Some(Duration::from_secs_f64(opts.time_budget)),
        ..RunRequest::new(vec![worker::WORKLOAD.to_owned()], Effort::Quick, vec![worker(cause)])
    };
    let (base, policy) = (worker(Cause::None), GatePolicy::default());
    let asked = Asked { base, run, policy, sample: None, instructions: true };
    Ok(gated(asked, &mut Silent)?.1)
}

/// A listener that nothing reaches.
struct Silent;

impl Listener for Silent {}
