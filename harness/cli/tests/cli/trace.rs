//! Timelines, from workers that trace and from workers that do not.

use std::path::Path;

use perfharness_gpu::testing::require_adapter;
use perfharness_platform::clock;
use rstest::rstest;
use serde_json::Value;

use crate::fixture::{Harness, require_tool};

/// The parts of a file that tests look at. Times are in ns.
struct File {
    json: Value,
}

impl File {
    fn read(harness: &Harness, name: &str) -> Self {
        Self { json: serde_json::from_str(&harness.read(name)).unwrap() }
    }

    fn events(&self, ph: &str) -> Vec<&Value> {
        self.json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == ph).collect()
    }

    fn named(&self, key: &str, pid: u64) -> Vec<&str> {
        let all = self.events("M").into_iter().filter(|event| event["name"] == key && event["pid"] == pid);
        all.map(|event| event["args"]["name"].as_str().unwrap()).collect()
    }

    /// Start and duration of the spans of a category.
    fn spans(&self, category: &str) -> Vec<(u64, u64)> {
        let ns = |event: &Value, key: &str| (event[key].as_f64().unwrap() * 1e3).round() as u64;
        let all = self.events("X").into_iter().filter(|event| event["cat"] == category);
        all.map(|event| (ns(event, "ts"), ns(event, "dur"))).collect()
    }

    fn other(&self, key: &str) -> &Value {
        &self.json["otherData"][key]
    }
}

fn sum(spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|(_, duration)| duration).sum()
}

/// Checks that hold for every trace of a Rust worker.
fn assert_whole(file: &File, iterations: usize, command_ns: u64) {
    // The phases of the launch, without gaps.
    let phases = file.spans("phase");
    assert_eq!(phases.len(), 6);
    assert_eq!(phases[0].0, 0);
    for pair in phases.windows(2) {
        assert_eq!(pair[0].0 + pair[0].1, pair[1].0, "{phases:?}");
    }
    assert!(sum(&phases) < command_ns, "{phases:?} in {command_ns}");
    // The iterations and the fence are the sample, to the nanosecond.
    let (steps, fence) = (file.spans("iteration"), file.spans("fence"));
    assert_eq!((steps.len(), fence.len()), (iterations, 1));
    let wall = file.other("wall_ns").as_u64().unwrap();
    assert_eq!(sum(&steps) + sum(&fence), wall);
    // The sample lies within its phase, as exactly as the clocks are known.
    let slack = file.other("worker_clock_uncertainty_ns").as_u64().unwrap();
    let (start, duration) = phases[4];
    assert!(wall <= duration && steps[0].0 + slack >= start, "{steps:?} in {phases:?}");
    assert!(fence[0].0 + fence[0].1 <= start + duration + slack, "{fence:?} in {phases:?}");
}

#[test]
fn the_phases_are_the_launch_and_the_iterations_are_the_sample() {
    let harness = Harness::new();
    let start = clock::now();
    let call = harness.call("trace known-work/copy/w100 known-work/spin/w100 --iterations 2 --out traces");
    let done = call.done().code(0);
    let command_ns = start.elapsed().as_nanos() as u64;
    for name in ["copy", "spin"] {
        let file = File::read(&harness, &format!("traces/known-work.{name}.w100.trace.json"));
        assert_whole(&file, 2, command_ns);
        assert_eq!(file.named("process_name", 2), [format!("known-work/{name}/w100")]);
        assert_eq!(file.named("thread_name", 2), ["host"]);
        assert!(file.other("peak_rss_bytes").is_null() || file.other("peak_rss_bytes").as_u64() > Some(0));
    }
    // The staging buffer of each iteration, and nothing else.
    let copy = File::read(&harness, "traces/known-work.copy.w100.trace.json");
    let live: Vec<i64> =
        copy.events("C").iter().map(|event| event["args"]["bytes"].as_i64().unwrap()).collect();
    assert_eq!(live, [0, 262_144, 0, 262_144, 0, 0]);
    assert_eq!(copy.other("counters")["heap-live"]["relative"], true);
    for words in ["for 2 iterations", "heap-live at most +262 kB", "traced sample", "w100.trace.json"] {
        assert!(done.stdout.contains(words), "{words}: {}", done.stdout);
    }
    assert!(done.stderr.contains("https://ui.perfetto.dev"), "{}", done.stderr);
    assert!(!done.stdout.contains("GPU busy"), "there is none in it: {}", done.stdout);
}

#[test]
fn a_device_has_a_track_of_its_own() {
    if require_adapter().is_none() {
        return;
    }
    let harness = Harness::new();
    let start = clock::now();
    let done = harness.call("trace label-remap/b64/slow --out one.json --json").done().code(0);
    let file = File::read(&harness, "one.json");
    assert_whole(&file, 3, start.elapsed().as_nanos() as u64);
    assert_eq!(file.named("thread_name", 2)[..2], ["host", "gpu"]);
    let (copies, waits) = (file.spans("copy"), file.spans("wait"));
    assert!(!copies.is_empty() && !waits.is_empty());
    // Each wait lies within an iteration or the fence.
    let steps = [file.spans("iteration"), file.spans("fence")].concat();
    for (start, duration) in waits {
        let holds = |(outer, length): &(u64, u64)| *outer <= start && start + duration <= outer + length;
        assert!(steps.iter().any(holds), "{start} in {steps:?}");
    }
    // Each copy lies within the sample, as exactly as the clocks are known.
    let slack = file.other("tracks")["gpu"]["uncertainty_ns"].as_u64().unwrap();
    let end = file.spans("fence")[0];
    for (start, duration) in copies {
        assert!(start + slack >= steps[0].0 && start + duration <= end.0 + end.1 + slack, "{start} {slack}");
    }
    assert!(file.events("C").iter().any(|event| event["name"] == "device-live"));
    assert!(file.other("facts")["adapter"].is_string());
    let traces = done.json();
    let summary = &traces["benchmarks"][0]["trace"]["summary"];
    assert_eq!(summary["iterations_ns"], summary["wall_ns"]);
    let wall = summary["wall_ns"].as_u64().unwrap();
    for key in ["gpu_busy_ns", "host_wait_ns"] {
        let ns = summary[key].as_u64().unwrap();
        assert!(ns > 0 && ns <= wall, "{key}: {summary}");
    }
    assert!(!summary["holders"].as_array().unwrap().is_empty(), "{summary}");
}

#[test]
fn a_worker_in_another_language_can_trace_whatever_it_calls_things() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/python_traced.py");
    std::fs::copy(source, harness.path("python_traced.py")).unwrap();
    let call = harness.call("trace naps --iterations 2 --out traces");
    let done = call.args(["--worker", "python3 python_traced.py"]).done().code(0);
    let text = harness.read("traces/naps.c.nap.trace.json");
    assert!(text.chars().all(|c| !c.is_control()), "{text}");
    let file = File::read(&harness, "traces/naps.c.nap.trace.json");
    let names = file.events("X");
    let hostile = "a \"nap\"\n\\ \u{fffd}[31m";
    assert_eq!(names.iter().filter(|event| event["name"] == hostile).count(), 2);
    assert_eq!(file.named("thread_name", 2), ["host", "naps (not placed in time)"]);
    assert_eq!(file.spans("iteration").len(), 2);
    assert_eq!(file.events("C").len(), 2);
    assert_eq!(file.other("facts")["bed"], "soft");
    // The worker's own clock agrees with the phases, except for the start of Python.
    let alive: u64 = file.other("facts")["alive_ns"].as_str().unwrap().parse().unwrap();
    let launched = sum(&file.spans("phase")[..5]);
    assert!((alive..alive + 10_000_000_000).contains(&launched), "{launched}, and the worker says {alive}");
    assert!(done.stdout.contains("no gpu-busy: it sleeps"), "{}", done.stdout);
    assert!(done.stdout.contains("dreams at most 100"), "{}", done.stdout);
}

#[test]
fn a_worker_without_the_mode_has_no_trace_and_is_no_failure() {
    let harness = Harness::new();
    let done = harness.call("trace raw --out traces").worker("garbage").done().code(4);
    assert!(done.stdout.contains("no trace: its worker takes no traced samples"), "{}", done.stdout);
    assert!(!done.stderr.contains("perfetto"), "{}", done.stderr);
    assert_eq!(std::fs::read_dir(harness.path("traces")).unwrap().count(), 0);
}

#[test]
fn what_fails_is_told_and_the_others_are_traced() {
    let harness = Harness::new();
    let done = harness.call("trace hot --out traces --json").worker("hot").done().code(5);
    let traces = done.json();
    let benchmarks = traces["benchmarks"].as_array().unwrap();
    let of = |variant: &str| {
        let id = format!("hot/c/{variant}");
        benchmarks.iter().find(|benchmark| benchmark["id"] == id.as_str()).unwrap()
    };
    assert_eq!(of("panics")["outcome"]["kind"], "crashed");
    assert!(of("panics")["trace"]["absent"].as_str().unwrap().contains("a planted panic"));
    assert_eq!(of("skipped")["trace"]["absent"], "skipped: left out on purpose");
    assert!(of("lean")["trace"]["summary"]["wall_ns"].as_u64().unwrap() > 0);
    for variant in ["wasteful", "lean", "threaded"] {
        assert!(harness.path(&format!("traces/hot.c.{variant}.trace.json")).is_file(), "{variant}");
    }
}

#[rstest]
#[case::nothing_to_trace("trace", "PATTERN")]
#[case::an_unknown_benchmark("trace hot/c/leen", "did you mean `hot/c/lean`")]
#[case::no_iterations("trace hot --iterations 0", "1..=10000")]
#[case::one_file_for_several("trace hot --out all.json", "name a folder, or select one")]
#[case::an_unknown_setting("trace hot --set colour=red", "no workload has a setting `colour`")]
fn what_cannot_be_meant_is_refused(#[case] line: &str, #[case] words: &str) {
    let harness = Harness::new();
    harness.call(line).worker("hot").done().code(2).says(&[words]);
    assert!(harness.files().is_empty(), "{:?}", harness.files());
}

#[test]
fn a_folder_that_cannot_be_written_to_is_found_before_anything_is_started() {
    let harness = Harness::new();
    harness.write("taken", "");
    let call = harness.call("trace hot/c/lean --out taken/traces").worker("hot");
    let done = call.done().code(2).says(&["cannot write to the folder taken/traces", "--out"]);
    assert!(!done.stderr.contains("tracing hot"), "{}", done.stderr);
}
