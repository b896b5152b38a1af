//! Test support for workloads: counts of an iteration, without a process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Mode, Reading, SampleReply, SampleRequest};
use crate::{MetricDef, MetricKind, Placement, Workload, standard};

/// A placement and the folder for its files, which is removed with it.
#[derive(Debug)]
pub struct Placed {
    placement: Placement,
    scratch: PathBuf,
}

impl Drop for Placed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// Prepares a placement of a benchmark on the best device, with seed 1.
///
/// # Panics
/// Panics if it cannot be prepared.
#[track_caller]
pub fn place(workload: &Workload, case: &str, variant: &str) -> Placed {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let scratch = std::env::temp_dir().join(format!("perfharness-test-{}-{number}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&scratch) {
        panic!("{}: {error}", scratch.display());
    }
    let (case, variant) = match (case.parse(), variant.parse()) {
        (Ok(case), Ok(variant)) => (case, variant),
        (case, variant) => panic!("{case:?}, {variant:?}"),
    };
    let setup = workload.setup(1, "auto", &scratch);
    match Placement::prepare(workload, &case, &variant, setup) {
        Ok(placement) => Placed { placement, scratch },
        Err(failure) => panic!("{case}/{variant}: {failure}"),
    }
}

/// Takes a sample of `iterations` iterations after four for warm-up, and checks the result.
///
/// # Panics
/// Panics if the sample fails or its result is wrong.
#[track_caller]
pub fn sample(placed: &mut Placed, mode: Mode, iterations: u64) -> SampleReply {
    let placement = &mut placed.placement;
    let request = SampleRequest { handle: 0, mode, round: 1, offset: 0, lead_in: 4, iterations };
    let reply = placement.sample(&request).unwrap_or_else(|error| panic!("{}", error.message));
    match placement.check(1, request.last_index(), false) {
        Ok(reply) if reply.check.passed => {}
        other => panic!("{other:?}"),
    }
    reply
}

/// Returns the counts of an iteration: the exact metrics that are not 0, without those of the heap, because they depend
/// on the libraries that a variant uses.
///
/// # Panics
/// Panics if a sample fails, its result is wrong, or a count has no value.
#[track_caller]
pub fn exact_counts(workload: &Workload, case: &str, variant: &str) -> BTreeMap<String, f64> {
    const ITERATIONS: u64 = 5;
    let readings = sample(&mut place(workload, case, variant), Mode::Metered, ITERATIONS).readings;
    let heap = standard::heap_metrics();
    let is_counted = |metric: &&MetricDef| {
        metric.kind == MetricKind::Exact && heap.iter().all(|heap| heap.id != metric.id)
    };
    let count = |metric: &MetricDef| match readings.get(metric.id.as_str()) {
        Some(Reading::Value(value)) => (metric.id.to_string(), value.0 / ITERATIONS as f64),
        other => panic!("{}: {other:?}", metric.id),
    };
    let counted = workload.definition().metrics.iter().filter(is_counted).map(count);
    counted.filter(|(_, count)| *count != 0.0).collect()
}
