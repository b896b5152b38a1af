//! Plans: workers, cases, sides and their time.

mod again;
mod catalog;
mod layouts;
mod pairs;
mod redefinition;
mod select;

pub use again::{confirmation, planted};
pub use catalog::{Catalog, CatalogEntry, WorkerState};
pub use layouts::{LAYOUT_LAUNCHES, MOST_LAYOUT_LAUNCHES, with_layouts};
pub use pairs::{Judging, any_needs_gpu, needs_gpu, on_gpu, pairs};
pub use redefinition::defined_by_base;
pub use select::{SelectError, Selection, select};

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::{BenchmarkId, Effort, Name};
use perfharness_record::{Design, LookPlan, Side, Stage};
use perfharness_verdict::judge::RowTerms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that a run is going to do; a function of the arguments and of what the workers describe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Seed of every input and order.
    pub seed: u64,
    /// The GPU that the user asked for.
    pub device: String,
    /// Settings of the workloads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The effort that selected cases and design.
    pub effort: Effort,
    /// Time for the whole run; cases share what is left of it evenly.
    pub budget: Duration,
    /// Time that a worker has to answer a request, beyond the expected time of a sample.
    pub timeout: Duration,
    /// Memory that a worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// Design of each case.
    pub design: Design,
    /// The cases, in order.
    pub cases: Vec<CasePlan>,
    /// Benchmarks that compute on a GPU, which lowers its clock while it idles. None on a software adapter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_gpu: Vec<BenchmarkId>,
}

/// One case and the sides that are compared in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CasePlan {
    /// The workload.
    pub workload: Name,
    /// Version of its definition.
    pub version: u32,
    /// The case.
    pub case: Name,
    /// Sides that are compared.
    pub sides: Vec<Side>,
    /// Deviations from the design of the run.
    #[serde(default)]
    pub design: CaseDesign,
}

/// Deviations of a case from the design of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseDesign {
    /// When to look, where that differs from the run's own looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LookPlan>,
    /// The terms of its row in a gate. Where they are given, a look ends the case once it is settled by them, however wide
    /// the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<RowTerms>,
    /// A slowdown to be planted in the sides of the judged code, as a share: they do so much more work under the clock
    /// than they are charged for. It tells whether a gate would find one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<f64>,
    /// Purpose of the measurement.
    #[serde(default)]
    pub stage: Stage,
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
    /// Returns the design of a case.
    pub fn design_of(&self, case: &CasePlan) -> Design {
        Design { looks: case.design.looks.unwrap_or(self.design.looks), ..self.design }
    }

    /// Benchmarks that are going to be measured.
    pub fn measured(&self) -> usize {
        self.first().flat_map(|c| &c.sides).filter(|s| s.skip.is_none()).count()
    }

    /// Cases of the first stage.
    pub fn first(&self) -> impl Iterator<Item = &CasePlan> {
        self.cases.iter().filter(|case| case.design.stage.is_first())
    }

    /// Returns the number of the case in which the layouts of a benchmark are compared.
    pub fn layouts_of(&self, benchmark: &BenchmarkId) -> Option<usize> {
        self.cases.iter().position(|case| {
            case.design.stage == Stage::Layouts && case.sides.iter().any(|side| side.benchmark == *benchmark)
        })
    }
}
