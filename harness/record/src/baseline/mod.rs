//! Accepted figures: what later measurements of a machine class are held against, and what they must contain.
//!
//! A baseline is made of several run records ([`accept`]), kept as one file for each machine class ([`mod@file`]), and is a
//! pure function of records and of the baseline before it. A [`calibration`] lies beside it.

pub mod accept;
pub mod calibration;
pub mod difference;
pub mod file;
pub mod nearest;

use std::collections::BTreeMap;

use perfharness_contract::{
    BenchmarkId, Digest, Direction, Effort, MetricDef, MetricKind, OutcomeKind, Portability, Role,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format of a baseline file. A reader refuses a version that it does not know.
///
/// Changes: 1, the first; 2, entries have no `calibrated`, which is in a file of its own; 3, instructions say under what they
/// were counted. Formats 1 and 2 are still read.
pub const BASELINE_VERSION: u32 = 3;

// It guards the claims, and hardly depends on the day.
pub use perfharness_verdict::judge::SPEED_UP;

/// The accepted figures of one machine class.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The machine class.
    pub class: String,
    /// Facts of the machine of the latest acceptance.
    pub facts: BTreeMap<String, String>,
    /// Conditions that figures depend on, beside the code and the machine.
    pub conditions: Conditions,
    /// Acceptances, oldest first.
    pub acceptances: Vec<Acceptance>,
    /// The benchmarks, sorted by id.
    pub benchmarks: Vec<Entry>,
}

/// Choices of the user that figures depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Seed of every input.
    pub seed: u64,
    /// The GPU that was asked for.
    pub device: String,
    /// Settings of the workloads.
    pub settings: BTreeMap<String, String>,
}

/// One time that somebody accepted figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// Its number, from 1.
    pub number: u32,
    /// When, RFC 3339, UTC.
    pub when: String,
    /// Why.
    pub reason: String,
    /// The commit that was measured; absent outside of a repository.
    pub commit: Option<String>,
    /// Whether tracked files differed from the commit.
    pub dirty: bool,
    /// The runs.
    pub runs: Vec<String>,
    /// Name and version of the harness.
    pub harness: String,
}

/// Accepted figures of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its id.
    pub id: BenchmarkId,
    /// Number of the acceptance.
    pub accepted: u32,
    /// Version of its definition.
    pub definition: u32,
    /// Digest of what stays the same when it only gets another id.
    pub identity: Digest,
    /// The efforts that measure it.
    pub efforts: Vec<Effort>,
    /// Role of the variant.
    pub role: Role,
    /// The outcome that counts as success.
    pub expected: OutcomeKind,
    /// What a file of format 1 says of a calibration. Nothing reads it: it stood for fewer launches than a gate has.
    #[serde(default, skip_serializing_if = "Former::is_absent")]
    pub(crate) calibrated: Former,
    /// Metric id to its figures.
    pub metrics: BTreeMap<String, Figures>,
    /// Figures that were accepted before.
    pub before: Option<Before>,
}

/// A former field: what stood in the file, so that the file can be compared with what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Option<f64>", into = "Option<f64>")]
#[schemars(with = "Option<f64>")]
pub(crate) struct Former {
    is_there: bool,
    value: Option<f64>,
}

impl Former {
    pub(crate) fn of(value: Option<f64>) -> Self {
        Self { is_there: true, value }
    }

    fn is_absent(&self) -> bool {
        !self.is_there
    }
}

impl From<Option<f64>> for Former {
    fn from(value: Option<f64>) -> Self {
        Self::of(value)
    }
}

impl From<Former> for Option<f64> {
    fn from(former: Former) -> Self {
        former.value
    }
}

/// Accepted figures of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The unit.
    pub unit: String,
    /// Kind of the metric, which decides how it is compared.
    pub kind: MetricKind,
    /// Direction in which the metric gets better.
    pub direction: Direction,
    /// Machines on which it may be compared.
    pub portability: Portability,
    /// A work counter.
    pub work: bool,
    /// Version of the way it is metered.
    pub version: u32,
    /// One value for each run.
    pub values: Vec<f64>,
    /// The fewest launches that a run had.
    pub launches: usize,
    /// Least and largest value of any launch, where they differ.
    pub range: Option<[f64; 2]>,
    /// For times: what the anchor took in each run, in ns; empty where it was not timed.
    pub anchors: Vec<f64>,
    /// For instructions: what they depend on beside the code, such as the tool that counted and the compiler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub under: BTreeMap<String, String>,
}

/// Former accepted figures of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Before {
    /// Number of the acceptance.
    pub accepted: u32,
    /// Metric id to its middle value.
    pub metrics: BTreeMap<String, f64>,
}

impl Baseline {
    /// Returns the entry of a benchmark.
    pub fn entry(&self, id: &BenchmarkId) -> Option<&Entry> {
        self.benchmarks.binary_search_by(|entry| entry.id.cmp(id)).ok().map(|at| &self.benchmarks[at])
    }

    /// When an entry was accepted.
    pub fn acceptance(&self, entry: &Entry) -> Option<&Acceptance> {
        self.acceptances.iter().find(|acceptance| acceptance.number == entry.accepted)
    }
}

impl Figures {
    /// The middle value of the runs.
    pub fn middle(&self) -> Option<f64> {
        perfharness_verdict::median(&self.values)
    }

    /// Least and largest value that any launch of any run had.
    pub fn extremes(&self) -> Option<[f64; 2]> {
        let fold = |init: f64, pick: fn(f64, f64) -> f64| self.values.iter().copied().fold(init, pick);
        let own = [fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max)];
        self.range.or_else(|| (!self.values.is_empty()).then_some(own))
    }

    /// Tells if a metric is still metered and judged in the same way.
    pub fn is_of(&self, metric: &MetricDef) -> bool {
        self.version == metric.version
            && self.unit == metric.unit
            && self.kind == metric.kind
            && self.direction == metric.direction
            && self.work == metric.work
    }
}
