//! The words of a gate, for every format: only this module turns figures into sentences.

mod diagnosis;
mod sentence;

pub(super) use diagnosis::{diagnosis, waste};
use sentence::{is_coarse, percent};
pub(super) use sentence::{sentence, suspected};

use std::borrow::Cow;
use std::fmt::Write as _;

use perfharness_record::compare::{Against, GateReport, GateRow, REPORT_VERSION, Remark, Tally};
use perfharness_record::plain_text::plain;
use perfharness_record::{short_commit, units};
use perfharness_verdict::Interval;
use perfharness_verdict::judge::{Evidence, GateOutcome, Verdict};

use super::table::grouped;

/// The reason that a row is worth showing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// It decides that the gate is not ok.
    Decides,
    /// It is informative: better, or worse without failing the gate.
    Tells,
    /// There is nothing to compare it with.
    New,
    /// It is undecided, which does not affect the outcome.
    Open,
    /// It is unchanged.
    Unchanged,
}

impl Weight {
    pub(super) fn of(row: &GateRow) -> Self {
        match row.judgement.verdict {
            _ if row.judgement.outcome() != GateOutcome::Ok => Self::Decides,
            Verdict::Failed
            | Verdict::Regressed
            | Verdict::Redefined
            | Verdict::Improved
            | Verdict::Placement => Self::Tells,
            Verdict::NoBaseline => Self::New,
            Verdict::Inconclusive => Self::Open,
            Verdict::Unchanged => Self::Unchanged,
        }
    }
}

/// Returns the rows of a weight, in the order of the report.
pub(super) fn rows(report: &GateReport, weight: Weight) -> Vec<&GateRow> {
    report.rows.iter().filter(|row| Weight::of(row) == weight).collect()
}

/// Returns the outcome in words.
pub(in crate::render) fn outcome(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Ok => "no regression",
        GateOutcome::Undecided => "undecided",
        GateOutcome::NothingCompared => "nothing was compared",
        GateOutcome::Redefined => "redefined",
        GateOutcome::Regressed => "regressed",
        GateOutcome::Failed => "failed",
    }
}

/// Returns a sign that distinguishes verdicts without colour.
pub(in crate::render) fn sign(row: &GateRow) -> &'static str {
    match row.judgement.verdict {
        Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive if !row.judgement.gates() => "ⓘ",
        Verdict::Failed => "✖",
        Verdict::Regressed => "▲",
        Verdict::Inconclusive => "?",
        Verdict::Improved => "▼",
        Verdict::Placement => "↔",
        Verdict::NoBaseline => "○",
        Verdict::Redefined => "≠",
        Verdict::Unchanged => "=",
    }
}

/// Returns the number of rows with each verdict, worst first, without verdicts that no row has.
pub(in crate::render) fn tally(tally: Tally) -> String {
    let Tally {
        failed,
        regressed,
        inconclusive,
        improved,
        unchanged,
        placement,
        no_baseline,
        redefined,
        advisory,
    } = tally;
    let counts = [
        (failed, "failed"),
        (regressed, "regressed"),
        (redefined, "redefined"),
        (inconclusive, "inconclusive"),
        (improved, "improved"),
        (placement, "placement"),
        (no_baseline, "without a baseline"),
        (advisory, "advisory"),
        (unchanged, "unchanged"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", units::count(*count as f64)))
        .collect();
    if parts.is_empty() { "no rows".into() } else { parts.join(", ") }
}

/// Returns the measured code and its references: "1a2b3c against base 4d5e6f and the figures accepted for a-class".
pub(in crate::render) fn held_against(report: &GateReport) -> String {
    let measured = report.commit.as_deref().map_or_else(|| "the measured code".to_owned(), short);
    let mut against = Vec::new();
    if let Some(base) = &report.base_commit {
        against.push(format!("base {}", short(base)));
    } else if report.rows.iter().any(|row| row.against == Against::Base) {
        against.push("the base".into());
    }
    if let Some(baseline) = &report.baseline {
        let when = baseline.accepted.as_deref().map_or_else(String::new, |when| {
            // The day is precise enough.
            format!(" (last on {})", when.split('T').next().unwrap_or(when))
        });
        let class = if baseline.same_class {
            "this machine class".to_owned()
        } else {
            format!("another machine class, {}", baseline.class)
        };
        against.push(format!("the figures accepted for {class}{when}"));
    }
    let against = if against.is_empty() { "nothing".into() } else { against.join(" and ") };
    format!("{measured} against {against}; machine class {}", report.machine_class)
}

/// Shortens a commit, and keeps the words after the hash.
fn short(commit: &str) -> String {
    match commit.split_once(' ') {
        Some((hash, rest)) => format!("{} {rest}", short_commit(hash)),
        None => short_commit(commit).to_owned(),
    }
}

/// Returns the first characters, with an ellipsis if there are more.
pub(super) fn abridged(text: &str, characters: usize) -> String {
    let end = text.char_indices().nth(characters);
    end.map_or_else(|| text.to_owned(), |(at, _)| format!("{}…", &text[..at]))
}

/// Returns the change of the metric with its interval, if there are figures: "+12.3 % [+10.1 %, +14.6 %]" or "9 →
/// 12".
pub(in crate::render) fn change(row: &GateRow) -> Option<String> {
    let figure = |value: f64| units::value(row.unit.as_deref().unwrap_or(""), value);
    match &row.judgement.evidence {
        Evidence::None => None,
        Evidence::Identical { .. } => Some("same program".into()),
        Evidence::Exact { baseline, candidate, .. } | Evidence::Size { baseline, candidate, .. } => {
            Some(if baseline == candidate {
                figure(*candidate)
            } else {
                format!("{} → {}", figure(*baseline), figure(*candidate))
            })
        }
        Evidence::TimePaired(evidence) => Some(effect(evidence.ratio, evidence.ratio_interval)),
        Evidence::TimeUnpaired(evidence) => Some(effect(evidence.ratio, Some(evidence.ratio_interval))),
    }
}

fn effect(ratio: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { lower, upper }) => {
            format!("{} [{}, {}]", units::relative(ratio), units::relative(lower), units::relative(upper))
        }
        None => format!("{} (no interval)", units::relative(ratio)),
    }
}

/// Returns the metric or other subject, and its reference. A benchmark can have a row for each.
pub(in crate::render) fn subject(row: &GateRow) -> String {
    let what = row.title.as_deref().unwrap_or("outcome");
    match row.against {
        Against::Base => format!("{what} against the base"),
        Against::Baseline => format!("{what} against the baseline"),
        Against::Expectation => what.to_owned(),
        Against::Planted => format!("{what} with a planted slowdown"),
    }
}

/// Groups rows by sentence, in the order of their first appearance.
pub(super) fn by_sentence<'a>(rows: &[&'a GateRow]) -> Vec<(String, Vec<&'a GateRow>)> {
    grouped(rows.iter().map(|row| (sentence(row), *row)))
}

/// Words a remark.
fn remark(remark: &Remark) -> Cow<'_, str> {
    let of = |metric: &str, reason: &str| format!("the acknowledgement of `{metric}` ({reason})");
    Cow::Owned(match remark {
        Remark::OtherClass { class, nearest, left_out } => format!(
            "there is no baseline of {class}; the nearest, {nearest}, judges the figures that are the same on every machine; {left_out} others were left out"
        ),
        Remark::Expired { metric, reason, accepted } => {
            format!("{} has expired: figures were accepted {accepted}", of(metric, reason))
        }
        Remark::Unneeded { metric, reason } => format!("{} is not needed any more", of(metric, reason)),
        Remark::Planted { seen, of } => format!("planted slowdowns that were seen: {seen} of {of}"),
        Remark::SharedFunction { function, benchmarks } => format!(
            "one function may be the cause of {} regressions: `{}` has more instructions in {}",
            benchmarks.len(),
            plain(function),
            some(benchmarks)
        ),
        Remark::Unreached { benchmarks, reached } => {
            let they = if benchmarks.len() == 1 { "it executes" } else { "they execute" };
            let others = match reached {
                0 => String::new(),
                _ => format!("; it reaches {}", units::counted(*reached, "other")),
            };
            format!(
                "the change does not reach {}: no function that {they} differs from the base{others}",
                some(benchmarks)
            )
        }
        Remark::SameKernels { benchmarks, others } => {
            let others = match others {
                0 => String::new(),
                _ => format!("; those of {} did", units::counted(*others, "other")),
            };
            format!("no kernel of {} changed{others}", some(benchmarks))
        }
        Remark::Layouts { count, differ, untold } => layouts(*count, differ, untold),
        Remark::OneLayout { benchmarks, reason } => {
            format!("code layout is not varied for {}, because {reason}", some(benchmarks))
        }
        Remark::Told(told) => return Cow::Borrowed(told),
    })
}

/// First format whose rows state what they could have seen.
const SIGHT_SINCE: u32 = 3;
/// Largest number of rows that a remark names.
const MOST_NAMES: usize = 20;

/// Returns the remarks in words, and those on rows that passed and say little by it.
pub(super) fn remarks(report: &GateReport) -> Vec<String> {
    let told = report.remarks.iter().map(|told| remark(told).into_owned());
    told.chain(coarse(report)).collect()
}

/// Names the rows that passed although they could only have seen a large slowdown, the least able first.
fn coarse(report: &GateReport) -> Vec<String> {
    let sight = |row: &&GateRow| {
        let judgement = &row.judgement;
        let is_new = report.format >= SIGHT_SINCE;
        let passed = judgement.verdict == Verdict::Unchanged && judgement.gates();
        judgement.evidence.could_see().filter(|could_see| is_new && passed && is_coarse(*could_see))
    };
    let mut rows: Vec<(f64, &GateRow)> =
        report.rows.iter().filter_map(|row| Some((sight(&row)?, row))).collect();
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    grouped(rows.into_iter().map(|(could_see, row)| (percent(could_see.exp_m1()), row)))
        .into_iter()
        .map(|(slowdown, rows)| {
            let names: Vec<String> = rows.iter().take(MOST_NAMES).map(|row| row.name()).collect();
            let more = rows.len().saturating_sub(MOST_NAMES);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("could only have seen a slowdown of {slowdown}: {}{more}", names.join(", "))
        })
        .collect()
}

/// Words the layouts that were measured: "code layout: 4 links of each side, whose order alone changes sort/n/v by 18 %".
fn layouts(count: usize, differ: &[(String, f64)], untold: &[String]) -> String {
    let mut text = format!("code layout: {count} links of each side");
    if !differ.is_empty() {
        let change = |(benchmark, spread): &(String, f64)| {
            format!("{benchmark} by {}", units::percent(spread.exp_m1()))
        };
        let changes: Vec<String> = differ.iter().map(change).collect();
        let _ =
            write!(text, "; the order of the code alone changes {}: measured in the fastest", some(&changes));
    } else if untold.is_empty() {
        text += ", which do not differ";
    }
    if !untold.is_empty() {
        let _ = write!(text, "; no time or memory to compare them for {}, which took turns", some(untold));
    }
    text
}

/// Names some of many things: "a, b, c and 4 others".
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        1 => format!("{shown} and 1 other"),
        more => format!("{shown} and {more} others"),
    }
}

/// Returns the report with its words, as a file contains it.
pub(super) fn in_words(report: &GateReport) -> GateReport {
    let row = |row: &GateRow| GateRow {
        sentence: Some(sentence(row)),
        diagnosis: diagnosis(row, &report.rows),
        ..row.clone()
    };
    GateReport {
        format: REPORT_VERSION,
        rows: report.rows.iter().map(row).collect(),
        remarks: report.remarks.iter().map(|told| Remark::Told(remark(told).into_owned())).collect(),
        ..report.clone()
    }
}

/// Returns the number of benchmarks of the rows.
pub(super) fn benchmarks(rows: &[&GateRow]) -> usize {
    let mut ids: Vec<&str> = rows.iter().map(|row| row.benchmark.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}
