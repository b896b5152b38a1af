//! What happens during a run: the interface between measuring and everything that watches it. One event is one line
//! of the journal.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{CheckReply, HelloReply, Mode, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WarmUp;
use crate::telemetry::News;
use perfharness_record::CaseEnd;
use perfharness_record::Outcome;
use perfharness_record::Pairing;
use perfharness_record::{Contamination, Flag};

/// One thing that happened. `case` counts the plan's cases, `side` the sides of that case, both from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Measuring of a case begins or, after `--resume`, goes on.
    CaseStarted {
        /// The case.
        case: usize,
        /// Which sides are alive together.
        pairing: Pairing,
    },
    /// A launch begins.
    LaunchStarted {
        /// The case.
        case: usize,
        /// Number of the launch, from 0.
        launch: u32,
        /// Placements that it is to have.
        placements: u32,
        /// Blocks that each placement is to have.
        blocks: u32,
        /// Load average of the machine.
        load_average: Option<f64>,
        /// Time of the anchor in ns.
        #[serde(default)]
        anchor_ns: Option<f64>,
        /// Unix time in ms.
        unix_ms: u64,
    },
    /// A worker has answered `hello`.
    WorkerOpened {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The launch.
        launch: u32,
        /// What it said.
        hello: HelloReply,
        /// Id of its process.
        #[serde(default)]
        pid: Option<u32>,
    },
    /// A worker told the user something that it had not told before.
    Noted {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// What it told.
        note: String,
    },
    /// A placement has been warmed up.
    WarmedUp {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The launch.
        launch: u32,
        /// The placement.
        placement: u32,
        /// What was seen.
        warm_up: WarmUp,
    },
    /// How long samples of a side are from here on.
    Tuned {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// Iterations under the clock.
        iterations: u64,
        /// Iterations before it.
        lead_in: u64,
    },
    /// A sample was taken. Timed samples count once their block is finished.
    Sampled(SampleEvent),
    /// A block is complete.
    BlockFinished {
        /// The case.
        case: usize,
        /// The launch.
        launch: u32,
        /// The placement.
        placement: u32,
        /// The block.
        block: u32,
        /// Why it does not count, where it does not.
        dropped: Option<Contamination>,
    },
    /// A check was made.
    Checked {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The launch.
        launch: u32,
        /// Before or after timing.
        stage: CheckStage,
        /// The round whose input was used.
        round: u64,
        /// The iteration within the round.
        index: u64,
        /// What was found.
        reply: CheckReply,
    },
    /// A worker has used this much over its launch.
    WorkerFinished {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The launch.
        launch: u32,
        /// Peak resident set size of the process.
        peak_rss_bytes: Option<u64>,
        /// CPU time of the process.
        cpu_ns: Option<u64>,
    },
    /// A benchmark is decided; it is measured no further.
    OutcomeSet {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// How it ended.
        outcome: Outcome,
    },
    /// A launch is over.
    LaunchFinished {
        /// The case.
        case: usize,
        /// The launch.
        launch: u32,
        /// Where its time went.
        timing: LaunchTiming,
    },
    /// Measuring of a case is over.
    CaseFinished {
        /// The case.
        case: usize,
        /// What ended it.
        end: CaseEnd,
    },
    /// The process that watches the machine meanwhile was heard of.
    Watched(News),
}

impl Event {
    /// The case that it is about; none where it is about the whole run.
    pub fn case(&self) -> Option<usize> {
        match self {
            Self::CaseStarted { case, .. }
            | Self::LaunchStarted { case, .. }
            | Self::WorkerOpened { case, .. }
            | Self::Noted { case, .. }
            | Self::WarmedUp { case, .. }
            | Self::Tuned { case, .. }
            | Self::Sampled(SampleEvent { case, .. })
            | Self::BlockFinished { case, .. }
            | Self::Checked { case, .. }
            | Self::WorkerFinished { case, .. }
            | Self::OutcomeSet { case, .. }
            | Self::LaunchFinished { case, .. }
            | Self::CaseFinished { case, .. } => Some(*case),
            Self::Watched(_) => None,
        }
    }
}

/// When a check is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStage {
    /// Before timing, on an iteration of its own.
    Before,
    /// After timing, on what the last timed sample left.
    After,
}

/// One sample of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleEvent {
    /// The case.
    pub case: usize,
    /// The side.
    pub side: usize,
    /// The launch.
    pub launch: u32,
    /// The part of the launch: which set of sides was alive.
    #[serde(default)]
    pub part: u32,
    /// The placement.
    pub placement: u32,
    /// The block; 0 for metered samples.
    pub block: u32,
    /// The round number, which the input is a function of.
    pub round: u64,
    /// Place in the round's order, from 0.
    pub position: u32,
    /// Clock only, or meters on.
    pub mode: Mode,
    /// Iterations under the clock.
    pub iterations: u64,
    /// Start on the harness's clock in ns, where the worker's clock could be related to it.
    pub start_ns: Option<u64>,
    /// Wall-clock time of all iterations in ns.
    pub wall_ns: u64,
    /// CPU time over the same stretch in ns.
    pub cpu_ns: Option<u64>,
    /// What was metered: sums over the iterations, or peaks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Reading>,
    /// What disturbed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// Where the time of a launch went, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LaunchTiming {
    /// From the first process to the end of the last.
    pub total_ns: u64,
    /// Within placements but outside their blocks: prepare, checks before timing, warm-up. Checks after timing and
    /// metered samples belong to the launch.
    pub placements_ns: u64,
    /// Within blocks.
    pub blocks_ns: u64,
    /// Placements made.
    pub placements: u32,
    /// Blocks measured.
    pub blocks: u32,
}
