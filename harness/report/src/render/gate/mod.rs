//! What a gate found, in the forms that people and other programs read. Nothing is judged here: each form is a pure
//! function of the report.
//!
//! Names, sentences and remarks come from workers and records, so each form escapes them by its own rules.

mod github;
mod junit;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use clap::ValueEnum;
use perfharness_record::compare::GateReport;

use super::{Layout, words};

/// How what a gate found is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For a terminal
    Text,
    /// For a comment on a pull request, and for a summary of a job
    Markdown,
    /// For programs; see the schema
    Json,
    /// `JUnit` XML, for dashboards of tests
    Junit,
    /// Annotations of GitHub Actions
    Github,
}

/// What a gate found, in this format, with a line end at its end. Only text takes notice of the layout; styles are
/// always in it.
///
/// # Errors
/// When a serializer fails, which none has a reason to.
pub fn render_gate(report: &GateReport, format: GateFormat, layout: Layout) -> anyhow::Result<String> {
    Ok(match format {
        GateFormat::Text => text::render(report, layout),
        GateFormat::Markdown => markdown::render(report),
        GateFormat::Json => serde_json::to_string_pretty(&words::in_words(report))? + "\n",
        GateFormat::Junit => junit::render(report)?,
        GateFormat::Github => github::render(report),
    })
}
