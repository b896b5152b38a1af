//! What a gate found, in the form that somebody asked for.

use std::fmt::Write as _;

use clap::ValueEnum;

use super::Layout;
use crate::compare::GateReport;

/// A form of what a gate found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// Text for a terminal.
    Text,
    /// Markdown for a comment.
    Markdown,
    /// JSON with a schema.
    Json,
    /// XML in the form of `JUnit`.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
}

/// Shows what a gate found.
pub fn render_gate(report: &GateReport, _format: GateFormat, _layout: Layout) -> String {
    let mut text = String::new();
    for row in &report.rows {
        let _ = writeln!(text, "{} {}: {}", row.word(), row.name(), row.sentence);
    }
    for remark in &report.remarks {
        let _ = writeln!(text, "{remark}");
    }
    let _ = writeln!(text, "{:?}", report.outcome);
    text
}
