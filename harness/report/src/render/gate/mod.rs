//! The report of a gate in the formats for people and programs. Each is a pure function of the report and judges
//! nothing.
//!
//! Names, sentences and remarks come from workers and records, so each format escapes them by its own rules.

mod github;
mod junit;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use clap::ValueEnum;
use perfharness_record::compare::GateReport;

use super::{Layout, words};

/// The format of a gate's report.
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

/// Renders the report of a gate in this format, with a newline at the end. Only text uses the layout and always has
/// styles.
///
/// # Errors
/// Returns an error if a serializer fails, which would be a bug.
pub fn render_gate(report: &GateReport, format: GateFormat, layout: Layout) -> anyhow::Result<String> {
    Ok(match format {
        GateFormat::Text => text::render(report, layout),
        GateFormat::Markdown => markdown::render(report),
        GateFormat::Json => serde_json::to_string_pretty(&words::in_words(report))? + "\n",
        GateFormat::Junit => junit::render(report)?,
        GateFormat::Github => github::render(report),
    })
}
