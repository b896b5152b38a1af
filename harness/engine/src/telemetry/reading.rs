//! What the watching process says, a line each.

use perfharness_record::telemetry::SeriesDef;
use std::collections::BTreeMap;

use perfharness_contract::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Ms between two readings.
    pub interval_ms: u64,
    /// What is read.
    pub series: Vec<SeriesDef>,
    /// What is not, and why: quantity to reason.
    pub absent: BTreeMap<String, String>,
}

/// One reading of everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tick {
    /// When it was made, on the system's monotonic clock, in ns.
    pub at_ns: u64,
    /// Name of a series to what was read, in its unit. What a source does not tell this time is not there.
    pub values: BTreeMap<String, Number>,
    /// What holds the clock of a GPU down, in its driver's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// The state of the GPU that is measured.
    #[serde(default)]
    pub device: DeviceState,
    /// The workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessReading>,
    /// CPU time that the watching process has used so far, in ns.
    #[serde(default)]
    pub cost_ns: Option<u64>,
}

/// What a reading says of the GPU that is measured, as far as it concerns whoever measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceState {
    /// Heat or a failing power supply holds its clock down.
    #[serde(default)]
    pub throttled: bool,
    /// Its clock in Hz, where it was at work for most of the time: one that idles sleeps.
    #[serde(default)]
    pub busy_clock_hz: Option<f64>,
}

/// What a reading says of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessReading {
    /// Its id.
    pub pid: u32,
    /// Resident memory.
    pub rss_bytes: u64,
    /// CPU time so far, all threads together, in ms.
    pub cpu_ms: u64,
    /// Bytes that it has read from storage so far.
    pub read_bytes: u64,
    /// Bytes that it has written to storage so far, or that wait to be.
    pub written_bytes: u64,
}

/// What is heard of the watching process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub enum News {
    /// It has begun.
    Began(Watched),
    /// It has read everything once.
    Tick(Tick),
    /// Nothing more is heard of it.
    Lost {
        /// Why.
        reason: String,
    },
}
