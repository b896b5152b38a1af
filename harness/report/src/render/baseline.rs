//! Baselines, changes of baselines and calibrations as text.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use perfharness_contract::{BenchmarkId, standard};
use perfharness_record::baseline::difference::Change;
use perfharness_record::baseline::{Baseline, Figures};
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::judge::Verdict;
use serde::Serialize;

use super::Layout;
use super::table::heading;

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
    /// The smallest effect that nine of ten runs detect, as a log-ratio.
    pub smallest_detectable: Option<f64>,
    /// The verdict of a gate on identical sides.
    pub verdict: Option<Verdict>,
    /// The planted slowdown; absent if this machine can only detect more than twice the time.
    pub planted: Option<PlantedRow>,
}

/// A planted slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlantedRow {
    /// The extra work, as a share.
    pub share: f64,
    /// The measured effect, as a log-ratio.
    pub effect: f64,
    /// Whether a gate would have found it.
    pub found: bool,
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

/// Renders a calibration.
pub fn render_calibration(calibration: &Calibration, layout: Layout) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_width(layout.width);
    table.set_header(["benchmark", "launches", "sd", "detects from", "identical sides", "planted", "found"]);
    let share = |value: Option<f64>| value.map_or_else(|| "-".into(), |v| units::percent(v.exp_m1()));
    for row in &calibration.rows {
        table.add_row([
            row.benchmark.clone(),
            row.launches.to_string(),
            share(row.sd),
            share(row.smallest_detectable),
            row.verdict.map_or("-", Verdict::name).to_owned(),
            share(row.planted.map(|planted| planted.share.ln_1p())),
            row.planted.map_or("-".into(), |planted| {
                format!("{} ({})", if planted.found { "yes" } else { "no" }, share(Some(planted.effect)))
            }),
        ]);
    }
    let false_alarms = calibration.rows.iter().filter(|r| r.verdict == Some(Verdict::Regressed)).count();
    let can = |row: &&CalibrationRow| {
        row.smallest_detectable.is_some_and(|mde| mde <= calibration.threshold.ln_1p())
    };
    let able = calibration.rows.iter().filter(can).count();
    let planted = calibration.rows.iter().filter_map(|row| row.planted);
    let found = planted.clone().filter(|planted| planted.found).count();
    format!(
        "{table}\n\n{able} of {} can detect a change of {}; {} before confirmation; {found} of {} found\n",
        units::counted(calibration.rows.len(), "benchmark"),
        units::percent(calibration.threshold),
        units::counted(false_alarms, "false alarm"),
        units::counted(planted.count(), "planted slowdown"),
    )
}
