//! Baselines, changes of baselines and calibrations as text.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use perfharness_contract::{BenchmarkId, standard};
use perfharness_record::baseline::difference::Change;
use perfharness_record::baseline::{Baseline, Figures};
use perfharness_record::compare::PlantedRow;
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::judge::{RowTerms, Verdict};
use serde::Serialize;

use super::Layout;
use super::table::heading;

/// Launches for which a calibration says what a gate could see: its first looks.
pub const LOOKS: [usize; 3] = [16, 32, 64];

/// Result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The threshold of the gate, as a share.
    pub threshold: f64,
    /// The benchmarks.
    pub rows: Vec<CalibrationRow>,
}

/// Calibration of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationRow {
    /// Its id.
    pub benchmark: String,
    /// Number of launches of both sides.
    pub launches: usize,
    /// Standard deviation of launch values, as a log-ratio.
    pub sd: Option<f64>,
    /// The terms that a gate judges it by.
    pub terms: RowTerms,
    /// The smallest slowdown, as a log-ratio, that a gate could see after each of [`LOOKS`].
    pub sees: [Option<f64>; 3],
    /// The one that was planted for, as a log-ratio.
    pub could_see: Option<f64>,
    /// The largest difference between the times of its layouts, as a log-ratio; absent if there was one layout.
    pub layout_spread: Option<f64>,
    /// The verdict of a gate on identical sides.
    pub verdict: Option<Verdict>,
    /// The planted slowdown; absent if nothing could be planted that a gate would see.
    pub planted: Option<PlantedRow>,
}

/// Renders a baseline.
pub fn render_baseline(baseline: &Baseline, layout: Layout) -> String {
    let mut text = heading(&baseline.class);
    for acceptance in &baseline.acceptances {
        let commit = acceptance.commit.as_deref().map_or("no commit", |c| c.get(..12).unwrap_or(c));
        let (when, commit) = (plain(&acceptance.when), plain(commit));
        let dirty = if acceptance.dirty { " with changes" } else { "" };
        let runs = units::counted(acceptance.runs.len(), "run");
        let _ = writeln!(
            text,
            "  {}. {}: {runs} of {commit}{dirty}: {}",
            acceptance.number,
            when,
            plain(&acceptance.reason)
        );
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_width(layout.width);
    table.set_header(["benchmark", "accepted", "runs", "wall time"]);
    for entry in &baseline.benchmarks {
        let wall = entry.metrics.get(standard::WALL_TIME);
        let time = wall
            .and_then(Figures::middle)
            .map_or_else(|| format!("expected {}", entry.expected.as_str()), units::duration);
        table.add_row([
            entry.id.to_string(),
            entry.accepted.to_string(),
            wall.map_or(0, |f| f.values.len()).to_string(),
            time,
        ]);
    }
    text.push_str(&table.to_string());
    text.push_str("\n\n");
    text
}

/// Renders the changes between two baselines of a machine class.
pub fn render_changes(class: &str, changes: &[(BenchmarkId, Change)]) -> String {
    if changes.is_empty() {
        return format!("{class}: nothing changed\n");
    }
    let mut text = format!("{class}: {}\n", units::counted(changes.len(), "change"));
    for (id, change) in changes {
        let what = match change {
            Change::Added => "new".to_owned(),
            Change::Removed => "gone".to_owned(),
            Change::Redefined { from, to } => format!("definition {from} -> {to}"),
            Change::Figure { metric, unit, from, to } => {
                let show = |value: &Option<f64>| value.map_or("nothing".into(), |v| units::value(unit, v));
                let share = match (from, to) {
                    (Some(from), Some(to)) if *from != 0.0 => {
                        let change = (to - from) / from;
                        let sign = if change > 0.0 { "+" } else { "" };
                        format!(" ({sign}{})", units::percent(change))
                    }
                    _ => String::new(),
                };
                format!("{metric}: {} -> {}{share}", show(from), show(to))
            }
        };
        let _ = writeln!(text, "  {id} {what}");
    }
    text
}

/// Renders a calibration: every row, then the names of those that a gate gets wrong.
pub fn render_calibration(calibration: &Calibration, layout: Layout) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_width(layout.width);
    let sees = LOOKS.map(|launches| format!("sees at {launches}"));
    let [first, second, third] = sees.each_ref().map(String::as_str);
    table.set_header([
        "benchmark",
        "launches",
        "sd",
        first,
        second,
        third,
        "layouts",
        "identical sides",
        "planted",
        "measured",
    ]);
    let share = |value: Option<f64>| value.map_or_else(|| "-".into(), |v| units::percent(v.exp_m1()));
    for row in &calibration.rows {
        let [first, second, third] = row.sees.map(share);
        let planted = row.planted.as_ref();
        table.add_row([
            row.benchmark.clone(),
            row.launches.to_string(),
            share(row.sd),
            first,
            second,
            third,
            share(row.layout_spread),
            row.verdict.map_or("-", Verdict::name).to_owned(),
            share(planted.map(|planted| planted.share.ln_1p())),
            planted.map_or("-".into(), |planted| {
                format!("{}{}", share(planted.effect), if planted.is_seen { "" } else { ", not seen" })
            }),
        ]);
    }
    let named = |is_so: fn(&CalibrationRow) -> bool| -> Vec<&str> {
        calibration.rows.iter().filter(|row| is_so(row)).map(|row| row.benchmark.as_str()).collect()
    };
    let is_planted = |is_so: fn(&PlantedRow) -> bool| -> Vec<&str> {
        let planted = calibration.rows.iter().filter_map(|row| row.planted.as_ref());
        planted.filter(|planted| is_so(planted)).map(|planted| planted.benchmark.as_str()).collect()
    };
    let wrong = [
        ("false alarms, before confirmation", named(|row| row.verdict == Some(Verdict::Regressed))),
        ("cannot vary", is_planted(|planted| !planted.can_vary && !planted.is_seen)),
        ("planted slowdowns not seen", is_planted(|planted| planted.can_vary && !planted.is_seen)),
        ("nothing planted", named(|row| row.planted.is_none())),
    ];
    let mut text = format!(
        "{table}\n\nA gate sees a slowdown from the share of the column of its launches on, and none below {}.\n",
        units::percent(calibration.threshold)
    );
    if calibration.rows.iter().any(|row| row.layout_spread.is_some()) {
        text.push_str("Programs that were built at other times may differ by the share of the column `layouts`, without any change.\n");
    }
    for (what, rows) in wrong {
        let rows = if rows.is_empty() { "none".to_owned() } else { rows.join(", ") };
        let _ = writeln!(text, "{what}: {rows}");
    }
    text
}
