//! Events of a run: the interface between measuring and its consumers. One event is one line of the journal.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{CheckReply, HelloReply, Kernels, Mode, Reading};
use perfharness_record::{CaseEnd, Contamination, Flag, Outcome, Pairing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counted, TimeAudit, WarmUp};
use crate::telemetry::News;

/// One event. `case` numbers the cases of the plan, `side` the sides of that case, both from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The measuring of a case begins or, after `--resume`, continues.
    CaseStarted {
        /// The case.
        case: usize,
        /// Sides that are alive together.
        pairing: Pairing,
    },
    /// A launch begins.
    LaunchStarted {
        /// The case.
        case: usize,
        /// Number of the launch, from 0.
        launch: u32,
        /// Placements that are planned.
        placements: u32,
        /// Blocks that are planned for each placement.
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
        /// The part of the launch.
        #[serde(default)]
        part: u32,
        /// Layout of its program.
        #[serde(default)]
        layout: u32,
        /// Its answer.
        hello: HelloReply,
        /// Process id.
        #[serde(default)]
        pid: Option<u32>,
    },
    /// A worker sent the user a note that it had not sent before.
    Noted {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// Text of the note.
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
        /// Course of the warm-up.
        warm_up: WarmUp,
    },
    /// The length of a side's samples is chosen.
    Tuned {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// Timed iterations.
        iterations: u64,
        /// Untimed iterations before them.
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
        /// Reason why the block does not count, if it does not.
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
        /// Whether timing had begun.
        stage: CheckStage,
        /// The round whose input was used.
        round: u64,
        /// The iteration within the round.
        index: u64,
        /// The answer of the worker.
        reply: CheckReply,
    },
    /// A worker is about to end.
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
    /// The times that a worker gave in a launch are compared with each other and with the harness's clock.
    Audited {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The launch.
        launch: u32,
        /// What was found.
        audit: TimeAudit,
    },
    /// The instructions of a side were counted, or could not be.
    Counted {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// What was found.
        counted: Counted,
        /// Time that it took, in ns.
        spent_ns: u64,
    },
    /// The first metered sample of a side told its kernels.
    Dispatched {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// Iterations of the sample.
        iterations: u64,
        /// The kernels.
        kernels: Kernels,
    },
    /// The outcome of a benchmark is decided; it is measured no further.
    OutcomeSet {
        /// The case.
        case: usize,
        /// The side.
        side: usize,
        /// The outcome.
        outcome: Outcome,
    },
    /// A launch has ended.
    LaunchFinished {
        /// The case.
        case: usize,
        /// The launch.
        launch: u32,
        /// Breakdown of its time.
        timing: LaunchTiming,
        /// Reason why none of its blocks counts, if that is so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped: Option<Contamination>,
    },
    /// The measuring of a case has ended.
    CaseFinished {
        /// The case.
        case: usize,
        /// Reason why it ended.
        end: CaseEnd,
    },
    /// The telemetry process sent a message.
    Watched(News),
}

impl Event {
    /// Returns the case that the event belongs to, or `None` if it belongs to the whole run.
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
            | Self::Audited { case, .. }
            | Self::Counted { case, .. }
            | Self::Dispatched { case, .. }
            | Self::OutcomeSet { case, .. }
            | Self::LaunchFinished { case, .. }
            | Self::CaseFinished { case, .. } => Some(*case),
            Self::Watched(_) => None,
        }
    }
}

/// Stage of a launch at which a check is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStage {
    /// Before timing, on an iteration of its own.
    Before,
    /// After timing, on the result of the last timed sample.
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
    /// The part of the launch, which is a set of sides that are alive together.
    #[serde(default)]
    pub part: u32,
    /// The placement.
    pub placement: u32,
    /// The block; 0 for metered samples.
    pub block: u32,
    /// The round number, which determines the input.
    pub round: u64,
    /// Position in the order of the round, from 0.
    pub position: u32,
    /// Mode of the sample.
    pub mode: Mode,
    /// Timed iterations.
    pub iterations: u64,
    /// Start on the harness's clock in ns, if the worker's clock could be related to it.
    pub start_ns: Option<u64>,
    /// Wall-clock time of all iterations in ns.
    pub wall_ns: u64,
    /// CPU time over the same stretch in ns.
    pub cpu_ns: Option<u64>,
    /// Readings of the meters: sums over the iterations, or peaks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Reading>,
    /// Disturbances of the sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// Breakdown of the time of a launch, in ns. What is in none of its parts went to the anchor and to events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LaunchTiming {
    /// From the first process to the end of the last.
    pub total_ns: u64,
    /// Within placements but outside their blocks: prepare, checks before timing, warm-up. Checks after timing and
    /// metered samples count for the launch only.
    pub placements_ns: u64,
    /// Within blocks.
    pub blocks_ns: u64,
    /// Start, `hello` and end of processes.
    #[serde(default)]
    pub processes_ns: u64,
    /// Preparing of placements.
    #[serde(default)]
    pub prepare_ns: u64,
    /// Checks, before and after timing.
    #[serde(default)]
    pub checks_ns: u64,
    /// Warm-up.
    #[serde(default)]
    pub warm_up_ns: u64,
    /// Metered samples.
    #[serde(default)]
    pub metered_ns: u64,
    /// Timed iterations of samples.
    #[serde(default)]
    pub samples_ns: u64,
    /// Within blocks, while somebody else ran on the CPUs, by the counts of the hypervisor and the scheduler; absent where
    /// neither counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Placements made.
    pub placements: u32,
    /// Blocks measured.
    pub blocks: u32,
}

impl LaunchTiming {
    /// Returns the stolen time as a share of the time within blocks.
    pub fn stolen_share(&self) -> Option<f64> {
        Some(self.stolen_ns? as f64 / self.blocks_ns as f64).filter(|share| share.is_finite())
    }
}
