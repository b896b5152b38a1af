//! Showing what a gate found, and the exit code that follows.

use std::io::Write as _;
use std::path::Path;

use perfharness_platform::env;
use perfharness_verdict::judge::GateOutcome;

use super::super::Terminal;
use crate::args::{FailOn, ShowGateOpts};
use crate::compare::GateReport;
use crate::exit::CommandResult;
use crate::record::file::{RecordError, write_atomically};
use crate::render::{GateFormat, render_gate};

/// Prints what was found, writes the files that were asked for, and tells the exit code. The JSON also goes beside the
/// record, where there is one.
pub(in crate::commands) fn finish(
    report: &GateReport,
    opts: &ShowGateOpts,
    record: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    let layout = Terminal::layout();
    let beside = record.map(|record| record.with_file_name("gate.json"));
    let files = [
        (&opts.markdown, GateFormat::Markdown),
        (&opts.junit, GateFormat::Junit),
        (&opts.json_report, GateFormat::Json),
        (&beside, GateFormat::Json),
    ];
    for (path, format) in files {
        if let Some(path) = path {
            let text = render_gate(report, format, layout)?;
            write_atomically(path, text.as_bytes())
                .map_err(|source| RecordError::Write { path: path.clone(), source })?;
        }
    }
    terminal.print(&render_gate(report, opts.format, layout)?)?;
    // Annotations come without the whole result, so the summary of the job has it. That it cannot be written fails nothing.
    if opts.format == GateFormat::Github
        && let Some(summary) = env::var("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty())
    {
        let text = render_gate(report, GateFormat::Markdown, layout)?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&summary);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            terminal.warn(&format!("cannot write the summary of the job to {summary}: {error}"));
        }
    }
    Ok(exit_code(report.outcome, &opts.fail_on))
}

/// What the user does not want to fail for ends well. Nothing compared is never good.
fn exit_code(outcome: GateOutcome, fail_on: &[FailOn]) -> u8 {
    let kind = match outcome {
        GateOutcome::Regressed => FailOn::Regressed,
        GateOutcome::Failed => FailOn::Failed,
        GateOutcome::Undecided => FailOn::Undecided,
        GateOutcome::Ok | GateOutcome::NothingCompared | GateOutcome::HarnessFailed | GateOutcome::Usage => {
            return outcome.exit_code();
        }
    };
    if fail_on.contains(&kind) { outcome.exit_code() } else { GateOutcome::Ok.exit_code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fail_is_up_to_the_user_except_for_nothing() {
        let all = [FailOn::Regressed, FailOn::Failed, FailOn::Undecided];
        assert_eq!(exit_code(GateOutcome::Regressed, &all), 3);
        assert_eq!(exit_code(GateOutcome::Undecided, &all), 4);
        assert_eq!(exit_code(GateOutcome::Failed, &all), 5);
        assert_eq!(exit_code(GateOutcome::Undecided, &all[..2]), 0);
        assert_eq!(exit_code(GateOutcome::NothingCompared, &[]), 4);
        assert_eq!(exit_code(GateOutcome::Ok, &all), 0);
    }
}
