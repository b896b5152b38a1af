//! The projects of `examples/`, copied out of the repository and followed by their README.

use std::fs;
use std::path::Path;

use perfharness_contract::OutcomeKind;

use crate::fixture::{Harness, require_tool};
use crate::two_builds::{Gated, contract};

const FILES: [&str; 5] = [".gitignore", "Cargo.toml", "perfharness.toml", "perf/worker.rs", "src/lib.rs"];

/// The beginning of the hot path, and the call of the slow form that is planted before it.
const HOT_PATH: &str = "    let mut paths: HashMap<&str, Traffic> = HashMap::new();\n";
const PLANTED: &str = "    std::hint::black_box(summarize_records(log));\n";

/// Copies the project, with the path to the contract as it is seen from elsewhere.
fn copy(harness: &Harness) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/access-log");
    for file in FILES {
        let text = fs::read_to_string(project.join(file)).unwrap();
        harness.write(&format!("repo/{file}"), text);
    }
    let path = format!("{:?}", contract().to_str().unwrap());
    edit(harness, "Cargo.toml", "\"../../harness/contract\"", &path);
}

#[track_caller]
fn edit(harness: &Harness, file: &str, from: &str, to: &str) {
    let file = format!("repo/{file}");
    let text = harness.read(&file);
    assert!(text.contains(from), "{file} has no {from:?}");
    harness.write(&file, text.replacen(from, to, 1));
}

#[test]
fn a_foreign_project_is_measured_and_its_changes_are_gated() {
    if !require_tool(&["git", "--version"]) {
        return;
    }
    let project = Gated { opt_level: "0", ..Gated::with(copy) };
    let harness = &project.harness;

    // In a folder that is kept, so that only the first run of this test compiles what the worker depends on.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples");
    let build = ["build", "--quiet", "--release", "--offline", "--example", "worker", "--target-dir"];
    project.cargo(&[&build[..], &[target.to_str().unwrap()]].concat());
    let worker = format!("worker{}", std::env::consts::EXE_SUFFIX);
    let folder = harness.path("repo/target/release/examples");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(target.join("release/examples").join(&worker), folder.join(&worker)).unwrap();
    harness.call("run all --launches 2 --time-budget 5s --output ../run.json").within("repo").done().code(0);
    let [slow, optimized] = ["slow", "optimized"].map(|variant| {
        let benchmark = harness.benchmark(&format!("access-log/n1000/{variant}"));
        assert_eq!(benchmark.outcome.kind, OutcomeKind::Ok, "{:?}", benchmark.outcome);
        benchmark.metrics["heap-allocations"].value.value().unwrap()
    });
    assert!(slow > 100.0 * optimized, "{slow} against {optimized} allocations");

    edit(harness, "src/lib.rs", "/// Traffic of one path.", "/// Requests and bytes of one path.");
    project.commit("Reword a comment");
    let (code, found, said) = project.gate(&[]);
    assert_eq!((code, found["outcome"].as_str()), (0, Some("ok")), "{found:#}\n{said}");

    edit(harness, "src/lib.rs", HOT_PATH, &format!("{PLANTED}{HOT_PATH}"));
    project.commit("Slow down");
    let (code, found, said) = project.gate(&[]);
    assert_eq!((code, found["outcome"].as_str()), (3, Some("regressed")), "{found:#}\n{said}");
    let rows = found["rows"].as_array().unwrap();
    let regressed = |metric: &str| {
        rows.iter().any(|row| {
            row["benchmark"] == "access-log/n1000/optimized"
                && row["metric"] == metric
                && row["judgement"]["verdict"] == "regressed"
        })
    };
    for metric in ["heap-allocations", "wall-time"] {
        assert!(regressed(metric), "{metric}: {found:#}\n{said}");
    }
}
