//! The author's guide up to a worker: measures the example `row_sums` as a reader would.

use std::fs;
use std::path::Path;

use perfharness_contract::OutcomeKind;
use perfharness_gpu::metric;
use perfharness_gpu::testing::require_adapter;

use crate::fixture::Harness;

const ROWS: f64 = 64.0;
const COLS: f64 = 256.0;

/// Metrics of one iteration and what is due, for the variants slow and optimized.
const DUE: &[(&str, f64, f64)] = &[
    ("rows", ROWS, ROWS),
    (metric::SYNCS, 1.0, 0.0),
    (metric::SUBMITS, 2.0, 1.0),
    (metric::DISPATCHES, 0.0, 1.0),
    (metric::DOWNLOAD_BYTES, 4.0 * ROWS * COLS, 0.0),
    (metric::DOWNLOAD_COPIES, 1.0, 0.0),
    (metric::UPLOAD_BYTES, 4.0 * ROWS, 0.0),
    (metric::UPLOAD_COPIES, 1.0, 0.0),
    (metric::DEVICE_COPY_BYTES, 0.0, 0.0),
    (metric::WRITE_BUFFER_BYTES, 0.0, 0.0),
    (metric::BUFFER_CREATES, 0.0, 0.0),
];

#[test]
fn the_example_is_measured_with_its_exact_counts() {
    if require_adapter().is_none() {
        return;
    }
    let harness = Harness::new();
    harness.measure("row-sums/r64 --launches 2 --time-budget 5s").example_worker().done().code(0);
    assert_eq!(harness.record().benchmarks.len(), 2);

    for (at, variant) in ["slow", "optimized"].into_iter().enumerate() {
        let benchmark = harness.benchmark(&format!("row-sums/r64/{variant}"));
        assert_eq!(benchmark.outcome.kind, OutcomeKind::Ok, "{:?}", benchmark.outcome);
        for (name, slow, optimized) in DUE {
            let metric = &benchmark.metrics[*name];
            assert_eq!(metric.value.value(), Some([*slow, *optimized][at]), "{name} of {variant}");
            assert!(!metric.demoted, "{name} of {variant} differed: {:?}", metric.launches);
        }
        let environment = &harness.record().environments[benchmark.environment.unwrap()];
        let meters: Vec<&str> = environment.meters.keys().map(String::as_str).collect();
        assert!(meters.contains(&"gpu") && meters.contains(&"heap"), "{meters:?}");
    }
}

#[test]
fn without_a_device_the_example_is_skipped_undecided_and_says_what_to_do_next() {
    let harness = Harness::new();
    let call = harness.measure("row-sums/r64 --launches 1 --time-budget 2s --device none");
    // Nothing failed, and nothing was measured that could decide anything.
    call.example_worker().done().code(4);
    let record = harness.record();
    assert_eq!(record.benchmarks.len(), 2);
    for benchmark in &record.benchmarks {
        assert_eq!(benchmark.outcome.kind, OutcomeKind::Skipped, "{}", benchmark.id);
        let reason = benchmark.outcome.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("run it with --device auto"), "{}: {reason}", benchmark.id);
        assert!(benchmark.metrics.is_empty(), "{}", benchmark.id);
    }
}

#[test]
fn the_example_is_short() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/examples/row_sums.rs");
    let lines = fs::read_to_string(source).unwrap().lines().count();
    assert!(lines < 150, "{lines} lines");
}
