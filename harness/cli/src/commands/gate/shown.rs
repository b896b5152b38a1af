//! Showing what a gate found, and the exit code that follows.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use perfharness_engine::journal::Journal;
use perfharness_platform::env;
use perfharness_record::compare::GateReport;
use perfharness_record::file::{RecordError, through_links, write_atomically};
use perfharness_report::render::{GateFormat, render_gate};
use perfharness_verdict::judge::{GateOutcome, Judgement};

use super::super::Terminal;
use crate::args::{FailOn, ShowGateOpts};
use crate::exit::{CommandError, CommandResult};

/// Name of the file beside a record with what was found.
const BESIDE: &str = "gate.json";

/// Refuses, before anything is measured, places where one file would replace another: the record that is `made`, those
/// that are `read`, and the files that were asked for.
pub(in crate::commands) fn check_places(
    opts: &ShowGateOpts,
    made: Option<&Path>,
    read: &[&Path],
) -> Result<(), CommandError> {
    let mut taken: Vec<(PathBuf, &str)> =
        read.iter().map(|path| (full(path), "a record that is read")).collect();
    if let Some(record) = made {
        let place = full(record);
        taken.push((place.with_extension("samples.parquet"), "the samples"));
        taken.push((Journal::path_for(&place), "the journal"));
        taken.push((place, "the record"));
    }
    // The same JSON may go to the same file twice.
    let beside = made.map(|record| record.with_file_name(BESIDE));
    let json = opts.json_report.as_ref().filter(|path| beside.as_ref().is_none_or(|b| full(b) != full(path)));
    let written = [
        (beside.as_deref(), "what the gate finds"),
        (json.map(PathBuf::as_path), "the file of --json-report"),
        (opts.markdown.as_deref(), "the file of --markdown"),
        (opts.junit.as_deref(), "the file of --junit"),
    ];
    for (path, what) in written.into_iter().filter_map(|(path, what)| Some((path?, what))) {
        // A device may take several of them.
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            continue;
        }
        let place = full(path);
        if let Some((_, other)) = taken.iter().find(|(other, _)| *other == place) {
            return Err(CommandError::Usage(format!(
                "{} would be both {other} and {what}; name another file",
                path.display()
            )));
        }
        taken.push((place, what));
    }
    Ok(())
}

/// A path from the root without links, so that two ways to name a file are seen to be one.
fn full(path: &Path) -> PathBuf {
    let place = through_links(path);
    let inside = || Some(place.parent()?.canonicalize().ok()?.join(place.file_name()?));
    let known = place.canonicalize().ok().or_else(inside).or_else(|| std::path::absolute(&place).ok());
    known.unwrap_or(place)
}

/// Prints what was found, writes the files that were asked for, and tells the exit code. The JSON also goes beside the
/// record, where there is one.
pub(in crate::commands) fn finish(
    report: &GateReport,
    opts: &ShowGateOpts,
    record: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    let layout = Terminal::layout();
    let beside = record.map(|record| record.with_file_name(BESIDE));
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
    terminal.print_gate(&render_gate(report, opts.format, layout)?, opts.format)?;
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
    let judgements: Vec<&Judgement> = report.rows.iter().map(|row| &row.judgement).collect();
    Ok(exit_code(&judgements, &opts.fail_on))
}

/// Leaves out what the user does not want to fail for. Nothing compared is never good, nor is a change of how something is
/// measured, which could hide all the rest.
fn exit_code(judgements: &[&Judgement], fail_on: &[FailOn]) -> u8 {
    let counts = |outcome: &GateOutcome| match outcome {
        GateOutcome::Regressed => fail_on.contains(&FailOn::Regressed),
        GateOutcome::Failed => fail_on.contains(&FailOn::Failed),
        GateOutcome::Undecided => fail_on.contains(&FailOn::Undecided),
        GateOutcome::Ok | GateOutcome::Redefined | GateOutcome::NothingCompared => true,
    };
    let whole = GateOutcome::of(judgements.iter().copied());
    let nothing = (whole == GateOutcome::NothingCompared).then_some(whole);
    let rows = judgements.iter().map(|judgement| judgement.outcome()).filter(counts);
    rows.chain(nothing).max().unwrap_or(GateOutcome::Ok).exit_code()
}

#[cfg(test)]
mod tests {
    use perfharness_verdict::judge::{Direction, SizePolicy, judge_size};

    use super::*;

    fn grown(by: f64) -> Judgement {
        judge_size(1.0, 1.0 + by, SizePolicy::COUNTS, Direction::Lower).unwrap()
    }

    #[test]
    fn what_does_not_fail_is_up_to_the_user_except_for_nothing_and_another_measure() {
        let all = [FailOn::Regressed, FailOn::Failed, FailOn::Undecided];
        let (same, worse) = (grown(0.0), grown(100.0));
        let open = Judgement::skipped("too late");
        let (failed, changed) = (Judgement::failed("crashed"), Judgement::changed(["its role"]));
        let code = |rows: &[&Judgement], fail_on: &[FailOn]| exit_code(rows, fail_on);
        assert_eq!(code(&[&same, &worse, &open], &all), 3);
        assert_eq!(code(&[&same, &open], &all), 4);
        assert_eq!(code(&[&same, &failed, &worse, &changed], &all), 5);
        assert_eq!(code(&[&same, &open], &all[..2]), 0);
        // What is excused does not excuse what is behind it.
        assert_eq!(code(&[&same, &open, &worse], &all[2..]), 4);
        assert_eq!(code(&[&same, &worse, &failed], &all[..1]), 3);
        assert_eq!(code(&[&open], &[]), 4);
        assert_eq!(code(&[], &[]), 4);
        assert_eq!(code(&[&same, &changed], &[]), 4);
        assert_eq!(code(&[&same], &all), 0);
    }
}
