//! The report of a gate for a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use perfharness_record::compare::{GateReport, GateRow};
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::judge::{GateOutcome, Verdict};

use crate::render::Layout;
use crate::render::table::paragraph;
use crate::render::words::{self, Weight};

pub(super) fn render(report: &GateReport, layout: Layout) -> String {
    let mut text = headline(report, layout);
    for row in words::rows(report, Weight::Decides) {
        text.push_str(&head(row));
        paragraph(&mut text, &words::sentence(row), layout, 4);
        if let Some(diagnosis) = words::diagnosis(row, &report.rows) {
            paragraph(&mut text, &diagnosis, layout, 4);
        }
        // The command stays on one line, so that it can be copied.
        let _ = writeln!(text, "    measure it again: {}", one_line(&row.reproduce));
    }
    for row in words::rows(report, Weight::Tells) {
        text.push_str(&head(row));
        paragraph(&mut text, &words::sentence(row), layout, 4);
        // More work that is not slower is worth a look at where it is.
        if let Some(diagnosis) = words::diagnosis(row, &report.rows)
            .filter(|_| !row.functions.is_empty() || !row.kernels.is_empty())
        {
            paragraph(&mut text, &diagnosis, layout, 4);
        }
    }
    for (sentence, rows) in words::by_sentence(&words::rows(report, Weight::New)) {
        let names: Vec<String> = rows.iter().map(|row| row.name()).collect();
        paragraph(&mut text, &format!("no-baseline: {}: {sentence}", names.join(", ")), layout, 0);
    }
    folded(&mut text, &words::rows(report, Weight::Open), "stayed open without failing the gate", layout);
    folded(&mut text, &words::rows(report, Weight::Unchanged), "unchanged", layout);
    for remark in words::remarks(report) {
        paragraph(&mut text, &format!("note: {remark}"), layout, 0);
    }
    text
}

fn headline(report: &GateReport, layout: Layout) -> String {
    let color = match report.outcome {
        GateOutcome::Ok => AnsiColor::Green,
        GateOutcome::Undecided | GateOutcome::NothingCompared | GateOutcome::Redefined => AnsiColor::Yellow,
        GateOutcome::Regressed | GateOutcome::Failed => AnsiColor::Red,
    };
    let style = color.on_default().bold();
    let mut text =
        format!("{style}{}{style:#}: {}\n", words::outcome(report.outcome), words::tally(report.tally()));
    paragraph(&mut text, &words::held_against(report), layout, 2);
    text
}

/// Renders "▲ regressed  label-remap/b64/optimized  wall time against the base".
fn head(row: &GateRow) -> String {
    let style = match row.judgement.verdict {
        Verdict::Failed | Verdict::Regressed if row.judgement.gates() => AnsiColor::Red.on_default().bold(),
        Verdict::Inconclusive | Verdict::Redefined => AnsiColor::Yellow.on_default(),
        Verdict::Placement => AnsiColor::Cyan.on_default(),
        Verdict::Improved => AnsiColor::Green.on_default(),
        Verdict::Failed | Verdict::Regressed | Verdict::NoBaseline | Verdict::Unchanged => Style::new(),
    };
    let (benchmark, subject) = (one_line(&row.benchmark), one_line(&words::subject(row)));
    format!("{} {style}{}{style:#}  {benchmark}  {subject}\n", words::sign(row), row.word())
}

/// Renders the number of rows with the same meaning.
fn folded(text: &mut String, rows: &[&GateRow], what: &str, layout: Layout) {
    if rows.is_empty() {
        return;
    }
    let (figures, benchmarks) = (units::counted(rows.len(), "row"), words::benchmarks(rows));
    let line = format!("{what}: {figures} of {}", units::counted(benchmarks, "benchmark"));
    paragraph(text, &line, layout, 0);
}

fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
