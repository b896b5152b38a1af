//! The report of a gate for a comment on a pull request.
//!
//! The name of a benchmark may contain anything, and a trusted workflow posts the comment. Therefore, text from
//! outside consists of character references and cannot form markup, a link, a mention or a reference. The comment
//! stays within GitHub's limit; it leaves rows out and says so.

use std::fmt::Write as _;

use perfharness_record::compare::{GateReport, GateRow};
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::judge::GateOutcome;

use crate::render::words::{self, Weight};

/// Marker by which the workflow finds and replaces an earlier comment.
const MARKER: &str = "<!-- perfharness -->";

/// Largest size of the comment in bytes. GitHub refuses more than 65,536 characters.
const MOST: usize = 65_000;
/// Bytes reserved for titles, for the number of left-out rows and for the last line.
const RESERVE: usize = 6_000;
/// Largest share of the rows that decide and of the informative ones.
const MOST_FOR_ROWS: usize = 30_000;
/// Largest share of each of the other parts.
const MOST_FOR_A_PART: usize = 8_000;

/// Largest number of characters of a sentence or a remark, of a name, and of an id. A character takes twelve bytes at
/// most.
const SENTENCE: usize = 500;
const NAME: usize = 150;
const ID: usize = 64;

pub(super) fn render(report: &GateReport) -> String {
    let mut page = head(report);
    let telling: Vec<&GateRow> =
        report.rows.iter().filter(|row| matches!(Weight::of(row), Weight::Decides | Weight::Tells)).collect();
    if !telling.is_empty() {
        page.push_str("\n| | benchmark | metric | change | finding |\n| --- | --- | --- | --- | --- |\n");
        push(&mut page, telling.iter().map(|row| table_row(row, Some(&report.rows))), MOST_FOR_ROWS, "row");
    }
    let remarks = words::remarks(report);
    if !remarks.is_empty() {
        page.push('\n');
        let remarks = remarks.iter().map(|remark| format!("- {}\n", escaped(remark, SENTENCE)));
        push(&mut page, remarks, MOST_FOR_A_PART, "remark");
    }
    again(&mut page, &words::rows(report, Weight::Decides));
    new(&mut page, &words::rows(report, Weight::New));
    let open = words::rows(report, Weight::Open);
    folded(&mut page, "open, without failing the gate", &open, Some(&report.rows));
    folded(&mut page, "unchanged", &words::rows(report, Weight::Unchanged), None);
    let commits = [("head", &report.commit), ("base", &report.base_commit)];
    let commits = commits.into_iter().filter_map(|(side, commit)| {
        commit.as_ref().map(|commit| format!("; {side} <code>{}</code>", escaped(commit, ID)))
    });
    let _ = writeln!(
        page,
        "\n<sub>run <code>{}</code>{}</sub>",
        escaped(&report.run, ID),
        commits.collect::<String>()
    );
    page
}

fn head(report: &GateReport) -> String {
    let sign = match report.outcome {
        GateOutcome::Ok => "✔",
        GateOutcome::Undecided | GateOutcome::NothingCompared | GateOutcome::Redefined => "?",
        GateOutcome::Regressed | GateOutcome::Failed => "✖",
    };
    format!(
        "{MARKER}\n### {sign} perfharness: {}\n\n{}.\n{}.\n",
        words::outcome(report.outcome),
        words::tally(report.tally()),
        escaped(&words::held_against(report), SENTENCE)
    )
}

/// Writes a row of a table, with its sentence and its diagnosis if the rows of the report are given.
fn table_row(row: &GateRow, told_among: Option<&[GateRow]>) -> String {
    let mut line = format!(
        "| {}&nbsp;{} | <code>{}</code> | {} | {} |",
        words::sign(row),
        row.word(),
        escaped(&row.benchmark, NAME),
        escaped(&words::subject(row), NAME),
        escaped(&words::change(row).unwrap_or_else(|| "–".into()), NAME),
    );
    if let Some(rows) = told_among {
        let _ = write!(line, " {}", escaped(&words::sentence(row), SENTENCE));
        if let Some(diagnosis) = words::diagnosis(row, rows) {
            let _ = write!(line, "<br>{}", escaped(&diagnosis, SENTENCE));
        }
        line.push_str(" |");
    }
    line.push('\n');
    line
}

/// Writes the commands that repeat the deciding measurements.
fn again(page: &mut String, rows: &[&GateRow]) {
    let mut commands: Vec<&str> = rows.iter().map(|row| row.reproduce.as_str()).collect();
    commands.dedup();
    let lines = commands.iter().map(|command| format!("- <code>{}</code>\n", escaped(command, SENTENCE)));
    details(page, "measure again", "", lines, "command");
}

fn new(page: &mut String, rows: &[&GateRow]) {
    let lines = words::by_sentence(rows).into_iter().map(|(sentence, rows)| {
        let names: Vec<String> =
            rows.iter().map(|row| format!("<code>{}</code>", escaped(&row.name(), NAME))).collect();
        // Many rows may share a sentence.
        let shown = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(20);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("- {}: {shown}{more}\n", escaped(&sentence, SENTENCE))
    });
    details(page, &summary("without a baseline", rows), "", lines, "line");
}

fn folded(page: &mut String, what: &str, rows: &[&GateRow], told_among: Option<&[GateRow]>) {
    let head = match told_among {
        Some(_) => "| | benchmark | metric | change | finding |\n| --- | --- | --- | --- | --- |\n",
        None => "| | benchmark | metric | change |\n| --- | --- | --- | --- |\n",
    };
    let lines = rows.iter().map(|row| table_row(row, told_among));
    details(page, &summary(what, rows), head, lines, "row");
}

fn summary(what: &str, rows: &[&GateRow]) -> String {
    let (figures, benchmarks) = (units::counted(rows.len(), "row"), words::benchmarks(rows));
    format!("{what}: {figures} of {}", units::counted(benchmarks, "benchmark"))
}

/// Writes lines that the reader can unfold, if there are any.
fn details(
    page: &mut String,
    summary: &str,
    head: &str,
    lines: impl ExactSizeIterator<Item = String>,
    noun: &str,
) {
    if lines.len() > 0 {
        let _ = write!(page, "\n<details><summary>{summary}</summary>\n\n{head}");
        push(page, lines, MOST_FOR_A_PART, noun);
        page.push_str("\n</details>\n");
    }
}

/// Appends lines up to this many bytes, or to the end of the page, and states the number of left-out lines.
fn push(page: &mut String, lines: impl ExactSizeIterator<Item = String>, most: usize, noun: &str) {
    let (end, all) = ((page.len() + most).min(MOST - RESERVE), lines.len());
    for (at, line) in lines.enumerate() {
        if page.len() + line.len() > end {
            let left_out = units::counted(all - at, noun);
            let _ = write!(
                page,
                "\n{left_out} left out because the comment is full; the JSON report has all rows.\n"
            );
            return;
        }
        page.push_str(&line);
    }
}

/// Shortens a text from outside to so many characters on one line, and escapes everything that Markdown, HTML or
/// GitHub would interpret.
fn escaped(text: &str, most: usize) -> String {
    const NOTHING: &str = "&#8203;";
    let reference = |c| format!("&#{};", u32::from(c));
    let text = words::abridged(&plain(text), most);
    let mut out = String::with_capacity(text.len());
    let mut before = ['\0'; 3];
    for (at, c) in text.chars().enumerate() {
        let shown = match c {
            c if c.is_whitespace() => " ".into(),
            // GitHub looks for mentions and references in the rendered text, where a character reference has become
            // its character. A zero-width space prevents that.
            '@' | '#' => reference(c) + NOTHING,
            // GitHub links web addresses even without markup.
            '/' if before[2] == ':' => format!("{NOTHING}/"),
            '.' if before.iter().all(|c| matches!(c, 'w' | 'W')) => format!("{NOTHING}."),
            // At the beginning of a list item, these would start another item or a heading.
            '-' | '+' | '=' | '.' if text.chars().take(at).all(|c| c.is_ascii_digit()) => reference(c),
            ',' | ';' | ':' | '.' | '-' | '+' | '=' | '/' | '%' | '?' | '\'' => c.into(),
            c if c.is_ascii_punctuation() => reference(c),
            c => c.into(),
        };
        out.push_str(&shown);
        before = [before[1], before[2], c];
    }
    out
}
