//! Sides of a comparison: which benchmark, of which build, measured for which purpose.

use perfharness_contract::{BenchmarkId, OutcomeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Build of the code that a side comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The code that is judged.
    #[default]
    Head,
    /// The code that it is judged against.
    Base,
}

impl Origin {
    /// Both builds.
    pub const ALL: [Self; 2] = [Self::Head, Self::Base];

    /// The word that records and raw samples have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Base => "base",
        }
    }
}

/// Purpose of measuring a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// To be judged.
    #[default]
    First,
    /// To confirm, by fresh launches, what the first ones flagged.
    Confirmation,
    /// To see whether a planted slowdown is found.
    Planted,
    /// To see which layouts of the programs are fast, before anything is judged.
    Layouts,
}

/// The most launches that a stage may have, so that no two stages share a number.
pub const MAX_LAUNCHES: u32 = 1_000;

/// The number of a launch that is in no stage: a benchmark is profiled, traced or followed alone in it.
pub const LAUNCH_ALONE: u32 = 3 * MAX_LAUNCHES;

impl Stage {
    /// The number of the first launch. Inputs and orders follow from the number of a launch, so each stage has numbers of
    /// its own, and its inputs and orders are fresh.
    pub fn first_launch(self) -> u32 {
        match self {
            Self::First => 0,
            Self::Confirmation => MAX_LAUNCHES,
            Self::Planted => 2 * MAX_LAUNCHES,
            Self::Layouts => 4 * MAX_LAUNCHES,
        }
    }

    /// Whether its cases are added for what the first ones showed.
    pub fn is_added(self) -> bool {
        matches!(self, Self::Confirmation | Self::Planted)
    }

    /// Whether it is the first.
    pub fn is_first(&self) -> bool {
        *self == Self::First
    }
}

/// One side of a comparison: a benchmark on a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// The build that it comes from.
    #[serde(default)]
    pub origin: Origin,
    /// The worker that runs it, by its number in the run.
    pub worker: usize,
    /// The side that it is compared with, among the sides of the case.
    pub reference: Option<usize>,
    /// Why it is not run.
    pub skip: Option<String>,
    /// The outcome that counts as success.
    pub expect: OutcomeKind,
    /// Memory that one placement declares to hold.
    pub memory_bytes: Option<u64>,
    /// The layout of its program, where the layouts are compared; else each launch chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_launches_of_a_run_have_one_number() {
        let stages = [Stage::First, Stage::Confirmation, Stage::Planted, Stage::Layouts];
        let firsts = stages.map(Stage::first_launch);
        let mut all: Vec<u32> = firsts.iter().flat_map(|first| *first..first + MAX_LAUNCHES).collect();
        all.push(LAUNCH_ALONE);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        // What follows from these numbers is stored.
        assert_eq!((firsts, LAUNCH_ALONE), ([0, 1_000, 2_000, 4_000], 3_000));
    }

    #[test]
    fn a_build_has_one_word_in_records_and_samples() {
        for (origin, due) in Origin::ALL.into_iter().zip(["head", "base"]) {
            assert_eq!((origin.as_str(), serde_json::to_value(origin).unwrap()), (due, due.into()));
        }
    }
}
