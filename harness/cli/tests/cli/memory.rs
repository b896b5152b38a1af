//! Memory over iterations, leaks that are planted, and what a diagnosis says of planted faults.

use std::path::Path;

use perfharness_report::memory::{MemoryFacts, MemoryIndex, MemoryState};
use perfharness_verdict::GrowthVerdict;
use serde_json::Value;

use crate::fixture::{Harness, require_system, require_tool};

fn index(harness: &Harness, folder: &str) -> MemoryIndex {
    MemoryIndex::read(&harness.path(folder)).unwrap().unwrap()
}

fn facts(index: &MemoryIndex, id: &str) -> MemoryFacts {
    index.benchmark(&id.parse().unwrap()).unwrap().memory.facts().unwrap().clone()
}

#[test]
fn a_planted_leak_is_found_in_a_thousand_iterations_and_named_to_the_byte() {
    let harness = Harness::new();
    let line = "memory known-work/append/w100 --set known-work=leak=1024 --out story";
    let done = harness.call(line).done().code(0);
    let said = "heap grows by 1,024 bytes per iteration (exact count)";
    assert!(done.stdout.contains(said), "{}", done.stdout);
    let found = facts(&index(&harness, "story"), "known-work/append/w100");
    assert_eq!((found.verdict, found.iterations), (GrowthVerdict::Grows, 1000));
    assert!(found.sentence.starts_with(said), "{}", found.sentence);
    assert_eq!(found.points.last().unwrap().heap, Some(1_024_000.0));
    let picture = harness.read(&format!("story/{}", found.file));
    assert!(picture.starts_with("<svg") && picture.contains(said), "{picture}");
    harness.call(line).args(["--fail-on-growth", "--quiet"]).done().code(5);
}

#[test]
fn what_does_not_leak_is_flat_whatever_else_is_planted() {
    let harness = Harness::new();
    let line = "memory known-work/append/w100 --set known-work=copies=+1,allocations=+1 --out story";
    let done = harness.call(line).args(["--fail-on-growth", "--json"]).done().code(0);
    let found = facts(&MemoryIndex::parse(&done.stdout).unwrap(), "known-work/append/w100");
    assert_eq!(found.verdict, GrowthVerdict::Flat, "{}", found.sentence);
    assert_eq!(found.points.last().unwrap().heap, Some(0.0));
    assert!(found.sentence.contains("heap +0 B (detects any leak)"), "{}", found.sentence);
    assert_eq!(index(&harness, "story").benchmarks.len(), 1);
}

#[test]
fn a_worker_in_another_language_is_watched_from_outside() {
    if !require_system(&["linux"]) || !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/python_leaky.py");
    std::fs::copy(source, harness.path("python_leaky.py")).unwrap();
    let call = harness.call("memory pages --out story --iterations 2000");
    call.args(["--worker", "python3 python_leaky.py"]).done().code(0);
    let index = index(&harness, "story");
    let (keeps, drops) = (facts(&index, "pages/c/keeps"), facts(&index, "pages/c/drops"));
    assert_eq!(keeps.verdict, GrowthVerdict::Grows, "{}", keeps.sentence);
    assert!(keeps.sentence.starts_with("resident set grows by 4,"), "{}", keeps.sentence);
    assert_eq!(drops.verdict, GrowthVerdict::Flat, "{}", drops.sentence);
    assert!(keeps.absent["heap-growth"].contains("no metered samples"), "{:?}", keeps.absent);
}

#[test]
fn what_fails_is_told_and_the_others_are_watched() {
    let harness = Harness::new();
    let done = harness.call("memory hot --out story --iterations 40").worker("hot").done().code(5);
    let index = index(&harness, "story");
    let state = |id: &str| index.benchmark(&id.parse().unwrap()).unwrap().memory.clone();
    assert!(
        matches!(state("hot/c/panics"), MemoryState::Absent { absent } if absent.contains("a planted panic"))
    );
    assert!(matches!(state("hot/c/skipped"), MemoryState::Absent { absent } if absent.contains("left out")));
    assert!(state("hot/c/lean").facts().is_some());
    assert!(done.stdout.contains("not measured: skipped: left out on purpose"), "{}", done.stdout);
    harness.call("memory").done().code(2);
    harness.call("memory hot --iterations 39").worker("hot").done().code(2);
    harness.call("memory hot/c/leen").worker("hot").done().code(2).says(&["did you mean `hot/c/lean`"]);
}

/// Measures with something planted, into a file.
fn measure(harness: &Harness, planted: &str, output: &str) {
    let call = harness.call("run known-work/append/w100 --launches 2 --quiet --output").args([output]);
    // Through the variable: figures of other settings would not be compared.
    call.env("PERFHARNESS_KNOWN_WORK", planted).done().code(0);
}

fn row<'r>(found: &'r Value, metric: &str) -> &'r Value {
    let rows = found["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["metric"].as_str() == Some(metric))
        .unwrap_or_else(|| panic!("no {metric}: {found:#}"))
}

#[test]
fn planted_faults_are_named_by_the_diagnosis_where_no_time_moved() {
    let harness = Harness::new();
    measure(&harness, "", "before.json");
    let faults = [
        ("copies=+1", "host-copies", "copies on the host from 0 to 1 per iteration"),
        ("syncs=+1", "file-syncs", "file syncs from 0 to 1 per iteration"),
        ("leak=1024", "heap-growth", "heap grows by 1,024 bytes per iteration"),
        (
            "allocations=+1",
            "heap-allocations",
            "heap allocations from 0 to 100 per iteration (1 more for each of its 100 steps)",
        ),
    ];
    for (planted, metric, said) in faults {
        measure(&harness, planted, "after.json");
        let done = harness.call("compare before.json after.json --format json").done().code(3);
        let found = done.json();
        let row = row(&found, metric);
        assert_eq!(row["judgement"]["verdict"], "regressed", "{planted}: {row:#}");
        let diagnosis = row["diagnosis"].as_str().unwrap();
        assert!(diagnosis.starts_with(said), "{planted}: {diagnosis}");
        // Unrelated metrics are not named.
        for (_, other, _) in faults.iter().filter(|(_, other, _)| *other != metric) {
            // An allocation more is what a leak is made of.
            if (metric, *other) != ("heap-growth", "heap-allocations") {
                assert_ne!(
                    self::row(&found, other)["judgement"]["verdict"],
                    "regressed",
                    "{planted}: {other}"
                );
            }
        }
    }
    // A gate fails by the count alone: times against one run prove nothing.
    measure(&harness, "leak=1024", "leak.json");
    harness.call("baseline accept before.json --reason first").done().code(0);
    let done = harness.call("gate leak.json --format json").done().code(3);
    let found = done.json();
    assert_eq!(row(&found, "heap-growth")["judgement"]["verdict"], "regressed");
    assert_ne!(row(&found, "wall-time")["judgement"]["verdict"], "regressed");
}
