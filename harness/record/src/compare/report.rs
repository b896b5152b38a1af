//! What a gate found: the one form between judging and showing.

use perfharness_contract::Direction;
use perfharness_verdict::judge::{GateOutcome, Judgement, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format of a gate's JSON.
///
/// Changes: 1, the first.
pub const REPORT_VERSION: u32 = 1;

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "perfharness gate report, format 1")]
pub struct GateReport {
    /// Version of this format.
    pub format: u32,
    /// What follows for the whole.
    pub outcome: GateOutcome,
    /// The run that was judged.
    pub run: String,
    /// The commit that was measured.
    pub commit: Option<String>,
    /// The commit that it was measured against.
    pub base_commit: Option<String>,
    /// The machine class.
    pub machine_class: String,
    /// The accepted figures that it was held against.
    pub baseline: Option<BaselineInfo>,
    /// The judgements, worst first.
    pub rows: Vec<Row>,
    /// What else should be known.
    pub remarks: Vec<String>,
}

/// Which accepted figures were used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineInfo {
    /// Their machine class.
    pub class: String,
    /// Whether it is that of the run.
    pub same_class: bool,
    /// When they were accepted last.
    pub accepted: Option<String>,
}

/// What a row is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The base, in the same rounds.
    Base,
    /// Accepted figures.
    Baseline,
    /// That it ends as it is expected to.
    Expectation,
}

/// One judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The benchmark's id, or what else it is about.
    pub benchmark: String,
    /// The metric; absent where it is about the benchmark as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The metric's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which way the metric gets better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What it is held against.
    pub against: Against,
    /// The judgement with its evidence.
    pub judgement: Judgement,
    /// The judgement in words.
    pub sentence: String,
    /// For a time that got worse: what else moved in the same benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
    /// The command that measures it again.
    pub reproduce: String,
}

impl Row {
    /// What the row means for the gate, worst first, and then by name.
    pub fn key(&self) -> impl Ord {
        let weight = match self.judgement.verdict {
            Verdict::Failed => 7,
            Verdict::Regressed => 6,
            Verdict::Redefined => 5,
            Verdict::Inconclusive => 4,
            Verdict::Improved => 3,
            Verdict::NoBaseline => 2,
            Verdict::Unchanged => 1,
        };
        let rank = (self.judgement.outcome(), self.judgement.gates(), weight);
        (std::cmp::Reverse(rank), &self.benchmark, self.metric.as_deref(), self.against)
    }

    /// `benchmark metric`.
    pub fn name(&self) -> String {
        match &self.title {
            Some(title) => format!("{} {title}", self.benchmark),
            None => self.benchmark.clone(),
        }
    }

    /// The verdict in one word; `advisory` where it cannot fail the gate and says something worse than unchanged.
    pub fn word(&self) -> &'static str {
        match self.judgement.verdict {
            Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive if !self.judgement.gates() => {
                "advisory"
            }
            verdict => verdict.name(),
        }
    }
}

/// How often each verdict was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Failed.
    pub failed: usize,
    /// Regressed, and counting.
    pub regressed: usize,
    /// Inconclusive, and counting.
    pub inconclusive: usize,
    /// Improved.
    pub improved: usize,
    /// Unchanged.
    pub unchanged: usize,
    /// Without a baseline.
    pub no_baseline: usize,
    /// Measured or judged in another way than before.
    pub redefined: usize,
    /// Regressed or inconclusive, and not counting.
    pub advisory: usize,
}

impl GateReport {
    /// How often each verdict was reached.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for row in &self.rows {
            let gates = row.judgement.gates();
            let count = match row.judgement.verdict {
                Verdict::Failed => &mut tally.failed,
                Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive if !gates => {
                    &mut tally.advisory
                }
                Verdict::Regressed => &mut tally.regressed,
                Verdict::Inconclusive => &mut tally.inconclusive,
                Verdict::Improved => &mut tally.improved,
                Verdict::Unchanged => &mut tally.unchanged,
                Verdict::NoBaseline => &mut tally.no_baseline,
                Verdict::Redefined => &mut tally.redefined,
            };
            *count += 1;
        }
        tally
    }
}
