//! Layouts of programs: links of the same code in different orders.

use perfharness_contract::{BenchmarkId, Number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Layouts in which both builds of a benchmark were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutRecord {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// The comparison of its layouts, or the reason why there is none.
    #[serde(flatten)]
    pub layouts: LayoutFacts,
}

/// Comparison of the layouts of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LayoutFacts {
    /// They were compared.
    Compared(ComparedLayouts),
    /// They were not.
    Absent {
        /// Reason, as a clause.
        absent: String,
    },
}

/// Layouts of both builds of a benchmark that were measured in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedLayouts {
    /// Those of the base.
    pub base: SideLayouts,
    /// Those of the head.
    pub head: SideLayouts,
    /// Log-ratio between the builds up to which layout explains a change; 0 if it explains none.
    pub explained: f64,
    /// Launches of the comparison.
    pub launches: u32,
    /// Time that it took, in s.
    pub seconds: f64,
}

/// Layouts of one build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideLayouts {
    /// Time of an iteration in the fastest sample of each, in ns; absent where it failed.
    pub ns: Vec<Option<Number>>,
    /// Layouts that are as fast as the fastest, by number from 0. Launches are spread over them.
    pub kept: Vec<u32>,
    /// Log-ratio of the slowest and the fastest; 0 if noise explains it.
    pub spread: f64,
}

impl ComparedLayouts {
    /// Returns the log-ratio of the slowest and the fastest layout, of the build in which they differ more.
    pub fn spread(&self) -> f64 {
        self.base.spread.max(self.head.spread)
    }
}
