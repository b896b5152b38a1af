//! Kernels of a benchmark, and their machine code for GPUs that the machine need not have.

use std::collections::BTreeMap;

use perfharness_contract::{Digest, Number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernels of a benchmark, or the reason why they are not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum KernelsRecord {
    /// All kernels that an iteration executes.
    Known(Vec<KernelRecord>),
    /// Not all of them are known.
    Absent {
        /// The reason.
        absent: String,
    },
}

/// A kernel of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelRecord {
    /// Label of its pipeline.
    pub label: String,
    /// Entry point.
    pub entry_point: String,
    /// Dispatches in an iteration.
    pub dispatches: Number,
    /// Code by family of GPUs.
    pub code: BTreeMap<String, KernelCode>,
}

impl KernelRecord {
    /// Returns the name by which people know it, such as `sort` or `sort (scatter)`.
    pub fn name(&self) -> String {
        match self.entry_point.as_str() {
            "main" => self.label.clone(),
            entry_point => format!("{} ({entry_point})", self.label),
        }
    }
}

/// Machine code of a kernel for a family of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum KernelCode {
    /// It compiles.
    Compiled(CompiledKernel),
    /// It does not, or nothing here compiles for the family.
    Absent {
        /// The reason.
        absent: String,
    },
}

/// Machine code as the driver's compiler describes it. A static model: a loop counts once, and memory has no time. A statistic
/// is absent if the driver does not report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompiledKernel {
    /// Digest of the disassembly, or of the statistics where the driver does not disassemble.
    pub digest: Digest,
    /// Invocations that execute together (a wave).
    pub subgroup: u32,
    /// Instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Size of the code in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_bytes: Option<u64>,
    /// Vector registers of a wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vgprs: Option<u64>,
    /// Scalar registers of a wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sgprs: Option<u64>,
    /// Vector and scalar registers that are kept in memory, because there are not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spills: Option<u64>,
    /// Scratch memory of a wave in bytes: spilled registers, and arrays that are indexed by a variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_bytes: Option<u64>,
    /// Memory that a workgroup shares, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lds_bytes: Option<u64>,
    /// Waves that fit on a SIMD unit together: the occupancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waves: Option<u64>,
    /// Cycles of a wave from start to end, by the compiler's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<u64>,
    /// Cycles that a wave keeps its busiest unit, by the compiler's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inverse_throughput: Option<u64>,
}

/// Compilers of kernels in a run, by family of GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Compiler {
    /// A driver.
    By {
        /// Its name and version, such as `radv Mesa 22.3.6`.
        driver: String,
        /// Device that the driver compiled for.
        device: String,
    },
    /// None.
    Absent {
        /// The reason.
        absent: String,
    },
}
