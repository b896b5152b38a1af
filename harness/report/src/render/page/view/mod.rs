//! What a page says: texts as people read them, and the numbers behind its plots. A pure function of a record, of what
//! a gate found in it, and of the history; what it looks like is decided in the templates.

mod claims;
mod comparison;
mod head;
mod history;
mod machine;
mod plots;
mod workload;

use std::collections::BTreeSet;

use serde::Serialize;

pub use claims::{ClaimCase, ClaimGroup};
pub use comparison::{ComparisonRow, Comparisons, Span};
pub use head::{Fact, Head, Problem};
pub use history::{HistoryView, IndexView, MachineHistory, RunRow, Trend, TrendPoint, index};
pub use machine::{CeilingsView, MachineView, Roofline, RooflinePoint, Strip, TelemetryView, WorkerUse};
pub use plots::{PlotRow, SamplePlot, ScalingLine, ScalingPlot, Share, SharePlot, ShareRow};
pub use workload::{CaseView, CountRow, VariantRow, WorkloadView};

use perfharness_record::RunRecord;
use perfharness_record::compare::GateReport;
use perfharness_record::samples::Samples;

use crate::history::Summary;
use crate::memory::MemoryIndex;
use crate::profile::FlameIndex;

/// What a page is made of.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The record.
    pub record: &'a RunRecord,
    /// Its raw samples, or why there are none.
    pub samples: Result<&'a Samples, &'a str>,
    /// What was found when it was judged, where it was.
    pub gate: Option<&'a GateReport>,
    /// Flame graphs of its benchmarks, and where they lie, seen from the page.
    pub flames: Option<(&'a FlameIndex, &'a str)>,
    /// What was seen of their memory over many iterations, and where its pictures lie, seen from the page.
    pub memory: Option<(&'a MemoryIndex, &'a str)>,
    /// The other runs that are known, oldest first.
    pub history: &'a [Summary],
    /// What else should be known, such as a file that could not be read.
    pub remarks: &'a [String],
}

/// Everything that a page says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// The title of the window.
    pub title: String,
    /// What people want to know first.
    pub head: Head,
    /// Statements of the documents.
    pub claims: Vec<ClaimGroup>,
    /// How often each status was reached.
    pub claim_tally: Vec<Count>,
    /// What the machine did, and what it can do at most.
    pub machine: MachineView,
    /// The workloads.
    pub workloads: Vec<WorkloadView>,
    /// Against accepted figures or a base.
    pub comparisons: Option<Comparisons>,
    /// Over the runs that are known.
    pub history: Option<HistoryView>,
    /// Words that rows can be filtered by.
    pub verdicts: Vec<String>,
}

/// A text for people, and the number to sort by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The text; a dash where there is nothing.
    pub text: String,
    /// The number, where there is a finite one.
    pub value: Option<f64>,
}

impl Figure {
    fn new(text: impl Into<String>, value: f64) -> Self {
        Self { text: text.into(), value: value.is_finite().then_some(value) }
    }

    fn none() -> Self {
        Self { text: "–".into(), value: None }
    }

    /// What a cell is sorted by; nothing where there is no number.
    pub fn key(&self) -> String {
        self.value.map_or_else(String::new, |value| value.to_string())
    }
}

/// How often something is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Count {
    /// What.
    pub word: String,
    /// Its look.
    pub tone: Tone,
    /// How often.
    pub count: usize,
}

/// How something is to be taken; never told by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// As it should be, or better.
    Good,
    /// Wrong, or worse.
    Bad,
    /// Open.
    Open,
    /// Neither.
    Plain,
}

impl Tone {
    /// The class of the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Open => "open",
            Self::Plain => "plain",
        }
    }
}

/// A word with a sign beside it, so that colour is not needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Badge {
    /// The sign.
    pub sign: &'static str,
    /// The word.
    pub word: String,
    /// Its look.
    pub tone: Tone,
}

impl Badge {
    fn new(sign: &'static str, word: impl Into<String>, tone: Tone) -> Self {
        Self { sign, word: word.into(), tone }
    }
}

/// Makes the view.
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

/// A name for a place in a page, made of characters that need no escaping anywhere. Names that lose something get a
/// number made of all their characters, so that different ones stay different.
pub fn fragment(prefix: &str, name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text: String = name.chars().map(|c| if kept(c) { c } else { '-' }).collect();
    if name.chars().all(|c| kept(c) || c == '/') && !name.contains('-') {
        return format!("{prefix}-{text}");
    }
    // FNV-1a: short, and the same on every machine.
    let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}-{text}-{:06x}", digest & 0xff_ffff)
}
