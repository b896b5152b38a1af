//! The report of a gate: the one form between judging and showing.

use perfharness_contract::{Direction, Items, Number};
use perfharness_verdict::judge::{GateOutcome, Judgement, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reach;

/// Version of the format of a gate's JSON.
///
/// Changes: 1, the first; 2, the reasons that the harness finds itself are names and figures in place of words, and the
/// `floor` of a size is its `margin`; 3, the verdict `placement`, and `could_see` of a time in place of its
/// `smallest_detectable`. Reports of formats 1 and 2 are still read.
pub const REPORT_VERSION: u32 = 3;

/// The report of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "perfharness gate report, format 3")]
pub struct GateReport {
    /// Version of this format.
    pub format: u32,
    /// The outcome of the whole.
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
    pub rows: Vec<GateRow>,
    /// Remarks beside the rows.
    pub remarks: Vec<Remark>,
    /// Slowdowns that were planted to see whether the rows can vary, where some were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<PlantedRow>,
}

/// Result of a slowdown that was planted in a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedRow {
    /// The benchmark's id.
    pub benchmark: String,
    /// The extra work, as a share.
    pub share: f64,
    /// The measured effect, as a log-ratio; absent where nothing was measured.
    pub effect: Option<f64>,
    /// The launches.
    pub launches: usize,
    /// Whether the rule of the gate calls it `regressed`.
    pub is_seen: bool,
    /// Whether the interval of the effect holds half of the planted work.
    pub can_vary: bool,
}

/// A remark beside the rows of a gate. A file has it in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "String")]
#[serde(untagged)]
pub enum Remark {
    /// The machine class has no accepted figures.
    OtherClass {
        /// The machine class.
        class: String,
        /// The class that judges what is the same on every machine.
        nearest: String,
        /// The figures that are not the same on every machine, and were left out.
        left_out: usize,
    },
    /// Figures were accepted after an acknowledgement was made.
    Expired {
        /// The metric of the acknowledgement.
        metric: String,
        /// Its reason.
        reason: String,
        /// When the figures were accepted.
        accepted: String,
    },
    /// An acknowledgement that nothing needs.
    Unneeded {
        /// The metric of the acknowledgement.
        metric: String,
        /// Its reason.
        reason: String,
    },
    /// Slowdowns were planted to see whether the rows can vary.
    Planted {
        /// Those that the gate saw.
        seen: usize,
        /// All of them.
        of: usize,
    },
    /// A function has more instructions in several benchmarks that regressed.
    SharedFunction {
        /// Its name.
        function: String,
        /// The benchmarks.
        benchmarks: Vec<String>,
    },
    /// The change does not reach some of the benchmarks: no function that they execute differs from the base.
    Unreached {
        /// Those benchmarks.
        benchmarks: Vec<String>,
        /// Number of the benchmarks that are known to execute a changed function.
        reached: usize,
    },
    /// The kernels of some benchmarks are those of the base, instruction by instruction.
    SameKernels {
        /// Those benchmarks.
        benchmarks: Vec<String>,
        /// Number of the other benchmarks with kernels.
        others: usize,
    },
    /// Benchmarks were measured in several layouts.
    Layouts {
        /// Layouts of each side.
        count: usize,
        /// Benchmarks whose layouts differ, with the log-ratio of the slowest and the fastest.
        differ: Vec<(String, f64)>,
        /// Benchmarks whose layouts took turns, because they could not be compared.
        untold: Vec<String>,
    },
    /// Benchmarks were measured in one layout.
    OneLayout {
        /// The benchmarks.
        benchmarks: Vec<String>,
        /// The reason, as a clause.
        reason: String,
    },
    /// In words.
    Told(String),
}

impl From<String> for Remark {
    fn from(told: String) -> Self {
        Self::Told(told)
    }
}

/// The accepted figures that were used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineInfo {
    /// Their machine class.
    pub class: String,
    /// Whether it is that of the run.
    pub same_class: bool,
    /// When they were accepted last.
    pub accepted: Option<String>,
}

/// The reference of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The base, in the same rounds.
    Base,
    /// Accepted figures.
    Baseline,
    /// The outcome that it is expected to end with.
    Expectation,
    /// Itself, with a slowdown planted in one of the two.
    Planted,
}

/// A function that has more instructions than before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownFunction {
    /// Its name.
    pub name: String,
    /// Its own instructions in an iteration before, 0 where it was not among those that are kept.
    pub before: Number,
    /// Those now.
    pub now: Number,
}

/// A kernel whose code is worse than before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedKernel {
    /// Its name.
    pub name: String,
    /// The figure of the row's metric for one dispatch before; absent for a kernel that is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Number>,
    /// The figure now.
    pub now: Number,
}

/// One judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRow {
    /// The benchmark's id, or another subject.
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
    /// The way in which the metric gets better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The items that an iteration of the benchmark handles, where its case counts them; a file has them in its words only.
    #[serde(skip)]
    pub items: Option<Items>,
    /// The reference that it is held against.
    pub against: Against,
    /// The judgement with its evidence.
    pub judgement: Judgement,
    /// The judgement in words, which a row has from its file.
    #[schemars(required)]
    pub sentence: Option<String>,
    /// For a figure that got worse, in words: what else moved in the same benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
    /// The functions that have more instructions than before, by how many more, for a row that regressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<GrownFunction>,
    /// The change of what the benchmark executes, for a row that regressed against the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// The kernels whose code got worse than that of the base, and those that the base lacks, for a row that regressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<ChangedKernel>,
    /// The command that measures it again.
    pub reproduce: String,
}

impl GateRow {
    /// The key to sort rows by: worst for the gate first, and then by name.
    pub fn key(&self) -> impl Ord {
        let weight = match self.judgement.verdict {
            Verdict::Failed => 8,
            Verdict::Regressed => 7,
            Verdict::Redefined => 6,
            Verdict::Inconclusive => 5,
            Verdict::Placement => 4,
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

    /// The verdict in one word; `advisory` where it cannot fail the gate and says something worse than unchanged, and
    /// `suspect` where its times are not believed.
    pub fn word(&self) -> &'static str {
        match self.judgement.verdict {
            _ if self.judgement.is_suspect() => "suspect",
            Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive if !self.judgement.gates() => {
                "advisory"
            }
            verdict => verdict.name(),
        }
    }
}

/// The number of rows with each verdict.
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
    /// Within the spread of the layouts.
    #[serde(default)]
    pub placement: usize,
    /// Without a baseline.
    pub no_baseline: usize,
    /// Measured or judged in another way than before.
    pub redefined: usize,
    /// Regressed or inconclusive, and not counting.
    pub advisory: usize,
}

impl GateReport {
    /// The number of rows with each verdict.
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
                Verdict::Placement => &mut tally.placement,
                Verdict::NoBaseline => &mut tally.no_baseline,
                Verdict::Redefined => &mut tally.redefined,
            };
            *count += 1;
        }
        tally
    }
}
