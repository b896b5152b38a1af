//! Sides of a comparison: which benchmark, of which build, measured for which purpose.

use perfharness_contract::{BenchmarkId, OutcomeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which build of the code a side comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The code that is judged.
    #[default]
    Head,
    /// The code that it is judged against.
    Base,
}

/// What a case is measured for.
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
}

impl Stage {
    /// Number of the first launch. Those of later stages are numbered apart, so that their inputs and orders are fresh,
    /// too.
    pub fn first_launch(self) -> u32 {
        match self {
            Self::First => 0,
            // More than a run may be asked for.
            Self::Confirmation => 1_000,
            Self::Planted => 2_000,
        }
    }

    /// Whether it is the first.
    pub fn is_first(&self) -> bool {
        *self == Self::First
    }
}

/// One side of a comparison: a benchmark on a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
}
