//! The data of a gate: one line of JSON, from which any rule can judge it again.

use std::collections::BTreeMap;

use perfharness_engine::measure::CaseState;
use perfharness_record::{CaseEnd, Stage};
use perfharness_verdict::judge::{GateOutcome, Reason, Verdict};
use perfharness_verdict::{Block, Launch, Lead, Paired, Placement, log_ratio};
use serde::{Deserialize, Serialize};

use super::programs::Build;
use super::rivals::Rival;

/// Log-ratios are stored in units of 0.001 %.
const UNIT: f64 = 1e-5;
/// Positions of base and head among the sides of a pair.
const BASE: usize = 0;
const HEAD: usize = 1;

/// What differs between base and head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pair {
    /// The links, and a function that nobody calls.
    Relinked,
    /// Nothing: one program against itself.
    Same,
}

/// The conditions of a gate. Gates of different conditions are summarised apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Conditions {
    pub(super) pair: Pair,
    /// Layouts of each side.
    pub(super) layouts: usize,
    /// Factor by which one benchmark of head has more work; 1 for none.
    pub(super) planted: f64,
    pub(super) threshold: f64,
    /// Time of the run for its looks; confirming has as much again.
    pub(super) budget_s: f64,
    /// Length of a timed sample; that of effort quick where absent.
    pub(super) sample_ms: Option<f64>,
    /// Processes that keep a core busy in bursts.
    pub(super) neighbours: u32,
    /// True if instructions are counted, too.
    #[serde(default)]
    pub(super) instructions: bool,
    /// Kernels in which something is planted in turn.
    pub(super) kernels: Vec<String>,
    /// Benchmarks of the suite, if not all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) benchmarks: Vec<String>,
}

/// One gate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Gate {
    pub(super) number: u64,
    pub(super) conditions: Conditions,
    /// The benchmark with the planted work.
    pub(super) planted_in: Option<String>,
    pub(super) base: Build,
    pub(super) head: Build,
    /// Fingerprint of the code of the harness.
    pub(super) harness: Option<String>,
    pub(super) unix_ms: u64,
    /// Load averages before and after.
    pub(super) load: [Option<f64>; 2],
    /// Time of all launches, and of everything.
    pub(super) launches_s: f64,
    pub(super) whole_s: f64,
    /// Outcome by times and instructions, as the gate gave it.
    pub(super) outcome: GateOutcome,
    /// Benchmark, metric and verdict of rows other than times that are not unchanged. Planted work also shows in counts.
    pub(super) others: Vec<(String, String, Verdict)>,
    pub(super) rows: Vec<Row>,
    /// The instructions of each benchmark.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) counted: Vec<Counted>,
    /// Time that counting took.
    #[serde(default)]
    pub(super) counting_s: f64,
    pub(super) rival: Option<Rival>,
}

/// The instructions of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) case: String,
    /// Those of base and head, where they could be counted.
    pub(super) instructions: [Option<f64>; 2],
    pub(super) verdict: Verdict,
    /// True if the verdict fails no gate.
    #[serde(default)]
    pub(super) advisory: bool,
    /// The functions that grew, by how much; named where the benchmark regressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) functions: Vec<String>,
}

/// The launches of a benchmark, for one purpose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) stage: Stage,
    pub(super) end: Option<CaseEnd>,
    /// Verdict of the gate on the wall time.
    pub(super) verdict: Option<Verdict>,
    /// Its reason, where the verdict is not `unchanged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Reason>,
    /// Spread of the layouts of both sides, as a log-ratio; 0 where it is not known.
    #[serde(default)]
    pub(super) layout_spread: f64,
    pub(super) launches: Vec<LaunchLine>,
}

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LaunchLine {
    #[serde(rename = "n")]
    pub(super) number: u32,
    /// 1 if head came first, 0 if base did.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub(super) head_leads: Option<u8>,
    /// Layouts of base and head, if not the first.
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none")]
    pub(super) layouts: Option<[u32; 2]>,
    /// Iterations of a sample of base and head.
    #[serde(rename = "i")]
    pub(super) iterations: [u64; 2],
    /// Median time of an iteration of base, in ns.
    #[serde(rename = "t")]
    pub(super) base_ns: f64,
    /// Time of the launch in ms.
    #[serde(rename = "s")]
    pub(super) ms: f64,
    /// Placements of blocks.
    #[serde(rename = "p")]
    pub(super) placements: Vec<Vec<BlockLine>>,
}

/// A block: 1 if head came first in its first round, the log-ratios of both rounds, and 1 if it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockLine(u8, i64, i64, u8);

impl BlockLine {
    /// A block that counts, with these log-ratios.
    #[cfg(test)]
    pub(super) fn of(rounds: [f64; 2]) -> Self {
        let [first, second] = rounds.map(|ratio| (ratio / UNIT).round() as i64);
        Self(1, first, second, 0)
    }

    /// The same, dropped.
    #[cfg(test)]
    pub(super) fn dropped_of(rounds: [f64; 2]) -> Self {
        let Self(first, one, two, _) = Self::of(rounds);
        Self(first, one, two, 1)
    }

    pub(super) fn rounds(self) -> [f64; 2] {
        [self.1 as f64 * UNIT, self.2 as f64 * UNIT]
    }

    pub(super) fn dropped(self) -> bool {
        self.3 == 1
    }
}

impl Row {
    /// The launches of a case, where it compares two sides.
    pub(super) fn of(case: &str, stage: Stage, state: &CaseState) -> Self {
        let mut by_launch: BTreeMap<u32, Samples> = BTreeMap::new();
        for row in &state.samples {
            let sample = &row.sample;
            let launch = by_launch.entry(sample.launch).or_default();
            if sample.side > HEAD {
                continue;
            }
            launch.iterations[sample.side] = sample.iterations;
            if sample.side == BASE {
                launch.base_ns.push(sample.iteration_ns());
            }
            let block = launch.blocks.entry((sample.placement, sample.block)).or_default();
            let round = block.rounds.entry(sample.round).or_default();
            round.ns[sample.side] = Some(sample.iteration_ns());
            if sample.position == 0 {
                round.first = sample.side;
            }
            block.dropped |= row.dropped.is_some();
        }
        let launches = by_launch.into_iter().map(|(number, samples)| {
            let row = state.launches.iter().rfind(|row| row.launch == number);
            let total = row.and_then(|row| row.timing).map_or(0, |timing| timing.total_ns);
            // The two are in the same part of a launch.
            let opened = row.and_then(|row| row.opened.first()).map(|(_, side)| u8::from(*side == HEAD));
            let layout = |side: usize| row.and_then(|row| row.layouts.get(&side)).copied().unwrap_or(0);
            let layouts = Some([layout(BASE), layout(HEAD)]).filter(|layouts| *layouts != [0, 0]);
            LaunchLine { layouts, ..samples.line(number, opened, total) }
        });
        let launches = launches.filter(|launch| !launch.placements.is_empty()).collect();
        Self {
            case: case.into(),
            stage,
            end: state.end.clone(),
            verdict: None,
            reason: None,
            layout_spread: 0.0,
            launches,
        }
    }

    /// Number of launches that count.
    pub(super) fn counted(&self) -> usize {
        self.launches.iter().filter(|launch| launch.counts()).count()
    }

    /// The log-ratios of the first launches that count, without dropped blocks.
    pub(super) fn paired(&self, launches: usize) -> Paired {
        self.launches.iter().filter(|launch| launch.counts()).take(launches).map(LaunchLine::kept).collect()
    }

    /// Number of dropped blocks, and of all, until so many launches counted.
    pub(super) fn blocks(&self, launches: usize) -> (usize, usize) {
        let last = self.launches.iter().filter(|launch| launch.counts()).take(launches).last();
        let until =
            self.launches.iter().take_while(|launch| last.is_some_and(|last| launch.number <= last.number));
        let blocks: Vec<&BlockLine> = until.flat_map(|launch| launch.placements.iter().flatten()).collect();
        (blocks.iter().filter(|block| block.dropped()).count(), blocks.len())
    }

    pub(super) fn seconds(&self) -> f64 {
        self.launches.iter().map(|launch| launch.ms).sum::<f64>() / 1e3
    }
}

impl LaunchLine {
    /// Whether it has a block that was not dropped.
    pub(super) fn counts(&self) -> bool {
        self.placements.iter().flatten().any(|block| !block.dropped())
    }

    /// The launch without its dropped blocks.
    pub(super) fn kept(&self) -> Launch {
        let block = |block: &BlockLine| {
            let [first, second] = block.rounds();
            Block::new(first, second)
        };
        let placement = |blocks: &Vec<BlockLine>| -> Placement {
            blocks.iter().filter(|block| !block.dropped()).map(block).collect()
        };
        let lead = match self.head_leads {
            Some(1) => Lead::Candidate,
            Some(_) => Lead::Reference,
            None => Lead::Unknown,
        };
        Launch { placements: self.placements.iter().map(placement).collect(), lead }
    }
}

/// Samples of a launch.
#[derive(Default)]
struct Samples {
    iterations: [u64; 2],
    base_ns: Vec<f64>,
    /// By placement and block.
    blocks: BTreeMap<(u32, u32), BlockSamples>,
}

#[derive(Default)]
struct BlockSamples {
    rounds: BTreeMap<u64, RoundSamples>,
    dropped: bool,
}

#[derive(Default)]
struct RoundSamples {
    ns: [Option<f64>; 2],
    first: usize,
}

impl Samples {
    fn line(self, number: u32, head_leads: Option<u8>, total_ns: u64) -> LaunchLine {
        let mut placements: BTreeMap<u32, Vec<BlockLine>> = BTreeMap::new();
        for ((placement, _), block) in &self.blocks {
            placements.entry(*placement).or_default().extend(block.line());
        }
        LaunchLine {
            number,
            head_leads,
            layouts: None,
            iterations: self.iterations,
            base_ns: perfharness_verdict::median(&self.base_ns).map_or(0.0, f64::round),
            ms: (total_ns as f64 / 1e5).round() / 10.0,
            placements: placements.into_values().filter(|blocks| !blocks.is_empty()).collect(),
        }
    }
}

impl BlockSamples {
    fn line(&self) -> Option<BlockLine> {
        let ratio = |round: &RoundSamples| {
            let [base, head] = round.ns;
            Some((log_ratio(head?, base?) / UNIT).round() as i64)
        };
        let mut rounds = self.rounds.values();
        let (first, second) = (rounds.next()?, rounds.next()?);
        let head_first = u8::from(first.first == HEAD);
        Some(BlockLine(head_first, ratio(first)?, ratio(second)?, u8::from(self.dropped)))
    }
}
