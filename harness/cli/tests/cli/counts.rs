//! Figures that are counted, not timed: the same in every run, and what the system sees.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use perfharness_contract::{MetricKind, OutcomeKind};
use serde_json::{Value, json};

use crate::fixture::{Harness, PROGRAM, Running, require_system, require_tool};

/// Exact metrics by benchmark and name.
fn exact_metrics(harness: &Harness) -> BTreeMap<(String, String), f64> {
    let record = harness.record();
    let mut exact = BTreeMap::new();
    for benchmark in &record.benchmarks {
        assert_eq!(benchmark.outcome.kind, OutcomeKind::Ok, "{}", benchmark.id);
        for (name, metric) in &benchmark.metrics {
            assert!(!metric.demoted, "{} of {} differed: {:?}", name, benchmark.id, metric.launches);
            if metric.kind == MetricKind::Exact {
                exact.insert((benchmark.id.to_string(), name.clone()), metric.value.value().unwrap());
            }
        }
    }
    exact
}

#[track_caller]
fn assert_exact_in_two_runs(line: &str, variants: usize) {
    let run = || {
        let harness = Harness::new();
        harness.measure(line).done().code(0);
        exact_metrics(&harness)
    };
    let first = run();
    // Opens, reads and their bytes, writes and their bytes, syncs, conversions, records, and the heap's.
    assert!(first.len() >= 10 * variants, "{first:?}");
    assert_eq!(first, run());
}

#[test]
fn exact_metrics_are_equal_in_all_launches_of_all_runs() {
    assert_exact_in_two_runs("json-logging/n1000/slow json-logging/n1000/optimized --launches 2", 2);
}

#[test]
fn exact_metrics_of_the_documented_variant_are_equal_in_all_runs() {
    // Unoptimised it takes long: one launch, cut short.
    assert_exact_in_two_runs("json-logging/n1000/documented --launches 1 --time-budget 500ms", 1);
}

/// Operations on the files below a folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct FileCalls {
    opens: u64,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    syncs: u64,
}

impl FileCalls {
    /// From the lines of `strace -f -y`, which writes the path of a descriptor behind it.
    fn traced(trace: &str, folder: &str) -> Self {
        let mut calls = Self::default();
        for line in trace.lines() {
            assert!(!line.contains("<unfinished"), "a call of several lines: {line}");
            // `1234  read(3</path>, "..."..., 10) = 10`
            let Some((call, result)) = line.rsplit_once(" = ") else { continue };
            let Some((head, arguments)) = call.split_once('(') else { continue };
            let name = head.rsplit(' ').next().unwrap();
            let first = arguments.split(", ").nth(usize::from(name == "openat")).unwrap();
            if !first.contains(folder) {
                continue;
            }
            let result: i64 = result.split(['<', ' ']).next().unwrap().parse().unwrap();
            let bytes = u64::try_from(result).unwrap();
            match name {
                "openat" => calls.opens += 1,
                "read" => (calls.reads, calls.read_bytes) = (calls.reads + 1, calls.read_bytes + bytes),
                "write" => (calls.writes, calls.write_bytes) = (calls.writes + 1, calls.write_bytes + bytes),
                "fsync" | "fdatasync" => calls.syncs += 1,
                other => panic!("{other} was not to be traced"),
            }
        }
        calls
    }

    fn metered(readings: &Value) -> Self {
        let reading = |name: &str| readings[name].as_u64().unwrap_or_else(|| panic!("no {name}: {readings}"));
        Self {
            opens: reading("file-opens"),
            reads: reading("file-reads"),
            read_bytes: reading("file-read-bytes"),
            writes: reading("file-writes"),
            write_bytes: reading("file-write-bytes"),
            syncs: reading("file-syncs"),
        }
    }
}

/// Has the built-in worker take one metered sample under `strace`; returns its readings and the trace.
fn traced_sample(harness: &Harness, variant: &str) -> (Value, String) {
    let scratch = harness.path(&format!("scratch/{variant}"));
    let trace = harness.path(&format!("{variant}.trace"));
    fs::create_dir(&scratch).unwrap();
    let calls = "trace=open,openat,creat,read,pread64,readv,write,pwrite64,writev,fsync,fdatasync";
    let arguments =
        ["-f", "-y", "-qq", "-s", "0", "-e", calls, "-o", trace.to_str().unwrap(), PROGRAM, "worker"];
    let mut command = harness.command(Path::new("strace"), &arguments);
    command.stdin(Stdio::piped());
    let requests = [
        json!({"op": "hello", "protocols": [1], "harness": "test", "seed": 1, "device": "none", "scratch_dir": scratch}),
        json!({"op": "prepare", "benchmark": format!("json-logging/n1000/{variant}"), "placement": 0}),
        json!({"op": "sample", "handle": 1, "mode": "metered", "round": 0, "offset": 0, "lead_in": 0, "iterations": 2}),
        json!({"op": "finish"}),
    ];
    let mut frames = String::new();
    for (mut request, id) in requests.into_iter().zip(1..) {
        request["perfharness"] = json!(1);
        request["id"] = json!(id);
        frames.push_str(&request.to_string());
        frames.push('\n');
    }
    let done = Running::start_with_input(&mut command, |mut input| input.write_all(frames.as_bytes()))
        .wait()
        .code(0);
    let answers: Vec<Value> = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["error"].is_null()), "{answers:?}");
    (answers[2]["ok"]["readings"].clone(), fs::read_to_string(trace).unwrap())
}

#[test]
fn file_counts_are_those_that_the_system_sees() {
    if !require_system(&["linux"]) || !require_tool(&["strace", "-o", "/dev/null", "true"]) {
        return;
    }
    let harness = Harness::new();
    for variant in ["slow", "documented", "optimized"] {
        let (readings, trace) = traced_sample(&harness, variant);
        let scratch = harness.path("scratch").join(variant);
        let traced = FileCalls::traced(&trace, scratch.to_str().unwrap());
        assert_eq!(traced, FileCalls::metered(&readings), "{variant}");
        assert!(
            traced.opens >= 2 && traced.writes >= 40 && traced.write_bytes > 500_000,
            "{variant}: {traced:?}"
        );
    }
}
