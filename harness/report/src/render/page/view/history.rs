//! Trends of the benchmarks over the known runs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use perfharness_record::units;
use serde::Serialize;

use super::{Badge, Figure, Material, Tone, fragment};
use crate::history::{RunSummary, Standing};
use crate::render::words;

/// Largest number of points of a trend.
const POINTS: usize = 120;

/// Largest number of runs of a trend in the page of one run.
const RUNS_OF_PAGE: usize = 60;

/// Trends in the page of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct HistoryView {
    pub caption: String,
    pub trends: Vec<Trend>,
}

/// Wall time of one benchmark over runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Trend {
    pub workload: String,
    pub benchmark: String,
    pub latest: Figure,
    /// The latest value divided by the previous one.
    pub change: Figure,
    /// The points, oldest first.
    pub points: Vec<TrendPoint>,
    /// Number of runs behind the points.
    pub runs: usize,
}

/// One run, or several if there are too many to draw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TrendPoint {
    /// The median wall time in ns.
    pub wall: f64,
    /// Whether figures were accepted here.
    pub accepted: bool,
    /// Whether a gate found a regression here.
    pub regressed: bool,
}

/// The page over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexView {
    /// The number of runs and machine classes.
    pub(crate) sentence: String,
    /// The runs, latest first.
    pub(crate) runs: Vec<RunRow>,
    /// Trends, by machine class; that of the latest run first.
    pub(crate) machines: Vec<MachineHistory>,
    /// Files that could not be read.
    pub(crate) remarks: Vec<String>,
}

/// One run in the index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunRow {
    /// Its page, relative to the index.
    pub page: String,
    /// The commit, shortened, or another name of the run.
    pub name: String,
    pub branch: String,
    /// The start of the run.
    pub when: String,
    /// The start in s, to sort by.
    pub at: Option<f64>,
    pub verdict: Badge,
    /// The result in short.
    pub text: String,
    pub class: String,
}

/// Trends on one machine class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MachineHistory {
    pub class: String,
    pub fragment: String,
    /// The number of runs.
    pub caption: String,
    pub trends: Vec<Trend>,
}

/// Returns the trends of the benchmarks of a page, on its machine class, up to its run.
pub(super) fn of_page(material: &Material<'_>) -> Option<HistoryView> {
    let record = material.record;
    let mut runs: Vec<&RunSummary> =
        material.history.iter().filter(|run| run.class == record.machine.class).collect();
    runs.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    runs.retain(|run| run.started <= record.run.started);
    if runs.len() < 2 {
        return None;
    }
    let runs = &runs[runs.len().saturating_sub(RUNS_OF_PAGE)..];
    let wanted: BTreeSet<String> = record.benchmarks.iter().map(|b| b.id.to_string()).collect();
    let trends = trends(runs, Some(&wanted));
    (!trends.is_empty()).then(|| HistoryView {
        caption: format!(
            "Wall time over the last {} of this machine class, up to this one. Times of different days also depend on \
             the other load of the machine.",
            units::counted(runs.len(), "run")
        ),
        trends,
    })
}

/// Makes the contents of the page over all runs.
pub fn index(summaries: &[RunSummary], remarks: Vec<String>) -> IndexView {
    let mut runs: Vec<&RunSummary> = summaries.iter().collect();
    runs.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    let mut classes: Vec<&str> = Vec::new();
    for run in runs.iter().rev() {
        if !classes.contains(&run.class.as_str()) {
            classes.push(&run.class);
        }
    }
    let machines = classes.iter().map(|class| {
        let of_class: Vec<&RunSummary> = runs.iter().copied().filter(|run| run.class == *class).collect();
        let drawn = if of_class.len() > POINTS {
            format!("; with more than {POINTS} runs, a point is the median of several")
        } else {
            String::new()
        };
        MachineHistory {
            class: (*class).to_owned(),
            fragment: fragment("class", class),
            caption: format!("Wall time over {}{drawn}.", units::counted(of_class.len(), "run")),
            trends: trends(&of_class, None),
        }
    });
    IndexView {
        sentence: format!(
            "{} on {}",
            units::counted(runs.len(), "run"),
            match classes.len() {
                1 => "one machine class".into(),
                n => format!("{n} machine classes"),
            }
        ),
        machines: machines.collect(),
        runs: runs.iter().rev().map(|run| row(run)).collect(),
        remarks,
    }
}

fn row(run: &RunSummary) -> RunRow {
    let at = run.started.parse::<Timestamp>().ok();
    let all = units::counted(run.benchmarks.len(), "benchmark");
    RunRow {
        page: run.page.clone(),
        name: run.name.clone(),
        branch: run.branch.clone().unwrap_or_default(),
        when: at.map_or_else(|| run.started.clone(), |at| at.strftime("%Y-%m-%d %H:%M").to_string()),
        at: at.map(|at| at.as_second() as f64),
        verdict: verdict(run.standing),
        text: run.tally.map_or_else(|| all.clone(), |tally| format!("{all}; {}", words::tally(tally))),
        class: run.class.clone(),
    }
}

fn verdict(standing: Standing) -> Badge {
    match standing {
        Standing::Ok => Badge::new("✔", "no regression", Tone::Good),
        Standing::Measured => Badge::new("✔", "measured", Tone::Plain),
        Standing::Undecided => Badge::new("?", "undecided", Tone::Open),
        Standing::Regressed => Badge::new("▲", "regressed", Tone::Bad),
        Standing::Failed => Badge::new("✖", "failed", Tone::Bad),
    }
}

fn trends(runs: &[&RunSummary], wanted: Option<&BTreeSet<String>>) -> Vec<Trend> {
    let mut points: BTreeMap<&str, Vec<TrendPoint>> = BTreeMap::new();
    for run in runs {
        for (benchmark, figures) in &run.benchmarks {
            if wanted.is_some_and(|wanted| !wanted.contains(benchmark)) {
                continue;
            }
            let Some(wall) = figures.wall.filter(|ns| ns.is_finite() && *ns > 0.0) else { continue };
            let point = TrendPoint { wall, accepted: figures.accepted, regressed: figures.regressed };
            points.entry(benchmark).or_default().push(point);
        }
    }
    points.into_iter().map(|(benchmark, points)| trend(benchmark, points)).collect()
}

fn trend(benchmark: &str, points: Vec<TrendPoint>) -> Trend {
    let runs = points.len();
    let latest = points.last().map(|point| point.wall);
    let before = points.len().checked_sub(2).map(|at| points[at].wall);
    let change = latest.zip(before).map(|(latest, before)| latest / before);
    Trend {
        workload: benchmark.split('/').next().unwrap_or_default().to_owned(),
        benchmark: benchmark.to_owned(),
        latest: latest.map_or_else(Figure::none, |ns| Figure::new(units::duration(ns), ns)),
        change: change.map_or_else(Figure::none, |ratio| Figure::new(units::relative(ratio), ratio)),
        points: gathered(points),
        runs,
    }
}

/// Reduces the points to the drawable number: the median of neighbours, with the marks of all.
fn gathered(points: Vec<TrendPoint>) -> Vec<TrendPoint> {
    if points.len() <= POINTS {
        return points;
    }
    let group = |at: usize| {
        let (from, to) = (at * points.len() / POINTS, (at + 1) * points.len() / POINTS);
        let some = &points[from..to];
        let mut walls: Vec<f64> = some.iter().map(|point| point.wall).collect();
        walls.sort_by(f64::total_cmp);
        TrendPoint {
            wall: walls[walls.len() / 2],
            accepted: some.iter().any(|point| point.accepted),
            regressed: some.iter().any(|point| point.regressed),
        }
    };
    (0..POINTS).map(group).collect()
}
