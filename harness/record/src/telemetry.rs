//! Readings of the machine while it was measured, as columns.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, Number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the machine while it was measured: one entry of each column for each reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Telemetry {
    /// Ms between two readings, as it should be.
    pub interval_ms: u64,
    /// Share of one core that the process took which read all this.
    pub cost: Option<Number>,
    /// Quantities that were not read, with the reason of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    /// Reasons why a GPU limited its clock, in its driver's words, with the number of readings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Benchmarks that were measured; other columns refer to them by position.
    pub tags: Vec<Tag>,
    /// When each reading was made, in ms since the first one. Time in which nothing was measured is left out.
    pub at_ms: Vec<u64>,
    /// Position of the tag that most of the sampled time since the previous reading went to; `null` where nothing was sampled.
    pub tag: Vec<Option<usize>>,
    /// The share of the time since the reading before that went to samples of that.
    pub share: Vec<Option<Number>>,
    /// Readings of the machine.
    pub columns: Vec<Column>,
    /// Readings of worker processes.
    pub workers: Vec<WorkerColumns>,
}

/// A benchmark on one side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Tag {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// Whether it is that of the code that is compared with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base: bool,
}

/// A series of readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// The series.
    #[serde(flatten)]
    pub series: SeriesDef,
    /// One value for each reading, in the series' unit and to four digits; `null` where its source had none.
    pub values: Vec<Option<Number>>,
}

/// Readings of the processes of one benchmark: one entry of each column for each reading of each process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerColumns {
    /// Position of the benchmark among the tags.
    pub tag: usize,
    /// Positions of the readings.
    pub reading: Vec<usize>,
    /// The launch that the process was of.
    pub launch: Vec<u32>,
    /// Resident memory in bytes.
    pub rss_bytes: Vec<u64>,
    /// CPU time of the process so far, in ms.
    pub cpu_ms: Vec<u64>,
    /// Bytes that it has read from storage so far.
    pub read_bytes: Vec<u64>,
    /// Bytes that it has written to storage so far, or that wait to be.
    pub written_bytes: Vec<u64>,
}

/// Names of what is read of each kind of source.
pub mod quantity {
    /// Share of the time in which the machine's logical processors were at work, all together.
    pub const CPU_BUSY: &str = "cpu-busy";
    /// Mean frequency of the processors.
    pub const CPU_FREQUENCY: &str = "cpu-frequency";
    /// Memory in use, by whomever.
    pub const MEMORY_USED: &str = "memory-used";
    /// Share of the time in which a kernel ran on the GPU.
    pub const GPU_UTILIZATION: &str = "gpu-utilization";
    /// Device memory in use, by whomever.
    pub const GPU_MEMORY: &str = "gpu-memory-used";
    /// Clock of the GPU's processors.
    pub const GPU_CLOCK: &str = "gpu-clock";
    /// Clock of the GPU's memory.
    pub const GPU_MEMORY_CLOCK: &str = "gpu-memory-clock";
    /// Power that the GPU draws.
    pub const GPU_POWER: &str = "gpu-power";
    /// Energy that the GPU has used since watching began.
    pub const GPU_ENERGY: &str = "gpu-energy";
    /// Temperature of the GPU.
    pub const GPU_TEMPERATURE: &str = "gpu-temperature";
    /// Causes that hold the clock of the GPU down. They have no series: each reading lists them.
    pub const GPU_THROTTLING: &str = "gpu-throttling";
    /// The GPU that is measured, among those of the machine. It has no series, and is absent if it is not known which it is.
    pub const GPU_MEASURED: &str = "gpu-measured";
}

/// Something that is read again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesDef {
    /// Its name; with several GPUs `NAME/1` is that of the second.
    pub name: String,
    /// The unit: `share`, `bytes`, `Hz`, `W`, `J`, `°C`.
    pub unit: String,
    /// Source of the readings: `NVML`, `sysinfo`.
    pub source: String,
    /// The GPU that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// The stretch in ms that a reading stands for, where its source says that it is another one than the time since the
    /// reading before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<Number>,
}
