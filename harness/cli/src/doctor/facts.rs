//! Facts about the machine; the format of `doctor --json`.

use std::collections::BTreeMap;

use perfharness_engine::probe::Nvidia;
use perfharness_gpu::{AdapterFacts, Timestamps};
use perfharness_record::telemetry::SeriesDef;
use perfharness_record::{Machine, SourceState};
use serde::{Deserialize, Serialize};

use super::{Finding, findings};

/// Version of the format of `doctor --json`. New fields do not change the version.
///
/// Changes: 1, the first.
pub const FORMAT_VERSION: u32 = 1;

/// The output of `perfharness doctor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Version of this format.
    pub format_version: u32,
    /// Name and version of the harness.
    pub harness: String,
    /// The facts.
    #[serde(flatten)]
    pub facts: Facts,
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Derives the findings from the facts.
    pub fn of(facts: Facts) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            findings: findings(&facts),
            facts,
        }
    }
}

/// Facts about the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The machine as in a run record, with its class.
    pub machine: Machine,
    /// The state of the machine.
    pub conditions: MachineState,
    /// Its GPU adapters.
    pub gpu: GpuReport,
    /// The report of NVIDIA's driver.
    pub nvidia: Nvidia,
    /// Metrics and ceilings besides times.
    pub insight: Insight,
    /// The source code that a record would name.
    pub source: SourceState,
    /// The folder of the records.
    pub records: RecordPlace,
}

/// The state of the machine. A value that the system does not report is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    /// Smallest step of the clock, in ns.
    pub clock_resolution_ns: u64,
    /// Number of logical cores.
    pub logical_cores: Option<usize>,
    /// Number of physical cores.
    pub physical_cores: Option<usize>,
    /// Load average of the last minute.
    pub load_average: Option<f64>,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Whether CPUs may run above their base frequency.
    pub turbo: Option<bool>,
    /// Whether addresses are randomized.
    pub aslr: Option<bool>,
    /// Frequency of the first CPU in Hz.
    pub cpu_hz: Option<u64>,
    /// Installed memory in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Memory in bytes that programs can use without swapping.
    pub memory_available_bytes: Option<u64>,
    /// Whether the system itself enforces the memory limit of a worker.
    pub memory_limit_enforced: bool,
}

/// The GPU adapters of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuReport {
    /// The requested `--device`.
    pub asked: String,
    /// Position of the adapter that a run uses; absent if it uses none.
    pub chosen: Option<usize>,
    /// The reason that it uses none, and the next step.
    pub not_chosen: Option<String>,
    /// All adapters, in order of preference.
    pub adapters: Vec<AdapterReport>,
    /// Failure of the drivers to list their adapters.
    pub fault: Option<String>,
}

/// An adapter and the result of probing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterReport {
    /// Facts about the adapter.
    #[serde(flatten)]
    pub facts: AdapterFacts,
    /// Whether the adapter can measure device time.
    pub timestamps: Timestamps,
    /// Failure of the driver to answer: it crashed or hung.
    pub fault: Option<String>,
}

/// Metrics and ceilings besides times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Insight {
    /// Series of telemetry that a run reads.
    pub telemetry: Vec<SeriesDef>,
    /// Quantities that it cannot read, with the reasons.
    pub no_telemetry: BTreeMap<String, String>,
    /// The reason that the built-in worker cannot be profiled; absent if it can.
    pub no_profiles: Option<String>,
    /// The tool that counts instructions; absent if there is none.
    #[serde(default)]
    pub counting: Option<String>,
    /// The reason that there is none.
    #[serde(default)]
    pub no_counting: Option<String>,
    /// Time at which the ceilings were measured, RFC 3339; absent if the next run measures them.
    pub ceilings: Option<String>,
}

/// The default folder of the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPlace {
    /// The folder.
    pub folder: String,
    /// The reason that the folder is not writable; absent if it is.
    pub fault: Option<String>,
}

impl GpuReport {
    /// Returns the adapter that a run uses.
    pub fn chosen_adapter(&self) -> Option<&AdapterReport> {
        self.adapters.get(self.chosen?)
    }
}
