//! Every way in which a variant can go wrong ends as what it is, and costs the others nothing.

use perfharness_contract::{OutcomeKind, standard};
use perfharness_record::BenchmarkRecord;

use crate::fixture::Harness;

/// Expected record of a variant: its outcome, whether it was expected, and words of the reason.
type Due = (&'static str, OutcomeKind, &'static [&'static str]);

const DUE: &[Due] = &[
    ("good", OutcomeKind::Ok, &[]),
    ("wrong", OutcomeKind::WrongResult, &["before timing"]),
    ("wrong-later", OutcomeKind::WrongResult, &["after timing"]),
    ("memo", OutcomeKind::WrongResult, &["before timing"]),
    (
        "less-work",
        OutcomeKind::WrongResult,
        &["its work differs from that of `good`", "steps 20000 against 40000"],
    ),
    ("exit", OutcomeKind::Crashed, &["exit code 7"]),
    ("panic", OutcomeKind::Crashed, &["a planted panic"]),
    ("error", OutcomeKind::Crashed, &["a planted error"]),
    ("hang", OutcomeKind::TimedOut, &["no answer to `sample` within 3."]),
    ("oom", OutcomeKind::OutOfMemory, &[]),
    ("expected-oom", OutcomeKind::OutOfMemory, &[]),
    ("unavailable", OutcomeKind::Skipped, &["needs a GPU"]),
    ("print", OutcomeKind::Ok, &[]),
    ("crash", OutcomeKind::Crashed, &["during `sample`"]),
];

/// Describes the mismatch of a variant's record, if there is one.
fn complaint(benchmark: &BenchmarkRecord, (_, kind, words): &Due) -> Option<String> {
    let outcome = &benchmark.outcome;
    let reason = outcome.reason.as_deref().unwrap_or_default();
    let wall = benchmark.metrics.get(standard::WALL_TIME).and_then(|metric| metric.value.value());
    let figures = match kind {
        OutcomeKind::Ok => wall.is_some_and(|ns| ns > 1000.0 && ns < 1e9),
        _ => benchmark.metrics.is_empty(),
    };
    let told =
        words.iter().all(|word| reason.contains(word)) && (*kind == OutcomeKind::Ok || !reason.is_empty());
    let fine = outcome.kind == *kind && told && figures;
    (!fine).then(|| format!("{}: {outcome:?}, wall time {wall:?}", benchmark.id))
}

#[test]
fn every_way_to_go_wrong_has_its_outcome_and_the_good_ones_their_figures() {
    let harness = Harness::new();
    let done = harness
        .measure("misbehave --launches 2 --time-budget 2s --timeout 3s --memory-limit 512MiB")
        .worker("bad")
        .done()
        .code(5);
    let record = harness.record();
    let found: Vec<&str> = record.benchmarks.iter().map(|b| b.id.variant.as_str()).collect();
    assert_eq!(found.len(), DUE.len(), "{found:?}");
    let complaints: Vec<String> = DUE
        .iter()
        .filter_map(|due| complaint(&harness.benchmark(&format!("misbehave/c/{}", due.0)), due))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));

    let succeeded = |variant: &str| harness.benchmark(&format!("misbehave/c/{variant}")).succeeded();
    assert!(succeeded("expected-oom") && !succeeded("oom"));
    let failed = done.stdout.split("\nfailed: ").nth(1).unwrap();
    assert!(failed.contains("misbehave/c/oom") && !failed.contains("expected-oom"), "{failed}");

    // Last words.
    let stderr =
        |variant: &str| harness.benchmark(&format!("misbehave/c/{variant}")).outcome.stderr.join("\n");
    assert!(stderr("panic").contains("a planted panic"), "{}", stderr("panic"));
    assert!(stderr("oom").contains("memory allocation of"), "{}", stderr("oom"));

    // An abrupt death has a reason in the words of its system.
    if std::env::consts::OS != "windows" {
        let crash = harness.benchmark("misbehave/c/crash").outcome.reason.unwrap();
        assert!(crash.contains("signal 6 (SIGABRT)"), "{crash}");
    }
    assert!(record.workers.iter().all(|worker| worker.outcome.kind == OutcomeKind::Ok));
    for id in ["wrong", "wrong-later", "crash", "hang"] {
        assert!(record.comparisons.iter().all(|c| c.candidate.variant != *id), "{id} is compared");
    }
}

#[test]
fn what_is_printed_between_frames_leaves_the_figures_alone() {
    let harness = Harness::new();
    harness.measure("misbehave/c/good misbehave/c/print --launches 1").worker("bad").done().code(0);
    let (good, print) = (harness.benchmark("misbehave/c/good"), harness.benchmark("misbehave/c/print"));
    assert_eq!(good.metrics["steps"].value, print.metrics["steps"].value);
    assert_eq!(print.check.unwrap().error.map(|e| e.0), good.check.unwrap().error.map(|e| e.0));
}

#[test]
fn memory_that_ran_out_is_seen_behind_a_long_backtrace() {
    let harness = Harness::new();
    harness
        .measure("misbehave/c/oom misbehave/c/expected-oom --launches 1 --memory-limit 256MiB")
        .worker("bad")
        .env("RUST_BACKTRACE", "full")
        .done()
        .code(5);
    for variant in ["oom", "expected-oom"] {
        let outcome = harness.benchmark(&format!("misbehave/c/{variant}")).outcome;
        assert_eq!(outcome.kind, OutcomeKind::OutOfMemory, "{outcome:?}");
    }
}

#[test]
fn an_expected_failure_is_a_success() {
    let harness = Harness::new();
    let call =
        harness.measure("misbehave/c/good misbehave/c/expected-oom --launches 1 --memory-limit 256MiB");
    let done = call.worker("bad").done().code(0);
    assert!(done.stdout.contains("out-of-memory (expected)"), "{}", done.stdout);
}

#[test]
fn a_run_of_which_nothing_could_be_measured_is_undecided() {
    let harness = Harness::new();
    let done = harness.measure("misbehave/c/unavailable").worker("bad").done().code(4);
    assert!(done.stdout.contains("needs a GPU"), "{}", done.stdout);
}
