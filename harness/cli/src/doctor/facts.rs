//! What is known of the machine; the format of `doctor --json`.

use std::collections::BTreeMap;

use perfharness_engine::probe::Nvidia;
use perfharness_gpu::{AdapterFacts, Timestamps};
use perfharness_record::telemetry::SeriesDef;
use perfharness_record::{Machine, SourceState};
use serde::{Deserialize, Serialize};

use super::{Finding, findings};

/// Version of the format of `doctor --json`. New fields can come without a new version.
///
/// Changes: 1, the first.
pub const FORMAT_VERSION: u32 = 1;

/// What `perfharness doctor` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Version of this format.
    pub format_version: u32,
    /// Name and version of the harness.
    pub harness: String,
    /// What is known.
    #[serde(flatten)]
    pub facts: Facts,
    /// What follows from it, the gravest first.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// The facts, with what follows from them.
    pub fn of(facts: Facts) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            findings: findings(&facts),
            facts,
        }
    }
}

/// What is known of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The machine as a run record would name it, with the class that results are filed under.
    pub machine: Machine,
    /// The state that it is in.
    pub conditions: Conditions,
    /// Its GPU adapters.
    pub gpu: GpuReport,
    /// What NVIDIA's driver tells beside them.
    pub nvidia: Nvidia,
    /// What can be told beside times.
    pub insight: Insight,
    /// The source code that a record would name.
    pub source: SourceState,
    /// Where a record would be written.
    pub records: RecordPlace,
}

/// The state of the machine. What the system does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Smallest step of the clock.
    pub clock_resolution_ns: u64,
    /// Logical cores.
    pub logical_cores: Option<usize>,
    /// Physical cores.
    pub physical_cores: Option<usize>,
    /// Load average of the last minute.
    pub load_average: Option<f64>,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Whether CPUs may run above their base frequency.
    pub turbo: Option<bool>,
    /// Whether addresses are laid out at random.
    pub aslr: Option<bool>,
    /// Frequency of the first CPU.
    pub cpu_hz: Option<u64>,
    /// Memory.
    pub memory_total_bytes: Option<u64>,
    /// Memory that programs can have without pushing others out.
    pub memory_available_bytes: Option<u64>,
    /// Whether the system itself keeps a worker to its memory limit.
    pub memory_limit_enforced: bool,
}

/// The GPU adapters of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuReport {
    /// The `--device` that was asked about.
    pub asked: String,
    /// Position of the adapter that a run with it uses; absent where it uses none.
    pub chosen: Option<usize>,
    /// Why it uses none, and what can be done about it.
    pub not_chosen: Option<String>,
    /// All adapters, in order of preference.
    pub adapters: Vec<AdapterReport>,
    /// What drivers did in place of listing their adapters.
    pub fault: Option<String>,
}

/// An adapter and what came out of trying it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterReport {
    /// What is known of it.
    #[serde(flatten)]
    pub facts: AdapterFacts,
    /// Whether device time can be measured on it.
    pub timestamps: Timestamps,
    /// What its driver did in place of an answer: it crashed or hung.
    pub fault: Option<String>,
}

/// What this machine tells beside times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Insight {
    /// What is read of it while it is measured.
    pub telemetry: Vec<SeriesDef>,
    /// What is not, and why: quantity to reason.
    pub no_telemetry: BTreeMap<String, String>,
    /// Why workers of this program cannot be profiled, and have no flame graphs; absent where they can.
    pub no_profiles: Option<String>,
    /// When it was measured what the machine can do at most, RFC 3339; absent where the next run does it.
    pub ceilings: Option<String>,
}

/// Where records are written, unless a run says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPlace {
    /// The folder.
    pub folder: String,
    /// Why nothing can be written there; absent where it can.
    pub fault: Option<String>,
}

impl GpuReport {
    /// The adapter that a run uses.
    pub fn chosen_adapter(&self) -> Option<&AdapterReport> {
        self.adapters.get(self.chosen?)
    }
}

impl AdapterReport {
    /// Whether device time can be measured on it.
    pub fn timestamps_work(&self) -> bool {
        matches!(self.timestamps, Timestamps::Work { .. })
    }
}
