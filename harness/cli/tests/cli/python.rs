//! A worker in another language.

use std::path::Path;

use perfharness_contract::{OutcomeKind, standard};

use crate::fixture::{Harness, require_tool};

fn copy_worker(harness: &Harness, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/python_worker.py");
    let copy = harness.path(name);
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::copy(source, copy).unwrap();
}

#[test]
fn a_python_program_that_prints_while_it_is_measured_is_measured() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    copy_worker(&harness, "python_worker.py");
    // Windows does not start scripts by their first line.
    let windows = std::env::consts::OS == "windows";
    let worker = if windows { "python3 python_worker.py" } else { "./python_worker.py" };
    let done = harness.measure("word-count/w1000 --launches 2").args(["--worker", worker]).done().code(0);
    for variant in ["loop", "counter"] {
        let benchmark = harness.benchmark(&format!("word-count/w1000/{variant}"));
        assert_eq!(benchmark.outcome.kind, OutcomeKind::Ok);
        assert!(benchmark.metrics[standard::WALL_TIME].value.value().unwrap() > 0.0);
        assert_eq!(benchmark.metrics["words"].value.value(), Some(1000.0));
    }
    let record = harness.record();
    assert_eq!(record.comparisons.len(), 1);
    assert!(record.comparisons[0].estimate.theta.is_finite());
    assert!(done.stdout.contains("× over loop"), "{}", done.stdout);
}

#[test]
fn a_script_in_the_configuration_is_found_from_a_folder_below() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    copy_worker(&harness, "bench/python_worker.py");
    harness.write("perfharness.toml", "[[worker]]\ncommand = [\"python3\", \"bench/python_worker.py\"]\n");
    let done = harness.call("list").within("src/deep").done().code(0);
    assert!(done.stdout.contains("word-count"), "{}", done.stdout);
}
