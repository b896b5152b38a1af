//! The worker protocol: JSON Lines over stdin and stdout, version 1.
//!
//! A frame is one line holding one JSON object whose first key is `perfharness`, the version of the framing.
//! `docs/protocol.md` describes every message for authors in other languages; these types are its Rust form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BenchmarkId, Check, Number, WorkloadDef};

/// The version of framing and messages that this crate speaks.
///
/// Changes: 1 is the first. Keys that were added since, which older peers omit or ignore: `settings` of `hello`,
/// `absent_modes` of its answer, `notes` of the answer to `prepare`, `profile` of the answer to a `profiled` sample,
/// `modes` of `hello`, the mode `traced` with `trace` of the answer to such a sample, and `untimed_ns` and `kernels` of
/// the answer to `sample`. A claim may promise a `level`, which older harnesses refuse. The limit on the length of an
/// answer is lower than the earlier limit on a line.
pub const PROTOCOL_VERSION: u32 = 1;

/// Start of every frame. A worker's line may have other text before it, such as an unfinished print of a library.
pub const FRAME_START: &str = "{\"perfharness\":";

/// A request on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestFrame {
    /// Version of the framing.
    pub perfharness: u32,
    /// Id that the answer repeats; it increases by one from request to request.
    pub id: u64,
    /// Time after which the harness gives up on an answer and ends the worker, in ms from sending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// An answer on the wire: exactly one of `ok` and `error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseFrame {
    /// Version of the framing.
    pub perfharness: u32,
    /// The id of the request that this answers.
    pub id: u64,
    /// The answer to the request; its shape depends on the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<serde_json::Value>,
    /// The reason why the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WireError>,
}

/// Error of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// Kind of failure.
    pub code: ErrorCode,
    /// Description of the failure.
    #[serde(default)]
    pub message: String,
}

/// Kinds of failure that a worker can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The worker speaks none of the offered protocol versions.
    UnsupportedProtocol,
    /// The `op` or the mode of the request is unknown or not supported.
    Unsupported,
    /// The request does not parse or names something unknown.
    BadRequest,
    /// The benchmark cannot run on this machine; becomes `skipped`.
    Unavailable,
    /// Memory ran out; becomes `out-of-memory`.
    OutOfMemory,
    /// Any other failure in the measured program; becomes `crashed`.
    #[serde(other)]
    Failed,
}

/// A request of the harness to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Request {
    /// The first request, with the versions and conditions of the harness; answered by [`HelloReply`].
    Hello(Hello),
    /// Requests all workloads; answered by [`Description`].
    Describe,
    /// Creates one placement of a benchmark with fresh buffers; answered by [`Prepared`].
    Prepare {
        /// The benchmark.
        benchmark: BenchmarkId,
        /// Number of the placement within the launch.
        placement: u32,
    },
    /// Checks the result; answered by [`CheckReply`].
    Check {
        /// The placement.
        handle: u64,
        /// The round of the input.
        round: u64,
        /// The iteration within the round.
        index: u64,
        /// True: load the round, run iteration `index` once and check it. False: check the output of the last sample;
        /// `round` and `index` then name its last iteration.
        fresh: bool,
    },
    /// Runs iterations; answered by [`SampleReply`].
    Sample(SampleRequest),
    /// Drops a placement; answered by an empty object.
    Release {
        /// The placement.
        handle: u64,
    },
    /// The last request; answered by an empty object, after which the worker ends.
    Finish,
}

impl Request {
    /// Returns the name of the request on the wire.
    pub fn op(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Describe => "describe",
            Self::Prepare { .. } => "prepare",
            Self::Check { .. } => "check",
            Self::Sample(_) => "sample",
            Self::Release { .. } => "release",
            Self::Finish => "finish",
        }
    }
}

/// The handshake, harness to worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Protocol versions that the harness speaks.
    pub protocols: Vec<u32>,
    /// Name and version of the harness.
    pub harness: String,
    /// Seed of every input.
    pub seed: u64,
    /// GPU to use: `auto`, `none`, or a part of an adapter's name.
    pub device: String,
    /// A fresh, empty folder for files, which the harness removes when the launch ends.
    pub scratch_dir: String,
    /// Memory limit of the worker; the harness ends a worker that uses more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Settings of the user for the workloads, e.g. a folder of images, by the names that the workloads declare.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Modes that the harness knows. A worker announces no others, because harnesses from before this key refuse them.
    #[serde(default = "first_modes", deserialize_with = "known_modes")]
    pub modes: Vec<Mode>,
}

fn first_modes() -> Vec<Mode> {
    vec![Mode::Timed, Mode::Metered, Mode::Profiled]
}

/// Deserialises the known modes and ignores the others, because the other side may be newer.
fn known_modes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Mode>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    Ok(names.iter().filter_map(|name| Mode::from_name(name)).collect())
}

/// The handshake, worker to harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HelloReply {
    /// Protocol version from now on, one of those offered.
    pub protocol: u32,
    /// Name and version of the worker program.
    #[serde(default)]
    pub worker: String,
    /// Modes in which the worker can take samples.
    #[serde(default = "timed_only", deserialize_with = "known_modes")]
    pub modes: Vec<Mode>,
    /// Reading of the worker's monotonic clock in ns during the answer; it places its samples on the harness's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ns: Option<u64>,
    /// Smallest step of that clock in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_resolution_ns: Option<u64>,
    /// Version of each meter; figures of different versions are never compared.
    #[serde(default)]
    pub meters: BTreeMap<String, u32>,
    /// Facts about the program: compiler, flags, library versions, threads.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// Reasons why a mode is not among `modes`, by the name of the mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent_modes: BTreeMap<String, String>,
}

fn timed_only() -> Vec<Mode> {
    vec![Mode::Timed]
}

/// Mode of a sample; modes are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Only the clock is on.
    Timed,
    /// Every meter is on; the time is not used.
    Metered,
    /// A profiler is on; the time is not used.
    Profiled,
    /// Events are recorded with their times; the time is not used.
    Traced,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Timed, Self::Metered, Self::Profiled, Self::Traced];

    /// Returns the mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// Returns the name of the mode on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timed => "timed",
            Self::Metered => "metered",
            Self::Profiled => "profiled",
            Self::Traced => "traced",
        }
    }
}

/// Answer to `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// All workloads of this worker.
    pub workloads: Vec<WorkloadDef>,
}

/// Answer to `prepare`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Handle of the placement.
    pub handle: u64,
    /// Notes for the user, e.g. which files could not be used, one line each. They are shown before the placement is
    /// timed, and below the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One stretch of iterations to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRequest {
    /// The placement.
    pub handle: u64,
    /// The mode of the sample.
    pub mode: Mode,
    /// The round, which determines the input.
    pub round: u64,
    /// Index of the first iteration, lead-in included; iteration i of the sample uses input (`round`,
    /// `offset + lead_in + i`).
    pub offset: u64,
    /// Number of iterations before the clock starts.
    pub lead_in: u64,
    /// Number of iterations under the clock.
    pub iterations: u64,
}

impl SampleRequest {
    /// Returns the index of the last iteration, whose output is kept.
    pub fn last_index(&self) -> u64 {
        (self.offset + self.lead_in + self.iterations).saturating_sub(1)
    }
}

/// Measurements of a sample. Sums are over all its iterations.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct SampleReply {
    /// Start on the worker's monotonic clock, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// Wall-clock time of all iterations, the closing fence included, in ns.
    pub wall_ns: u64,
    /// Time from the request to the start of the clock, in ns: inputs and lead-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untimed_ns: Option<u64>,
    /// CPU time of the process over the stretch of `wall_ns`, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Number of times that the scheduler took the CPU away over the same stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Readings by metric id; usually empty in `timed` mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Reading>,
    /// Kernels that a device executed, in `metered` mode only. Absent if the worker does not report kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Kernels>,
    /// The profile, in `profiled` mode only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The trace, in `traced` mode only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Kernels that a device executed in a metered sample, or the reason why they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Kernels {
    /// All kernels of the sample, each once.
    Known(Vec<Kernel>),
    /// Not all of them are known.
    Absent {
        /// The reason.
        absent: String,
    },
}

impl Kernels {
    /// Returns the kernels of all devices together, or `None` if there are no devices. One device whose kernels are not
    /// known makes all unknown.
    pub fn of_all(devices: impl IntoIterator<Item = Self>) -> Option<Self> {
        devices.into_iter().reduce(|all, more| match (all, more) {
            (Self::Known(mut all), Self::Known(more)) => {
                all.extend(more);
                Self::Known(all)
            }
            (absent @ Self::Absent { .. }, _) | (_, absent @ Self::Absent { .. }) => absent,
        })
    }
}

/// A kernel: one entry point of a shader. Its source states everything that a compiler needs, such as the bindings and the
/// size of a workgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Label of its pipeline.
    pub label: String,
    /// Source in WGSL.
    pub wgsl: String,
    /// Entry point.
    pub entry_point: String,
    /// Number of dispatches in the sample.
    pub dispatches: u64,
}

/// Call stacks of a stretch of iterations, and how often the profiler recorded each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Amount that one recorded stack stands for, in `unit`; an average if the profiler keeps no exact period.
    pub period: Number,
    /// Unit of `period`: `ns` for time, or any other text.
    #[serde(default = "nanoseconds")]
    pub unit: String,
    /// Clock that was sampled.
    #[serde(default)]
    pub clock: ProfileClock,
    /// The stacks.
    pub stacks: Vec<Stack>,
}

fn nanoseconds() -> String {
    "ns".into()
}

/// Clock that a profiler samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileClock {
    /// CPU time of all threads. Waiting is not in the profile.
    #[default]
    Cpu,
    /// Elapsed time, waiting included.
    Wall,
}

/// A call stack, and how often a profiler recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Names of the functions, outermost first. The first is the variant's own; its callers are left out.
    pub frames: Vec<String>,
    /// Number of times that the stack was recorded.
    pub count: u64,
}

/// Events of a stretch of iterations. Times are in ns of the worker's monotonic clock, like [`SampleReply::start_ns`].
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Spans of time.
    #[serde(default)]
    pub spans: Vec<TraceSpan>,
    /// Clocks of the tracks by name. A track that is not listed has exact times.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracks: BTreeMap<String, TrackClock>,
    /// Quantities that grow and shrink.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<TraceCounter>,
    /// Holders of the peak of device memory, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Number of spans and changes that were dropped because there were too many.
    #[serde(default)]
    pub dropped: u64,
    /// Additional facts, such as the name of the `adapter`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Tracks and counters that this worker cannot report, by name, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A stretch of time with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Track of the span: `host` for the variant's own thread, `gpu` for a device, or any other name.
    pub track: String,
    /// Name of the span.
    pub name: String,
    /// Kind of the span.
    #[serde(default)]
    pub kind: TraceKind,
    /// Start in ns.
    pub start_ns: u64,
    /// Duration in ns.
    pub duration_ns: u64,
}

/// Kind of a span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceKind {
    /// One iteration, or several without spans of their own.
    Iteration,
    /// A wait for everything that the iterations started.
    Fence,
    /// The host waits for a device.
    Wait,
    /// A device computes.
    Compute,
    /// A device copies.
    Copy,
    /// A device clears memory.
    Clear,
    /// Anything else.
    #[default]
    #[serde(other)]
    Other,
}

impl TraceKind {
    /// Returns the name of the kind on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Fence => "fence",
            Self::Wait => "wait",
            Self::Compute => "compute",
            Self::Copy => "copy",
            Self::Clear => "clear",
            Self::Other => "other",
        }
    }

    /// Whether it is work of a device.
    pub fn is_device(self) -> bool {
        matches!(self, Self::Compute | Self::Copy | Self::Clear)
    }
}

/// Accuracy with which the spans of a track are placed on the worker's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackClock {
    /// Common offset that the spans may have, in ns, if it is not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty_ns: Option<u64>,
    /// Whether the times are those of another clock of unknown origin, so that the spans are not placed.
    #[serde(default)]
    pub own_clock: bool,
}

/// A quantity that grows and shrinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounter {
    /// Name: `heap-live`, `device-live`, or any other name.
    pub name: String,
    /// Unit of the values.
    #[serde(default = "bytes")]
    pub unit: String,
    /// Whether the values are changes since the start of the stretch, because the earlier value is not known.
    #[serde(default)]
    pub relative: bool,
    /// Largest number of changes that a point stands for; the point has the highest value of them.
    #[serde(default = "one")]
    pub changes_per_point: u64,
    /// Times in ns, and the value from each of them on.
    pub points: Vec<(u64, i64)>,
}

fn bytes() -> String {
    "bytes".into()
}

fn one() -> u64 {
    1
}

/// Memory of one label that was held when a peak was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Label that its owner gave it.
    pub label: String,
    /// Number of pieces.
    pub count: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

/// Answer to `check`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReply {
    /// The result of the check.
    #[serde(flatten)]
    pub check: Check,
    /// Work counters of the one iteration of a fresh check.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Reading>,
}

/// A measured value, or a typed absence with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Reading {
    /// The measured value, in the metric's unit.
    Value(Number),
    /// The quantity cannot be measured here.
    Absent {
        /// The reason.
        absent: String,
    },
}

impl Reading {
    /// Returns the value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(number) => Some(number.0),
            Self::Absent { .. } => None,
        }
    }

    /// Returns the reason for an absent value.
    pub fn absence(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Absent { absent } => Some(absent),
        }
    }
}

impl From<u64> for Reading {
    fn from(value: u64) -> Self {
        Self::Value(Number(value as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_begins_with_its_mark_and_survives_the_wire() {
        let frame = RequestFrame {
            perfharness: PROTOCOL_VERSION,
            id: 7,
            deadline_ms: Some(1000),
            request: Request::Sample(SampleRequest {
                handle: 1,
                mode: Mode::Timed,
                round: u64::MAX,
                offset: 0,
                lead_in: 2,
                iterations: 10,
            }),
        };
        let line = serde_json::to_string(&frame).unwrap();
        assert!(line.starts_with(FRAME_START), "{line}");
        assert_eq!(serde_json::from_str::<RequestFrame>(&line).unwrap(), frame);
        let finish = RequestFrame { perfharness: 1, id: 8, deadline_ms: None, request: Request::Finish };
        let line = serde_json::to_string(&finish).unwrap();
        assert_eq!(line, r#"{"perfharness":1,"id":8,"op":"finish"}"#);
        assert_eq!(serde_json::from_str::<RequestFrame>(&line).unwrap(), finish);
    }

    #[test]
    fn readings_are_values_or_absences_with_a_reason() {
        let readings: BTreeMap<String, Reading> =
            serde_json::from_str(r#"{"a":3,"b":"NaN","c":{"absent":"no counter"}}"#).unwrap();
        assert_eq!(readings["a"], Reading::from(3));
        assert!(readings["b"].value().unwrap().is_nan());
        assert_eq!(readings["c"].value(), None);
    }

    #[test]
    fn a_profile_needs_a_period_and_stacks_and_no_more() {
        let reply: SampleReply = serde_json::from_str(
            r#"{"wall_ns":9,"profile":{"period":1000000,"stacks":[{"frames":["run","parse"],"count":3}]}}"#,
        )
        .unwrap();
        let profile = reply.profile.unwrap();
        assert_eq!((profile.unit.as_str(), profile.clock), ("ns", ProfileClock::Cpu));
        assert_eq!(profile.stacks, [Stack { frames: vec!["run".into(), "parse".into()], count: 3 }]);
        let line = serde_json::to_string(&SampleReply { wall_ns: 9, ..SampleReply::default() }).unwrap();
        assert_eq!(line, r#"{"wall_ns":9}"#, "an answer of an older worker looks the same as before");
    }

    #[test]
    fn a_trace_needs_spans_with_a_place_in_time_and_no_more() {
        let reply: SampleReply = serde_json::from_str(
            r#"{"wall_ns":9,"trace":{"spans":[{"track":"host","name":"a","start_ns":1,"duration_ns":2},
                {"track":"host","name":"b","kind":"later","start_ns":3,"duration_ns":0}],
                "counters":[{"name":"heap-live","points":[[1,-5]]}]}}"#,
        )
        .unwrap();
        let trace = reply.trace.unwrap();
        assert!(trace.spans.iter().all(|span| span.kind == TraceKind::Other), "{trace:?}");
        let counter = &trace.counters[0];
        assert_eq!((counter.unit.as_str(), counter.relative, counter.changes_per_point), ("bytes", false, 1));
        assert_eq!(counter.points, [(1, -5)]);
        assert_eq!(serde_json::to_string(&Trace::default()).unwrap(), r#"{"spans":[],"dropped":0}"#);
        for kind in [TraceKind::Iteration, TraceKind::Wait, TraceKind::Other] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn modes_of_a_newer_version_are_passed_over() {
        let reply: HelloReply =
            serde_json::from_str(r#"{"protocol":1,"modes":["timed","dreamt","traced"]}"#).unwrap();
        assert_eq!(reply.modes, [Mode::Timed, Mode::Traced]);
        let older: RequestFrame = serde_json::from_str(
            r#"{"perfharness":1,"id":1,"op":"hello","protocols":[1],"harness":"h","seed":1,"device":"auto","scratch_dir":""}"#,
        )
        .unwrap();
        let Request::Hello(hello) = older.request else { panic!("it is a hello") };
        assert!(!hello.modes.contains(&Mode::Traced), "a harness that says nothing knows the first three");
        for mode in Mode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
    }

    #[test]
    fn an_answer_to_hello_without_the_later_keys_is_whole() {
        let hello: HelloReply = serde_json::from_str(r#"{"protocol":1}"#).unwrap();
        assert_eq!(hello.modes, [Mode::Timed]);
        assert!(hello.absent_modes.is_empty());
        for mode in [Mode::Timed, Mode::Metered, Mode::Profiled] {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
    }

    #[test]
    fn error_codes_of_later_versions_count_as_failures() {
        let error: WireError = serde_json::from_str(r#"{"code":"exploded","message":"m"}"#).unwrap();
        assert_eq!(error.code, ErrorCode::Failed);
    }
}
