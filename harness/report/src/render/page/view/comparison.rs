//! Judgements against a base or a baseline: one row for each, worst first, on one axis of ratios.

use std::collections::BTreeSet;

use perfharness_record::compare::{GateReport, GateRow};
use perfharness_verdict::judge::{Evidence, Verdict};
use serde::Serialize;

use super::{Badge, Figure, Tone, fragment};
use crate::render::words::{self, Weight};

/// The judgements of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparisons {
    /// The measured code and its references.
    pub held_against: String,
    /// Number of rows with each verdict.
    pub tally: String,
    /// Reach of the axis in ratios, the same below and above 1.
    pub reach: f64,
    /// The judgements, worst first.
    pub rows: Vec<ComparisonRow>,
    /// Number of rows, from the top, that are shown at once.
    pub open: usize,
}

/// One judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ComparisonRow {
    pub verdict: Badge,
    /// Its rank, worst first.
    pub rank: usize,
    pub workload: String,
    pub benchmark: String,
    /// The fragment identifier of its case, if the page has it.
    pub fragment: Option<String>,
    /// The metric and its reference.
    pub subject: String,
    pub change: Figure,
    /// Its position on the axis; absent if there is no ratio.
    pub span: Option<Span>,
    pub sentence: String,
    /// Other figures that moved, for a time that got worse.
    pub diagnosis: Option<String>,
    /// The command that measures it again.
    pub reproduce: String,
}

/// A ratio on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Span {
    /// Ratio of candidate to reference.
    pub ratio: f64,
    pub interval: Option<(f64, f64)>,
    /// The threshold, as a share.
    pub threshold: f64,
    pub tone: Tone,
}

pub(super) fn badge(row: &GateRow) -> Badge {
    let tone = match (row.judgement.verdict, row.judgement.gates()) {
        (Verdict::Failed, _) | (Verdict::Regressed, true) => Tone::Bad,
        (Verdict::Improved, _) => Tone::Good,
        (Verdict::Inconclusive | Verdict::Redefined, true) => Tone::Open,
        (Verdict::Placement, _) => Tone::Placement,
        (Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive, false)
        | (Verdict::Unchanged | Verdict::NoBaseline, _) => Tone::Plain,
    };
    Badge::new(words::sign(row), row.word(), tone)
}

pub(super) fn comparisons(gate: &GateReport, places: &BTreeSet<&str>) -> Comparisons {
    let rows: Vec<ComparisonRow> =
        gate.rows.iter().enumerate().map(|(rank, row)| one(rank, row, &gate.rows, places)).collect();
    let worth_seeing = |row: &&GateRow| matches!(Weight::of(row), Weight::Decides | Weight::Tells);
    // The rows are sorted, so the rows worth showing are at the top.
    let open = gate.rows.iter().take_while(worth_seeing).count();
    Comparisons {
        held_against: words::held_against(gate),
        tally: words::tally(gate.tally()),
        reach: reach(&rows, open),
        rows,
        open,
    }
}

fn one(rank: usize, row: &GateRow, rows: &[GateRow], places: &BTreeSet<&str>) -> ComparisonRow {
    let verdict = badge(row);
    let mut parts = row.benchmark.split('/');
    let workload = parts.next().unwrap_or_default().to_owned();
    let case = parts.next();
    let span = span(&row.judgement.evidence, verdict.tone);
    let text = words::change(row).unwrap_or_else(|| "–".into());
    ComparisonRow {
        rank,
        fragment: case
            .map(|case| fragment("case", &format!("{workload}/{case}")))
            .filter(|place| places.contains(place.as_str())),
        workload,
        benchmark: row.benchmark.clone(),
        subject: words::subject(row),
        change: Figure { text, value: span.map(|span| span.ratio) },
        span,
        verdict,
        sentence: words::sentence(row),
        diagnosis: words::diagnosis(row, rows),
        reproduce: row.reproduce.clone(),
    }
}

fn span(evidence: &Evidence, tone: Tone) -> Option<Span> {
    let (ratio, interval, threshold) = match evidence {
        Evidence::None | Evidence::Identical { .. } => return None,
        Evidence::Exact { baseline, candidate, .. } => (ratio(*baseline, *candidate), None, 0.0),
        Evidence::Size { baseline, candidate, relative, .. } => {
            (ratio(*baseline, *candidate), None, *relative)
        }
        Evidence::TimePaired(time) => (time.ratio, time.ratio_interval, time.threshold),
        Evidence::TimeUnpaired(time) => (time.ratio, Some(time.ratio_interval), time.threshold),
    };
    let interval = interval.map(|interval| (interval.lower, interval.upper));
    (ratio.is_finite() && ratio > 0.0).then_some(Span { ratio, interval, threshold, tone })
}

/// No change if both values are 0.
fn ratio(baseline: f64, candidate: f64) -> f64 {
    if baseline == candidate { 1.0 } else { candidate / baseline }
}

/// Returns the reach of the axis: all rows that are shown at once and most of the rest, and enough that noise does
/// not look large.
fn reach(rows: &[ComparisonRow], open: usize) -> f64 {
    let distance = |row: &ComparisonRow| {
        let span = row.span?;
        let (lower, upper) = span.interval.unwrap_or((span.ratio, span.ratio));
        let ratios = [span.ratio, lower, upper].into_iter().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratios.map(|ratio| ratio.ln().abs()).reduce(f64::max)
    };
    let worth_seeing = rows.iter().take(open).filter_map(distance).fold(0.0, f64::max);
    let mut all: Vec<f64> = rows.iter().filter_map(distance).collect();
    all.sort_by(f64::total_cmp);
    // A row that is a hundred times slower must not shrink all others to a dot; it gets an arrow.
    let most = all.get((all.len() as f64 * 0.95) as usize).copied().unwrap_or(0.0);
    (worth_seeing.max(most) * 1.1).clamp(1.1_f64.ln(), 4.0_f64.ln()).exp()
}
