//! The format of `run.json`.

use std::collections::BTreeMap;

use perfharness_contract::{
    BenchmarkId, Digest, MetricDef, MetricKind, Name, Number, OutcomeKind, Promise, Reading, Role,
    WorkloadDef,
};
use perfharness_verdict::judge::Suspicion;
use perfharness_verdict::{Estimate, Interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Environment, Machine, SourceState};
use crate::ceilings::Ceilings;
use crate::telemetry::Telemetry;
use crate::{
    CaseEnd, Compiler, Contamination, Design, KernelsRecord, LayoutRecord, Outcome, Pairing, Redefinition,
    WorkerCommand,
};

/// Version of the format of `run.json`. A reader refuses a version that it does not know.
///
/// Changes: 1, the first. Its warm-ups had a field `first_over_best`, which nothing read; readers pass over it. A claim may
/// promise a `level`, which earlier readers refuse.
pub const FORMAT_VERSION: u32 = 1;

/// Everything that one run saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "perfharness run record, format 1")]
pub struct RunRecord {
    /// Version of this format.
    pub format: u32,
    /// The run itself.
    pub run: RunInfo,
    /// The source code that was measured.
    pub source: SourceState,
    /// The machine.
    pub machine: Machine,
    /// Conditions of worker processes; launches refer to them by position.
    pub environments: Vec<Environment>,
    /// The workers that were asked.
    pub workers: Vec<WorkerRecord>,
    /// Definitions of the workloads that were measured.
    pub workloads: Vec<WorkloadDef>,
    /// Metrics that the harness measures itself.
    pub metrics: Vec<MetricDef>,
    /// The cases, in the order of measuring.
    pub cases: Vec<CaseRecord>,
    /// The benchmarks, in the order of the cases.
    pub benchmarks: Vec<BenchmarkRecord>,
    /// Variants against their references.
    pub comparisons: Vec<ComparisonRecord>,
    /// Statements of source documents against what was measured.
    pub claims: Vec<ClaimRecord>,
    /// The code that this was measured against in the same rounds, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseRecord>,
    /// Ceilings of the machine, where a case states its floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// What counted the instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Counting>,
    /// Compilers of the kernels by family of GPUs, where there are kernels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub compilers: BTreeMap<String, Compiler>,
    /// Fresh launches that confirm the flags of the first ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<FreshRecord>,
    /// Launches with slowdowns that were planted to be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<FreshRecord>,
    /// Telemetry of the machine, where it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// The raw samples, beside this file.
    pub samples: Option<SamplesRef>,
}

/// Instructions of a function in an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCount {
    /// Its name.
    pub name: String,
    /// Its own instructions, without those of what it calls.
    pub instructions: Number,
}

/// Reach of a change into what a benchmark executes: the functions of its program with other machine code, or other
/// constant data, than in the base. A change of what a program reads while it runs is not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Reach {
    /// All functions that it executes are known.
    Known {
        /// Functions of its program that it executes.
        executed: u32,
        /// Number of those that differ from the base.
        changed: u32,
        /// Names of the first of these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    },
    /// They are not.
    Unknown {
        /// Reason, as a clause.
        unknown: String,
    },
}

impl Reach {
    /// True if no function that the benchmark executes differs from the base.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Known { changed: 0, .. })
    }
}

/// What counted the instructions of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Counting {
    /// A tool.
    By {
        /// Its name and version.
        tool: String,
        /// Time that it took, in s.
        seconds: f64,
    },
    /// Nothing.
    Absent {
        /// Reason, as a clause.
        absent: String,
    },
}

/// The code that a run was measured against, sample by sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaseRecord {
    /// The source code.
    pub source: SourceState,
    /// Its workers, with their digests.
    pub workers: Vec<WorkerRecord>,
    /// True if everything that its workers load is byte for byte that of the code that was measured, so that nothing had
    /// to be measured.
    pub identical: bool,
    /// Sources and builds of both, where they were built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionsRecord>,
    /// Differences in the definitions of the measured code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redefined: Vec<Redefinition>,
    /// The benchmarks of the base among those that were asked for.
    pub selected: Vec<SelectedRecord>,
    /// Its benchmarks, as far as both sides have them.
    pub benchmarks: Vec<BenchmarkRecord>,
    /// Layouts in which the timed ones were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<LayoutRecord>,
    /// The measured code against it; candidate and reference have the same id.
    pub comparisons: Vec<ComparisonRecord>,
}

/// Two versions of the code that were built to be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionsRecord {
    /// The reference.
    pub base: VersionRecord,
    /// The code that was measured.
    pub head: VersionRecord,
}

/// One version of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionRecord {
    /// The commit that was built. Of changes that are not committed it is one that no branch has.
    pub commit: String,
    /// Identifies its files: git's tree.
    pub tree: String,
    /// Digest of everything that its workers have of their own to run or load: what its build made, and its files.
    pub digest: Digest,
}

/// A benchmark that the base has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedRecord {
    /// Its id.
    pub id: BenchmarkId,
    /// Version of its definition.
    pub definition: u32,
    /// Digest of what stays the same when it only gets another id.
    pub identity: Digest,
}

/// Fresh launches of some benchmarks, for a purpose of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreshRecord {
    /// The cases.
    pub cases: Vec<CaseRecord>,
    /// The benchmarks of the measured code.
    pub benchmarks: Vec<BenchmarkRecord>,
    /// The measured code against its base, where there is one, else variants against their references.
    pub comparisons: Vec<ComparisonRecord>,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Unique id.
    #[serde(deserialize_with = "super::file_name::id")]
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// When it ended.
    pub finished: String,
    /// Name and version of the harness.
    pub harness: String,
    /// The command line, without the program.
    pub arguments: Vec<String>,
    /// Patterns that were asked for. Empty in records of versions that did not store them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Seed of every input and order.
    pub seed: u64,
    /// The effort.
    pub effort: perfharness_contract::Effort,
    /// The GPU that was asked for.
    pub device: String,
    /// Settings of the workloads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The time budget in s.
    pub budget_s: f64,
    /// Design of each case.
    pub design: Design,
    /// Shard of a run that is spread over machines.
    pub shard: Shard,
    /// Whether everything that was planned was measured.
    pub ended: RunEnd,
    /// Number of times that it was continued with `--resume`.
    pub resumed: u32,
    /// Use of its time.
    pub time: TimeUse,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// Everything that was planned was measured.
    Complete,
    /// The user stopped it.
    Interrupted,
}

/// A part of a run that is spread over machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

/// Use of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeUse {
    /// All launches together, in s. What is in none of the parts below went to processes, checks after timing and
    /// metered samples.
    pub launches_s: f64,
    /// Within placements but outside their blocks, in s: set-up, checks before timing, warm-up.
    pub placements_s: f64,
    /// Blocks, in s: timed samples, and what lies between them, such as inputs, lead-in and messages.
    pub blocks_s: f64,
    /// Timed samples of complete blocks, in s.
    pub samples_s: f64,
    /// Start, `hello` and end of processes, in s; absent, like the next four, in records that did not tell them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes_s: Option<f64>,
    /// Preparing of placements, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare_s: Option<f64>,
    /// Checks, before and after timing, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_s: Option<f64>,
    /// Warm-up, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    /// Metered samples, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered_s: Option<f64>,
    /// Share of the launches' time that was not in timed samples: processes, set-up, inputs, checks, lead-in, warm-up.
    pub outside_share: Option<f64>,
}

/// One worker of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRecord {
    /// Name of the worker.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its working folder, where that is another one than the harness's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// SHA-256 over the files that the command names.
    pub digest: Option<String>,
    /// `ok`, or why it gave no workloads.
    pub outcome: Outcome,
}

impl WorkerRecord {
    /// A record of a worker that was asked.
    pub fn new(command: &WorkerCommand, digest: Option<String>, outcome: Outcome) -> Self {
        let folder = command.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        Self { name: command.name.clone(), command: command.command.clone(), folder, digest, outcome }
    }
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// The workload.
    pub workload: Name,
    /// The case.
    pub case: Name,
    /// The variant, where each was measured by itself, against its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Name>,
    /// Pairing of the sides; absent if the case was not begun.
    pub pairing: Option<Pairing>,
    /// Reason for its end; absent where it was cut off.
    pub end: Option<CaseEnd>,
    /// Time that its launches took, in s.
    pub seconds: f64,
    /// Blocks that were measured, dropped ones included.
    pub blocks: u64,
    /// Blocks that were dropped, by cause.
    pub dropped_blocks: BTreeMap<String, u64>,
    /// Its launches.
    pub launches: Vec<LaunchRecord>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchRecord {
    /// Its number, from 0.
    pub launch: u32,
    /// When it began, Unix time in ms.
    pub unix_ms: u64,
    /// Load average of the last minute when it began.
    pub load_average: Option<f64>,
    /// Time in ns of a fixed piece of work when it began; tells the speed of the machine at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_ns: Option<f64>,
    /// Positions of the conditions that its workers ran under.
    pub environments: Vec<usize>,
    /// Its sides, in the order in which their workers were opened: `base` and `head` where these are compared, else variants.
    /// In another part of the launch a side may be opened again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<String>,
    /// Layouts of the programs, where they have several, by origin.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layouts: BTreeMap<String, u32>,
    /// Length in s; absent if the launch was cut off.
    pub seconds: Option<f64>,
    /// Time that somebody else ran on its CPUs while it was timed, as a share of that time, where the system counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_share: Option<Number>,
    /// Reason why the whole launch does not count, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Contamination>,
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkRecord {
    /// Its stable id.
    pub id: BenchmarkId,
    /// Version of its definition.
    pub definition: u32,
    /// Role of the variant.
    pub role: Role,
    /// Outcome of the benchmark.
    pub outcome: Outcome,
    /// The outcome that counts as success.
    pub expected: OutcomeKind,
    /// Position of the conditions that it ran under.
    pub environment: Option<usize>,
    /// Length of its samples.
    pub sample: Option<SampleRecord>,
    /// Its warm-ups.
    pub warm_up: Option<WarmUpRecord>,
    /// Findings of its checks.
    pub check: Option<CheckRecord>,
    /// Notes of its worker to the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The reasons for which its times are not believed; as a rule there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspect: Vec<Suspicion>,
    /// The functions with the most instructions, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionCount>,
    /// The change of what it executes, where it was compared with a base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// Its kernels and their code, where its worker tells of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KernelsRecord>,
    /// Metric id to what was measured. Empty where the outcome is not `ok`: a wrong variant has no time.
    pub metrics: BTreeMap<String, MetricRecord>,
}

impl BenchmarkRecord {
    /// Whether it ended as expected.
    pub fn succeeded(&self) -> bool {
        self.outcome.kind == self.expected
    }

    /// Whether it ended in a way that fails a run. What was skipped or not run did not fail.
    pub fn failed(&self) -> bool {
        !self.succeeded() && !matches!(self.outcome.kind, OutcomeKind::Skipped | OutcomeKind::NotRun)
    }
}

/// Length of a benchmark's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleRecord {
    /// Iterations under the clock.
    pub iterations: u64,
    /// Iterations before it.
    pub lead_in: u64,
    /// Further iterations under the clock that are not counted: a planted slowdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<u64>,
}

impl SampleRecord {
    /// The planted slowdown, as a share of the counted work.
    pub fn planted_share(&self) -> Option<f64> {
        Some(self.planted? as f64 / self.iterations.max(1) as f64)
    }
}

/// Warm-ups of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpRecord {
    /// Warm-ups, one for each placement.
    pub count: usize,
    /// Warm-ups that reached a steady state.
    pub steady: usize,
}

/// Findings of the checks of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    /// Checks made before timing.
    pub before: usize,
    /// Checks made after timing, on what timed samples left.
    pub after: usize,
    /// The largest error that any of them saw.
    pub error: Option<Number>,
    /// The largest error that is right.
    pub tolerance: Option<Number>,
    /// NaN values in the output of the first check.
    pub nan_count: Option<u64>,
    /// Digest of the first check's input.
    pub input: Option<Digest>,
    /// Digest of the first check's output.
    pub output: Option<Digest>,
    /// Faults that the checks could not have noticed, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Figures of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRecord {
    /// The unit.
    pub unit: String,
    /// Kind of comparison. An exact metric that differed between launches is demoted to `size`.
    pub kind: MetricKind,
    /// The value, or why there is none.
    pub value: Reading,
    /// Interval of the value, where there are enough launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Standard deviation over launches; relative for times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// One value for each launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<Number>,
    /// Samples behind it.
    pub samples: usize,
    /// True where it is defined as exact but differed between launches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demoted: bool,
}

/// A variant against its reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRecord {
    /// The variant.
    pub candidate: BenchmarkId,
    /// The reference.
    pub reference: BenchmarkId,
    /// The metric.
    pub metric: Name,
    /// Effect and interval, as log-ratio candidate / reference.
    pub estimate: Estimate,
    /// The estimate with the blocks that were dropped, where some were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_kept: Option<Estimate>,
    /// One log-ratio for each launch.
    pub launches: Vec<f64>,
    /// The smallest effect, as a log-ratio, that this many launches of this spread find in nine of ten runs.
    pub smallest_detectable: Option<f64>,
}

impl ComparisonRecord {
    /// Returns the speed-up of the candidate, with its interval.
    pub fn speed_up(&self) -> (f64, Option<Interval>) {
        let inverted =
            self.estimate.interval.map(|i| Interval { lower: (-i.upper).exp(), upper: (-i.lower).exp() });
        ((-self.estimate.theta).exp(), inverted)
    }
}

/// Whether a statement holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimStatus {
    /// It holds.
    Met,
    /// It does not.
    NotMet,
    /// The measurement leaves it open.
    Undecided,
    /// It cannot be measured here; the reason is given.
    NotMeasurable,
}

/// A statement of a source document against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimRecord {
    /// The workload.
    pub workload: Name,
    /// The case; absent for statements that no measurement can decide.
    pub case: Option<Name>,
    /// Id of the claim.
    pub claim: Name,
    /// The promise.
    pub promise: Promise,
    /// The measured figure, in the promise's terms.
    pub measured: Option<Number>,
    /// Its interval; absent for exact metrics.
    pub interval: Option<Interval>,
    /// Whether it holds.
    pub status: ClaimStatus,
    /// Why it is not measurable or undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The raw samples of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SamplesRef {
    /// Name of the file, in the folder of `run.json`.
    #[serde(deserialize_with = "super::file_name::file_name")]
    pub file: String,
    /// Rows in it.
    pub rows: u64,
    /// Digest of the file.
    pub digest: Digest,
}
