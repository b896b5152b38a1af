//! Messages of the telemetry process, one line each.

use std::collections::BTreeMap;

use perfharness_contract::Number;
use perfharness_record::telemetry::SeriesDef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List of the quantities that are watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Time between two readings, in ms.
    pub interval_ms: u64,
    /// Quantities that are read.
    pub series: Vec<SeriesDef>,
    /// Quantities that are not read, with the reason of each.
    pub absent: BTreeMap<String, String>,
}

impl Watched {
    /// Adds a quantity that is read.
    pub(super) fn add(&mut self, name: impl Into<String>, unit: &str, source: &str, gpu: Option<&str>) {
        let (name, unit, source) = (name.into(), unit.to_owned(), source.to_owned());
        self.series.push(SeriesDef { name, unit, source, gpu: gpu.map(str::to_owned), window_ms: None });
    }

    /// Adds quantities that are not read, for one reason.
    pub(super) fn lack(&mut self, names: &[&str], reason: &str) {
        self.absent.extend(names.iter().map(|name| ((*name).to_owned(), reason.to_owned())));
    }
}

/// One reading of everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tick {
    /// Time on the system's monotonic clock, in ns.
    pub at_ns: u64,
    /// Values by the name of their series, in its unit. A value that its source does not report this time is left out.
    pub values: BTreeMap<String, Number>,
    /// Reasons why a GPU limits its clock, in words of its driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// State of the GPU that is measured.
    #[serde(default)]
    pub device: DeviceState,
    /// Readings of the workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessReading>,
    /// CPU time that the telemetry process has used so far, in ns.
    #[serde(default)]
    pub cost_ns: Option<u64>,
}

/// State of the GPU that is measured, as far as it affects samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceState {
    /// Whether heat or a failing power supply limits its clock.
    #[serde(default)]
    pub throttled: bool,
    /// Clock in Hz, if the GPU was busy for most of the time: an idle one lowers its clock.
    #[serde(default)]
    pub busy_clock_hz: Option<f64>,
}

/// Reading of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessReading {
    /// Process id.
    pub pid: u32,
    /// Resident memory.
    pub rss_bytes: u64,
    /// CPU time so far, all threads together, in ms.
    pub cpu_ms: u64,
    /// Bytes read from storage so far.
    pub read_bytes: u64,
    /// Bytes written to storage so far, pending ones included.
    pub written_bytes: u64,
}

/// Message of the telemetry process, or its loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub enum News {
    /// The process has begun.
    Began(Watched),
    /// The process has read everything once.
    Tick(Tick),
    /// No more messages come.
    Lost {
        /// Reason.
        reason: String,
    },
}
