//! The custom JSON of github-action-benchmark: a list of figures that are all better when lower, or all when higher.

use perfharness_contract::{Direction, MetricKind, Number, OutcomeKind};
use perfharness_record::RunRecord;
use perfharness_verdict::Interval;
use serde::Serialize;

use super::{ExportedFigure, direction, figures, units};

/// One figure.
#[derive(Serialize)]
pub(super) struct ActionEntry {
    name: String,
    unit: String,
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Returns the figures of metrics with this direction, in the order of the record.
pub(super) fn entries(record: &RunRecord, wanted: Direction) -> Vec<ActionEntry> {
    let is_wanted =
        |figure: &ExportedFigure<'_>| direction(record, figure.workload(), figure.metric) == Some(wanted);
    figures(record).filter(is_wanted).map(|figure| entry(record, &figure)).collect()
}

fn entry(record: &RunRecord, figure: &ExportedFigure<'_>) -> ActionEntry {
    let interval =
        figure.record.interval.filter(|interval| interval.lower.is_finite() && interval.upper.is_finite());
    ActionEntry {
        // The action matches the figures of other commits by name.
        name: in_code(&format!("{}/{}", figure.benchmark.id, figure.metric)),
        unit: in_prose(&figure.record.unit),
        value: Number(figure.value),
        range: interval.map(|interval| range(figure.value, interval)),
        extra: extra(record, figure, interval),
    }
}

/// Returns the larger distance of the two bounds, because an interval need not be symmetric; `extra` states both.
fn range(value: f64, interval: Interval) -> String {
    format!("± {}", units::digits((interval.upper - value).max(value - interval.lower)))
}

fn extra(record: &RunRecord, figure: &ExportedFigure<'_>, interval: Option<Interval>) -> String {
    let shown = |value| units::value(&figure.record.unit, value);
    let mut facts = vec![match figure.record.launches.len() {
        1 => "1 launch".into(),
        launches => format!("{launches} launches"),
    }];
    facts.push(match interval {
        Some(Interval { lower, upper }) => format!("interval {} to {}", shown(lower), shown(upper)),
        None if figure.record.kind == MetricKind::Exact => "the same in each".into(),
        None => "no interval".into(),
    });
    if figure.record.demoted {
        facts.push("differed between launches".into());
    }
    let expected = figure.benchmark.expected;
    facts.push(match expected {
        OutcomeKind::Ok => "outcome ok".into(),
        _ => format!("outcome ok, expected {}", expected.as_str()),
    });
    facts.push(format!("machine class {}", record.machine.class));
    facts.push(format!("run {}", record.run.id));
    facts.join("; ")
}

/// Escapes a name for a code span in a table row: the action comments on commits with it, on behalf of a trusted
/// workflow. Characters that would end the span, the cell or the row become lookalikes.
fn in_code(text: &str) -> String {
    let replaced = |c: char| match c {
        '`' => 'ˋ',
        '|' => '¦',
        c if c.is_control() || c.is_whitespace() => ' ',
        c => c,
    };
    text.chars().map(replaced).collect()
}

/// Escapes a unit, which the action copies into its comments. Units need few characters, so all others go, and with
/// them mark-up, mentions and addresses.
fn in_prose(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " /%-".contains(c);
    text.chars().map(|c| if is_safe(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}
