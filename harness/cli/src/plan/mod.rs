//! What is going to be measured: workers, cases, sides, and how long.

mod catalog;
mod design;
mod select;

pub use catalog::{Catalog, CatalogEntry, WorkerState};
pub use design::{Design, LookPlan};
pub use select::{Pattern, PatternError, SelectError, Selection, select};

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::{BenchmarkId, Effort, Name, OutcomeKind};
use serde::{Deserialize, Serialize};

/// Everything that a run is going to do; a function of the arguments and of what the workers describe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Seed of every input and order.
    pub seed: u64,
    /// The GPU that the user asked for.
    pub device: String,
    /// What the user set for the workloads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The effort that selected cases and design.
    pub effort: Effort,
    /// Time for the whole run; cases share what is left of it evenly.
    pub budget: Duration,
    /// How long a worker may take to answer a request, beyond the expected time of a sample.
    pub timeout: Duration,
    /// Memory that a worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// How each case is measured.
    pub design: Design,
    /// The cases, in order.
    pub cases: Vec<CasePlan>,
}

/// One case and the sides that are compared in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CasePlan {
    /// The workload.
    pub workload: Name,
    /// Version of its definition.
    pub version: u32,
    /// The case.
    pub case: Name,
    /// What is compared.
    pub sides: Vec<Side>,
}

/// One side of a comparison: a benchmark on a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The benchmark.
    pub benchmark: BenchmarkId,
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

impl CasePlan {
    /// `workload/case`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.workload, self.case)
    }

    /// Candidate and reference of each comparison.
    pub fn comparisons(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.sides.iter().enumerate().filter_map(|(i, side)| side.reference.map(|reference| (i, reference)))
    }
}

/// The budget of a run that is to make a fixed number of launches, however long they take: a day.
pub const NO_BUDGET: Duration = Duration::from_hours(24);

impl Plan {
    /// Benchmarks that are going to be measured.
    pub fn measured(&self) -> usize {
        self.cases.iter().flat_map(|c| &c.sides).filter(|s| s.skip.is_none()).count()
    }
}
