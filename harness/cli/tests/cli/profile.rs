//! Flame graphs, from workers that can be profiled and from workers that cannot.

use std::path::Path;

use perfharness_contract::protocol::ProfileClock;
use perfharness_contract::{BenchmarkId, OutcomeKind};
use perfharness_record::file;
use perfharness_report::profile::{FlameIndex, ProfileFormat, ProfileState, Widths};

use crate::fixture::{Harness, require_system, require_tool};

/// Where the Rust worker has a profiler.
fn require_profiler() -> bool {
    require_system(&["linux", "macos"])
}

fn index(harness: &Harness, folder: &str) -> FlameIndex {
    FlameIndex::read(&harness.path(folder)).unwrap().unwrap()
}

fn id(text: &str) -> BenchmarkId {
    text.parse().unwrap()
}

/// The folded stacks of a benchmark of `hot`.
fn folded(harness: &Harness, variant: &str) -> String {
    harness.read(&format!("graphs/hot-c-{variant}.folded"))
}

fn absence(index: &FlameIndex, benchmark: &str) -> String {
    match &index.benchmark(&id(benchmark)).unwrap().profile {
        ProfileState::Absent { absent } => absent.clone(),
        ProfileState::Taken(facts) => panic!("{benchmark} was profiled: {facts:?}"),
    }
}

#[test]
fn functions_are_found_by_their_names_and_what_fails_is_told() {
    if !require_profiler() {
        return;
    }
    let harness = Harness::new();
    let call = harness.call("profile hot --out graphs --seconds 0.5 --format svg,folded,pprof,speedscope");
    let done = call.worker("hot").done().code(5);
    let index = index(&harness, "graphs");

    // The wasteful variant is met in what it wastes, and nobody else is.
    assert!(folded(&harness, "wasteful").contains("planted_waste"), "{}", folded(&harness, "wasteful"));
    for variant in ["lean", "wasteful", "threaded"] {
        let folded = folded(&harness, variant);
        assert!(folded.contains("planted_spin"), "{variant}: {folded}");
        assert!(folded.lines().all(|line| line.starts_with(&format!("hot/c/{variant};"))), "{folded}");
        assert_eq!(folded.contains("planted_waste"), variant == "wasteful", "{variant}: {folded}");
        // Neither the worker nor the profiler is in it.
        for other in ["serve", "perfharness_profiled", "lang_start", "perf_signal_handler", "pprof::"] {
            assert!(!folded.contains(other), "{other} in {folded}");
        }
    }
    assert!(folded(&harness, "threaded").contains("[other threads];"));
    assert!(done.stdout.contains("of CPU time per iteration"), "{}", done.stdout);

    let graph = harness.read("graphs/hot-c-wasteful.svg");
    assert!(graph.contains("planted_waste") && graph.contains("hot/c/wasteful"));
    let removed = index.differential(&id("hot/c/wasteful"), &id("hot/c/lean"), Widths::Reference).unwrap();
    assert_eq!(removed, "hot-c-wasteful-against-lean.svg");
    assert!(harness.read(&format!("graphs/{removed}")).contains("planted_waste"));
    let differences = harness.read("graphs/hot-c-wasteful-against-lean.folded");
    let wasted = differences.lines().filter(|line| line.contains("planted_waste"));
    assert!(wasted.clone().count() > 0 && wasted.clone().all(|line| line.ends_with(" 0")), "{differences}");

    let facts = index.benchmark(&id("hot/c/wasteful")).unwrap().profile.facts().unwrap();
    assert!(facts.samples > 0 && facts.iterations > 0 && facts.period > 0.0, "{facts:?}");
    let formats: Vec<ProfileFormat> = facts.files.iter().map(|file| file.format).collect();
    assert_eq!(formats.len(), 4, "{formats:?}");
    for file in index.files() {
        assert!(harness.path("graphs").join(file).is_file(), "{file}");
    }

    assert_eq!(absence(&index, "hot/c/skipped"), "skipped: left out on purpose");
    assert!(absence(&index, "hot/c/panics").contains("a planted panic"));
    assert_eq!(index.benchmark(&id("hot/c/panics")).unwrap().outcome.kind, OutcomeKind::Crashed);
    assert!(done.stdout.contains("no profile: skipped: left out on purpose"), "{}", done.stdout);
}

#[test]
fn a_log_that_is_written_line_by_line_is_met_where_it_writes() {
    if !require_profiler() {
        return;
    }
    let harness = Harness::new();
    harness.call("profile json-logging/n1000/slow --out graphs --seconds 0.5 --format folded").done().code(0);
    let folded = harness.read("graphs/json-logging-n1000-slow.folded");
    let innermost = |line: &str| line.rsplit(';').next().is_some_and(|frame| frame.contains("write"));
    assert!(folded.lines().any(innermost), "{folded}");
}

#[test]
fn a_run_leaves_flame_graphs_of_what_it_measured_beside_its_record() {
    let harness = Harness::new();
    let call = harness.call("run hot/c/lean hot/c/wasteful --launches 1 --flamegraph --output out/run.json");
    call.worker("hot").done().code(0);
    let index = index(&harness, "out/flamegraphs");
    let ids: Vec<String> = index.benchmarks.iter().map(|benchmark| benchmark.id.to_string()).collect();
    assert_eq!(ids, ["hot/c/wasteful", "hot/c/lean"]);
    let record = file::read(&harness.path("out/run.json")).unwrap();
    assert!(index.benchmarks.iter().all(|benchmark| benchmark.run.as_ref() == Some(&record.run.id)));
    if require_profiler() {
        assert_eq!(index.flame_graph(&id("hot/c/lean")), Some("hot-c-lean.svg"));
        assert_eq!(index.differences.len(), 2);
        assert!(index.files().all(|file| harness.path("out/flamegraphs").join(file).is_file()));
    }
}

#[test]
fn what_did_not_go_well_in_a_run_is_not_profiled() {
    let harness = Harness::new();
    let call = harness.call("run hot/c/panics --launches 1 --flamegraph --output run.json");
    call.worker("hot").done().code(5);
    let index = index(&harness, "flamegraphs");
    assert!(absence(&index, "hot/c/panics").contains("a planted panic"));
}

#[test]
fn each_benchmark_is_held_against_itself_in_another_build() {
    if !require_profiler() {
        return;
    }
    let harness = Harness::new();
    let call = harness.call("profile hot/c/lean --out graphs --seconds 0.2");
    call.worker("hot").base_worker("hot").done().code(0);
    for file in ["lean", "lean-base", "lean-base-against-head", "lean-head-against-base"] {
        assert!(harness.path(&format!("graphs/hot-c-{file}.svg")).is_file(), "{file}");
    }
}

#[test]
fn a_worker_without_a_profiler_has_no_flame_graph_and_is_no_failure() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/python_worker.py");
    std::fs::copy(source, harness.path("python_worker.py")).unwrap();
    let call = harness.call("profile word-count/w1000 --out graphs");
    let done = call.args(["--worker", "python3 python_worker.py"]).done().code(4);
    assert!(done.stdout.contains("takes no profiled samples"), "{}", done.stdout);
    let index = index(&harness, "graphs");
    assert_eq!(index.benchmarks.len(), 2);
    assert!(index.benchmarks.iter().all(|benchmark| benchmark.outcome.kind == OutcomeKind::Ok));
    assert!(absence(&index, "word-count/w1000/loop").contains("takes no profiled samples"));
}

#[test]
fn a_worker_in_another_language_can_be_profiled() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/python_profiled.py");
    std::fs::copy(source, harness.path("python_profiled.py")).unwrap();
    let call = harness.call("profile naps --out graphs --seconds 0.3 --format svg,folded");
    let done = call.args(["--worker", "python3 python_profiled.py"]).done().code(0);
    assert!(done.stdout.contains("of wall-clock time an iteration"), "{}", done.stdout);
    let index = index(&harness, "graphs");
    let facts = index.benchmark(&id("naps/c/nap")).unwrap().profile.facts().unwrap();
    assert_eq!(facts.clock, ProfileClock::Wall);
    // It sleeps, which a profile of the CPU would not see.
    let folded = harness.read("graphs/naps-c-nap.folded");
    assert!(
        folded.lines().all(|line| line.starts_with("naps/c/nap;nap;") || line.starts_with("naps/c/nap;nap "))
    );
    assert!(folded.contains("naps/c/nap;nap;wait_a_little "), "{folded}");
}

#[test]
fn a_system_without_a_profiler_says_so() {
    if ["linux", "macos"].contains(&std::env::consts::OS) {
        return;
    }
    let harness = Harness::new();
    harness.call("profile hot/c/lean --out graphs").worker("hot").done().code(4);
    assert!(absence(&index(&harness, "graphs"), "hot/c/lean").contains("this system has no signal"));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let harness = Harness::new();
    harness.call("profile").done().code(2);
    harness.call("profile hot --seconds 0").worker("hot").done().code(2);
    harness.call("profile hot/c/leen").worker("hot").done().code(2).says(&["did you mean `hot/c/lean`"]);
    harness.call("profile hot --base x --base-worker y").worker("hot").done().code(2);
    assert!(harness.files().is_empty(), "{:?}", harness.files());
}
