//! Accepted figures, what changed of them, and what a calibration found, as text.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use perfharness_contract::{BenchmarkId, standard};
use perfharness_verdict::judge::Verdict;
use serde::Serialize;

use super::Layout;
use super::table::heading;
use perfharness_record::baseline::difference::Change;
use perfharness_record::baseline::{Baseline, Figures};
use perfharness_record::plain_text::plain;
use perfharness_record::units;

/// What a machine can tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The smallest change that matters, as a share.
    pub threshold: f64,
    /// The benchmarks.
    pub rows: Vec<CalibrationRow>,
}

/// What a machine can tell of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationRow {
    /// Its id.
    pub benchmark: String,
    /// The launches of both sides.
    pub launches: usize,
    /// Standard deviation of launch values, as a log-ratio.
    pub sd: Option<f64>,
    /// The smallest effect that is seen in nine of ten runs, as a log-ratio.
    pub smallest_detectable: Option<f64>,
    /// What a gate would have said of identical sides.
    pub verdict: Option<Verdict>,
    /// What became of a slowdown that was planted; absent where this machine could not have seen one that is less than
    /// twice the time.
    pub planted: Option<PlantedRow>,
}

/// A slowdown that was planted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlantedRow {
    /// The extra work, as a share.
    pub share: f64,
    /// What was measured, as a log-ratio.
    pub effect: f64,
    /// Whether a gate would have found it.
    pub found: bool,
}

/// Accepted figures.
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
    table.set_header(["benchmark", "accepted", "runs", "wall time", "can tell from"]);
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
            entry.calibrated.map_or_else(|| "not calibrated".into(), |mde| units::percent(mde.exp_m1())),
        ]);
    }
    text.push_str(&table.to_string());
    text.push_str("\n\n");
    text
}

/// What changed between two baselines of a machine class.
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

/// What a calibration found.
pub fn render_calibration(calibration: &Calibration, layout: Layout) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_width(layout.width);
    table.set_header([
        "benchmark",
        "launches",
        "sd",
        "can tell from",
        "identical sides were",
        "planted",
        "found",
    ]);
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
        "{table}\n\n{able} of {} can tell a change of {}; {} before confirmation; {found} of {} found\n",
        units::counted(calibration.rows.len(), "benchmark"),
        units::percent(calibration.threshold),
        units::counted(false_alarms, "false alarm"),
        units::counted(planted.count(), "planted slowdown"),
    )
}
