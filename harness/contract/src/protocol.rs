//! The worker protocol: JSON Lines over stdin and stdout, version 1.
//!
//! A frame is one line holding one JSON object whose first key is `perfharness`, the version of the framing.
//! `docs/protocol.md` describes every message for authors in other languages; these types are its Rust form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BenchmarkId, Check, Number, WorkloadDef};

/// The version of framing and messages that this crate speaks.
///
/// Changes: 1, the first. Keys that were added since, which older peers leave out or ignore: `settings` of `hello`,
/// `absent_modes` of its answer, `notes` of `prepare`'s, `profile` of that to a `profiled` sample, `modes` of `hello`,
/// the mode `traced` with `trace` of the answer to such a sample, and `untimed_ns` of the answer to `sample`. An answer may
/// be less long than a line could be before.
pub const PROTOCOL_VERSION: u32 = 1;

/// How every frame begins. A worker's line may hold text before it (somebody else's unfinished print).
pub const FRAME_START: &str = "{\"perfharness\":";

/// A request on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestFrame {
    /// Version of the framing.
    pub perfharness: u32,
    /// Id that the answer repeats; grows by one from request to request.
    pub id: u64,
    /// When the harness gives up on an answer and ends the worker, in ms from sending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// What is asked.
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
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WireError>,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// What happened, in words.
    #[serde(default)]
    pub message: String,
}

/// Kinds of failure that a worker can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// None of the offered protocol versions is spoken.
    UnsupportedProtocol,
    /// The request's `op` or mode is not known or not supported.
    Unsupported,
    /// The request does not parse or names something unknown.
    BadRequest,
    /// The benchmark cannot run on this machine; becomes `skipped`.
    Unavailable,
    /// Memory ran out; becomes `out-of-memory`.
    OutOfMemory,
    /// Anything else that went wrong in the measured program; becomes `crashed`.
    #[serde(other)]
    Failed,
}

/// What the harness asks of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Request {
    /// The first request: who speaks, and under which conditions.
    Hello(Hello),
    /// Asks for all workloads; answered by [`Description`].
    Describe,
    /// Makes one placement of a benchmark: fresh buffers, set up and ready; answered by [`Prepared`].
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
        /// The round whose input is meant.
        round: u64,
        /// The iteration within the round.
        index: u64,
        /// True: load the round, run iteration `index` once and check that. False: check what the last sample
        /// left; `round` and `index` then name its last iteration.
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
    /// The request's name on the wire.
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
    /// The GPU to use: `auto`, `none`, or a part of an adapter's name.
    pub device: String,
    /// A folder for files, fresh and empty, removed by the harness when the launch ends.
    pub scratch_dir: String,
    /// What the worker may use; the harness ends it where it uses more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// What the user set for the workloads, e.g. a folder of images; by names that the workloads choose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Modes that the harness knows. A worker announces no other: harnesses from before this key refuse unknown ones.
    #[serde(default = "first_modes", deserialize_with = "known_modes")]
    pub modes: Vec<Mode>,
}

fn first_modes() -> Vec<Mode> {
    vec![Mode::Timed, Mode::Metered, Mode::Profiled]
}

/// Those that are known here: the other side may be newer.
fn known_modes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Mode>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    Ok(names.iter().filter_map(|name| Mode::from_name(name)).collect())
}

/// The handshake, worker to harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HelloReply {
    /// The version spoken from here on, one of those offered.
    pub protocol: u32,
    /// Name and version of the worker program.
    #[serde(default)]
    pub worker: String,
    /// Modes that samples can be taken in.
    #[serde(default = "timed_only", deserialize_with = "known_modes")]
    pub modes: Vec<Mode>,
    /// Reading of the worker's monotonic clock in ns while it answers; places its samples on the harness's clock.
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
    /// Why a mode is not among `modes`: name of the mode, and the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent_modes: BTreeMap<String, String>,
}

fn timed_only() -> Vec<Mode> {
    vec![Mode::Timed]
}

/// How a sample is taken; modes are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Clock only.
    Timed,
    /// Every meter on; the time is not used.
    Metered,
    /// Under a profiler; the time is not used.
    Profiled,
    /// Noting when things happen; the time is not used.
    Traced,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Timed, Self::Metered, Self::Profiled, Self::Traced];

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// The mode's name on the wire.
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
    /// Everything that this worker can run.
    pub workloads: Vec<WorkloadDef>,
}

/// Answer to `prepare`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Names the placement from here on.
    pub handle: u64,
    /// What the user should know of it, e.g. which files could not be used; a line each, shown
    /// before anything of it is timed, and below the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One stretch of iterations to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRequest {
    /// The placement.
    pub handle: u64,
    /// Clock only, or meters on.
    pub mode: Mode,
    /// The round: the input is a function of it.
    pub round: u64,
    /// Index of the first iteration, lead-in included; iteration i of the sample uses input
    /// (`round`, `offset + lead_in + i`).
    pub offset: u64,
    /// Iterations before the clock starts.
    pub lead_in: u64,
    /// Iterations under the clock.
    pub iterations: u64,
}

impl SampleRequest {
    /// Index of the last iteration: the one whose output is left.
    pub fn last_index(&self) -> u64 {
        (self.offset + self.lead_in + self.iterations).saturating_sub(1)
    }
}

/// What a sample saw. Sums are over all its iterations.
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
    /// How often the scheduler took the CPU away over the same stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Metric id to reading; in `timed` mode usually empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Reading>,
    /// What the profiler saw; in `profiled` mode only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// When things happened; in `traced` mode only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Where a profiler found a stretch of iterations: call stacks, and how often each was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What a stack that was met once stands for, in `unit`: on average, where the profiler keeps no exact period.
    pub period: Number,
    /// Unit of `period`: `ns` for time, or any other text.
    #[serde(default = "nanoseconds")]
    pub unit: String,
    /// Which time was sampled.
    #[serde(default)]
    pub clock: ProfileClock,
    /// The stacks.
    pub stacks: Vec<Stack>,
}

fn nanoseconds() -> String {
    "ns".into()
}

/// Which time a profiler samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileClock {
    /// Time on the CPU, of all threads. Waiting is not in the profile.
    #[default]
    Cpu,
    /// Time that passes, waiting included.
    Wall,
}

/// A call stack, and how often a profiler met it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Names of the functions, the outermost first. The first is the variant's own: what calls it is left out.
    pub frames: Vec<String>,
    /// How often it was met.
    pub count: u64,
}

/// When things happened over a stretch of iterations. Moments are in ns of the worker's monotonic clock, as
/// [`SampleReply::start_ns`] is.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// What took time.
    #[serde(default)]
    pub spans: Vec<TraceSpan>,
    /// How exactly the spans of a track are placed; by its name. A track that is not here is placed exactly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracks: BTreeMap<String, TrackClock>,
    /// What grew and shrank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<TraceCounter>,
    /// What made the peak of device memory, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Spans and changes that are not here because there were too many.
    #[serde(default)]
    pub dropped: u64,
    /// What is to be known beside, such as the name of the `adapter`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// What this worker cannot tell: the name of a track or of a counter, and the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A stretch of time with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Where it is drawn: `host` for what the variant's own thread does, `gpu` for a device, or any other name.
    pub track: String,
    /// What it is called.
    pub name: String,
    /// What it stands for.
    #[serde(default)]
    pub kind: TraceKind,
    /// Its start.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
}

/// What a span of a trace stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceKind {
    /// One iteration, or several that have no spans of their own.
    Iteration,
    /// Waiting for everything that the iterations started.
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
    /// Its name on the wire.
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

/// How exactly the spans of a track are placed on the worker's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackClock {
    /// By how much they may be off all together, in ns, where that is not nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty_ns: Option<u64>,
    /// They are not placed at all: their moments are those of another clock, of unknown origin.
    #[serde(default)]
    pub own_clock: bool,
}

/// A quantity that grows and shrinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounter {
    /// What it is called: `heap-live`, `device-live`, or any other name.
    pub name: String,
    /// Unit of the values.
    #[serde(default = "bytes")]
    pub unit: String,
    /// Values are changes since the start of the stretch, because what there was before is not known.
    #[serde(default)]
    pub relative: bool,
    /// How many changes a point stands for at most; it is the highest of them.
    #[serde(default = "one")]
    pub changes_per_point: u64,
    /// Moments in ns, and the value from each of them on.
    pub points: Vec<(u64, i64)>,
}

fn bytes() -> String {
    "bytes".into()
}

fn one() -> u64 {
    1
}

/// Memory of one name that was held when a peak was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// What its owner calls it.
    pub label: String,
    /// In how many pieces.
    pub count: u64,
    /// Its bytes, all together.
    pub bytes: u64,
}

/// Answer to `check`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReply {
    /// What was found.
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
    /// What was measured, in the metric's unit.
    Value(Number),
    /// It cannot be measured here.
    Absent {
        /// Why.
        absent: String,
    },
}

impl Reading {
    /// The value, where there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(number) => Some(number.0),
            Self::Absent { .. } => None,
        }
    }

    /// Why there is no number.
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
