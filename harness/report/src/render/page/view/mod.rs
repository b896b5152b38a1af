//! The contents of a page: texts for people and the numbers of its plots. A pure function of a record, of the report
//! of a gate on it and of the history; the templates define the look.

mod claims;
mod comparison;
mod head;
mod history;
mod machine;
mod plots;
mod workload;

use std::collections::BTreeSet;

use serde::Serialize;

pub(super) use claims::ClaimGroup;
pub(super) use comparison::{ComparisonRow, Comparisons, Span};
use head::Head;
pub(super) use history::{HistoryView, MachineHistory, Trend, TrendPoint};
pub use history::{IndexView, index};
pub(super) use machine::{MachineView, Roofline, Strip};
pub(super) use plots::{PlotRow, SamplePlot, ScalingPlot, SharePlot, ShareRow};
pub(super) use workload::{CaseView, WorkloadView};

use perfharness_record::RunRecord;
use perfharness_record::compare::GateReport;
use perfharness_record::samples::Samples;

use crate::history::RunSummary;
use crate::memory::MemoryIndex;
use crate::profile::FlameIndex;

/// The inputs of a page.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The record.
    pub record: &'a RunRecord,
    /// Its raw samples, or the reason for their absence.
    pub samples: Result<&'a Samples, &'a str>,
    /// The report of a gate on it, if it was judged.
    pub gate: Option<&'a GateReport>,
    /// Flame graphs of its benchmarks, and the path from the page to their folder.
    pub flames: Option<(&'a FlameIndex, &'a str)>,
    /// Memory stories of its benchmarks, and the path from the page to their folder.
    pub memory: Option<(&'a MemoryIndex, &'a str)>,
    /// The other known runs, oldest first.
    pub history: &'a [RunSummary],
    /// Other remarks, such as a file that could not be read.
    pub remarks: &'a [String],
}

/// The contents of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    pub(crate) title: String,
    /// The summary at the top.
    pub(crate) head: Head,
    pub(crate) claims: Vec<ClaimGroup>,
    /// Number of claims with each status.
    pub(crate) claim_tally: Vec<StatusCount>,
    pub(crate) machine: MachineView,
    pub(crate) workloads: Vec<WorkloadView>,
    /// Judgements against a baseline or a base.
    pub(crate) comparisons: Option<Comparisons>,
    pub(crate) history: Option<HistoryView>,
    /// Words to filter rows by.
    pub(crate) verdicts: Vec<String>,
}

/// A text for people, and a number to sort by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// The text; a dash if there is no value.
    pub text: String,
    /// The number, if it is finite.
    pub value: Option<f64>,
}

impl Figure {
    fn new(text: impl Into<String>, value: f64) -> Self {
        Self { text: text.into(), value: value.is_finite().then_some(value) }
    }

    fn none() -> Self {
        Self { text: "–".into(), value: None }
    }

    /// Returns the sort key of a cell; empty if there is no number.
    pub(crate) fn key(&self) -> String {
        self.value.map_or_else(String::new, |value| value.to_string())
    }
}

/// A word and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StatusCount {
    pub word: String,
    pub tone: Tone,
    pub count: usize,
}

/// The tone of a statement; a word or a sign always accompanies its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tone {
    /// As expected, or better.
    Good,
    /// Wrong, or worse.
    Bad,
    /// Undecided.
    Open,
    /// Changed, and explained by code layout.
    Placement,
    /// Neither.
    Plain,
}

impl Tone {
    /// Returns the class of the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Open => "open",
            Self::Placement => "placement",
            Self::Plain => "plain",
        }
    }
}

/// A word with a sign, so that the reader does not need colour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Badge {
    pub sign: &'static str,
    pub word: String,
    pub tone: Tone,
}

impl Badge {
    fn new(sign: &'static str, word: impl Into<String>, tone: Tone) -> Self {
        Self { sign, word: word.into(), tone }
    }
}

/// Makes the contents of a page.
pub fn page(material: &Material<'_>) -> Page {
    let record = material.record;
    let claims = claims::claims(record);
    let workloads = workload::workloads(material);
    let places: BTreeSet<&str> =
        workloads.iter().flat_map(|w| &w.cases).map(|case| case.fragment.as_str()).collect();
    let comparisons = material.gate.map(|gate| comparison::comparisons(gate, &places));
    let mut verdicts: Vec<String> = Vec::new();
    let statuses = claims.iter().flat_map(|group| group.cases.iter().map(|case| &case.status));
    let rows = comparisons.iter().flat_map(|c| c.rows.iter().map(|row| &row.verdict));
    for badge in rows.chain(statuses) {
        if !verdicts.contains(&badge.word) {
            verdicts.push(badge.word.clone());
        }
    }
    Page {
        title: head::title(record),
        head: head::head(material),
        claim_tally: claims::tally(record),
        claims,
        machine: machine::machine(record),
        workloads,
        comparisons,
        history: history::of_page(material),
        verdicts,
    }
}

/// Returns a fragment identifier of characters that need no escaping anywhere. A name that loses characters gets a
/// digest of all of them, so that different names keep different fragments.
pub(crate) fn fragment(prefix: &str, name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text: String = name.chars().map(|c| if kept(c) { c } else { '-' }).collect();
    if name.chars().all(|c| kept(c) || c == '/') && !name.contains('-') {
        return format!("{prefix}-{text}");
    }
    // FNV-1a is short and the same on every machine.
    let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}-{text}-{:06x}", digest & 0xff_ffff)
}
