//! Tests every variant against the reference, its exact counts, and the checks themselves.

mod attention;
mod first_k;
mod kv_cache;
mod orders;

use std::collections::BTreeMap;

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{Measured, MetricKind, Placement, Reading, Setup, Workload, standard};

use crate::model::Model;
use crate::{DOCUMENTED, OPTIMIZED, SLOW};

/// The smallest decoder: large numbers of passes take a short time.
const TINY: Model = Model { width: 32, layers: 1, vocabulary: 64 };

fn setup(seed: u64) -> Setup {
    Setup::new(seed, "auto", ".")
}

/// Returns the readings of one iteration after another one, whose result is right.
fn metered(workload: &Workload, case: &str, variant: &str) -> BTreeMap<String, Reading> {
    let (case, id) = (case.parse().unwrap(), variant.parse().unwrap());
    let mut placement = Placement::prepare(workload, &case, &id, workload.setup(1, "auto", ".")).unwrap();
    let request =
        SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in: 1, iterations: 1 };
    let readings = placement.sample(&request).unwrap().readings;
    let check = placement.check(1, request.last_index(), false).unwrap().check;
    assert!(check.passed, "{variant}: {check:?}");
    readings
}

/// Returns the exact counts of one iteration that are not 0, without those of the heap. The result is checked.
fn counts(workload: &Workload, variant: &str) -> BTreeMap<String, f64> {
    let readings = metered(workload, "case", variant);
    let heap = standard::heap_metrics();
    let exact =
        workload.definition().metrics.iter().filter(|metric| {
            metric.kind == MetricKind::Exact && heap.iter().all(|heap| heap.id != metric.id)
        });
    let counts = exact.map(|metric| match readings.get(metric.id.as_str()) {
        Some(Reading::Value(value)) => (metric.id.to_string(), value.0),
        other => panic!("{}: {other:?}", metric.id),
    });
    counts.filter(|(_, count)| *count != 0.0).collect()
}

fn due<const N: usize>(figures: [(&str, usize); N]) -> BTreeMap<String, f64> {
    figures.map(|(metric, value)| (metric.to_owned(), value as f64)).into()
}

/// Runs some iterations, each with its check, and looks whether the check finds the results of others.
fn right_and_never_stale(bench: &mut dyn Measured, what: &str) {
    for round in 1..3 {
        bench.load(round).unwrap();
        for index in [0, 3] {
            bench.run(index).unwrap();
            bench.fence().unwrap();
            let check = bench.check(index).unwrap();
            assert!(check.passed, "{what}: {check:?}");
            assert!(!bench.check(index + 1).unwrap().passed, "{what}: the result of iteration {index}");
        }
        bench.load(round + 1).unwrap();
        assert!(!bench.check(3).unwrap().passed, "{what}: the result of round {round}");
    }
}
