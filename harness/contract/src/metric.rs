//! Metrics by string id, an open set.

use serde::{Deserialize, Serialize};

use crate::Name;

/// Kind of a metric, which determines how noisy it is and how it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// The same in every run of the same code: counts and bytes.
    Exact,
    /// Memory peaks and the like, with little noise.
    Size,
    /// Durations, with real noise.
    Time,
    /// Computed from other metrics.
    Derived,
}

/// Direction in which a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    #[default]
    Lower,
    /// More is better.
    Higher,
    /// Neither; the metric is shown but never judged.
    Neutral,
}

/// Extent of one value of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Sum over the iterations of a sample; a worker reports the sum, and the harness divides it by the iterations.
    #[default]
    Iteration,
    /// Holds for the sample as a whole, such as a peak.
    Sample,
    /// Holds for a whole launch only, such as the peak of a process that cannot be reset.
    Launch,
}

/// Range in which figures of the metric may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Portability {
    /// The same on every machine, such as a count of writes.
    Portable,
    /// Only within one machine class.
    #[default]
    MachineClass,
}

/// Definition of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricDef {
    /// Stable id, e.g. `file-writes`.
    pub id: Name,
    /// Short title for tables, e.g. `file writes`; the id is used if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// `ns`, `bytes`, `count` for plain numbers, `share` from 0 to 1; any other text is shown as it is.
    pub unit: String,
    /// Kind, which determines how it is compared.
    pub kind: MetricKind,
    /// Direction in which it gets better.
    #[serde(default)]
    pub direction: Direction,
    /// Extent of one value.
    #[serde(default)]
    pub scope: Scope,
    /// Range in which it may be compared.
    #[serde(default)]
    pub portability: Portability,
    /// Whether it is a work counter, which counts the work done and must be equal for all variants of a case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work: bool,
    /// Version of the way it is metered; figures of different versions are never compared.
    #[serde(default = "one")]
    pub version: u32,
}

fn one() -> u32 {
    1
}

impl MetricDef {
    fn new(id: &str, title: &str, unit: &str, kind: MetricKind) -> Self {
        Self {
            id: Name::literal(id),
            title: title.into(),
            unit: unit.into(),
            kind,
            direction: Direction::Lower,
            scope: Scope::Iteration,
            portability: Portability::MachineClass,
            work: false,
            version: 1,
        }
    }

    /// Defines an exact, portable count for each iteration; lower is better.
    pub fn count(id: &str, title: &str) -> Self {
        Self { portability: Portability::Portable, ..Self::new(id, title, "count", MetricKind::Exact) }
    }

    /// Defines an exact, portable number of bytes for each iteration; lower is better.
    pub fn bytes(id: &str, title: &str) -> Self {
        Self { unit: "bytes".into(), ..Self::count(id, title) }
    }

    /// Defines a work counter: an exact count for each iteration that must be equal for all variants of a case.
    pub fn work(id: &str, title: &str) -> Self {
        Self { work: true, direction: Direction::Neutral, ..Self::count(id, title) }
    }

    /// Defines a memory peak over a sample, in bytes; lower is better.
    pub fn peak_bytes(id: &str, title: &str) -> Self {
        Self { scope: Scope::Sample, ..Self::new(id, title, "bytes", MetricKind::Size) }
    }

    /// Defines a duration in ns for each iteration; lower is better.
    pub fn time(id: &str, title: &str) -> Self {
        Self::new(id, title, "ns", MetricKind::Time)
    }

    /// Returns the title, or the id if there is none.
    pub fn label(&self) -> &str {
        if self.title.is_empty() { self.id.as_str() } else { &self.title }
    }
}

/// Ids and definitions of the metrics that the harness and the Rust worker measure themselves.
pub mod standard {
    use super::{MetricDef, MetricKind, Portability, Scope};

    /// Wall-clock time of an iteration; from timed samples.
    pub const WALL_TIME: &str = "wall-time";
    /// CPU time of the worker process over an iteration, all threads; from timed samples.
    pub const CPU_TIME: &str = "cpu-time";
    /// Peak resident set size of the worker process over a launch.
    pub const PEAK_RSS: &str = "peak-rss";
    /// Instructions of an iteration in the worker process, all threads; from launches on a simulated processor.
    pub const INSTRUCTIONS: &str = "instructions";
    /// Items of the case handled per second; computed from the wall time.
    pub const RATE: &str = "rate";
    /// Calls of the allocator (allocate, zeroed and grow) in an iteration; from metered samples.
    pub const HEAP_ALLOCATIONS: &str = "heap-allocations";
    /// Bytes requested from the allocator in an iteration.
    pub const HEAP_BYTES: &str = "heap-bytes";
    /// Highest growth of the live heap over its level at the start of the sample.
    pub const HEAP_PEAK: &str = "heap-peak";
    /// Growth of the live heap in an iteration, after the data that iterations keep is in place; 0 without a leak, and
    /// negative if an iteration frees more than it allocates.
    pub const HEAP_GROWTH: &str = "heap-growth";

    /// Returns the metrics that the harness measures for every benchmark of every worker.
    pub fn harness_metrics() -> Vec<MetricDef> {
        vec![
            MetricDef::time(WALL_TIME, "wall time"),
            MetricDef::time(CPU_TIME, "CPU time"),
            MetricDef {
                // On a simulated processor; accepted figures say of which tools and compilers they are.
                portability: Portability::Portable,
                ..MetricDef::new(INSTRUCTIONS, "instructions", "count", MetricKind::Size)
            },
            MetricDef {
                scope: Scope::Launch,
                ..MetricDef::new(PEAK_RSS, "peak resident set", "bytes", MetricKind::Size)
            },
        ]
    }

    /// Returns the metrics of the counting allocator. They are exact, but bound to the machine class: the standard
    /// library and allocating code may differ between systems.
    pub fn heap_metrics() -> Vec<MetricDef> {
        let bound = |metric: MetricDef| MetricDef { portability: Portability::MachineClass, ..metric };
        vec![
            bound(MetricDef::count(HEAP_ALLOCATIONS, "heap allocations")),
            bound(MetricDef::bytes(HEAP_BYTES, "heap bytes allocated")),
            bound(MetricDef::peak_bytes(HEAP_PEAK, "heap peak growth")),
            bound(MetricDef::bytes(HEAP_GROWTH, "heap growth")),
        ]
    }
}
