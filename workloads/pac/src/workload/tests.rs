//! Every variant against the definition, its counts, and its limits.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{Failure, Placement};
use perfharness_gpu::metric;
use perfharness_gpu::testing::require_adapter;

use super::*;

const VARIANTS: [&str; 4] = [SLOW, DOCUMENTED, OPTIMIZED_CPU, OPTIMIZED_CPU_F64];

fn place(case: &str, variant: &str) -> Result<Placement, Failure> {
    let workload = workload();
    let setup = workload.setup(1, "auto", ".");
    Placement::prepare(&workload, &case.parse().unwrap(), &variant.parse().unwrap(), setup)
}

fn counted(case: &str, variant: &str) -> BTreeMap<String, f64> {
    let mut placement = place(case, variant).unwrap();
    let request =
        SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in: 2, iterations: 3 };
    let readings = placement.sample(&request).unwrap().readings;
    let check = placement.check(1, request.last_index(), false).unwrap().check;
    assert!(check.passed, "{variant}: {:?}", check.message);
    readings.iter().filter_map(|(id, reading)| Some((id.clone(), reading.value()?))).collect()
}

#[test]
fn every_variant_is_right_and_does_the_same_work() {
    for variant in VARIANTS {
        let counts = counted("small-10x10", variant);
        assert_eq!((counts["pairs"], counts["samples"]), (300.0, 1536.0), "{variant}");
    }
}

#[test]
fn the_device_is_right_and_does_the_same_work() {
    if require_adapter().is_none() {
        return;
    }
    let counts = counted("small-10x10", OPTIMIZED);
    assert_eq!((counts["pairs"], counts["samples"]), (300.0, 1536.0));
    assert_eq!((counts[metric::SYNCS], counts[metric::UPLOAD_BYTES]), (3.0, 0.0));
    assert_eq!(counts[metric::DOWNLOAD_BYTES], 3.0 * 100.0 * 4.0);
    assert_eq!(counts["copied-bytes"], 3.0 * 10.0 * 512.0 * 8.0);
}

#[test]
fn copies_are_counted() {
    let copied = |variant| counted("small-10x10", variant)["copied-bytes"] / 3.0;
    // 20 bands: the signal, and four copies of it, three of which are extended by 170 samples at both ends.
    assert_eq!(copied(SLOW), 20.0 * 4.0 * f64::from(2 * 512 + 3 * (512 + 2 * 170)));
    // 100 pairs: a number of 8 bytes and an amplitude of 4 for each sample.
    assert_eq!(copied(DOCUMENTED), 100.0 * 512.0 * 12.0);
    // 10 pairs of bands: two filtered signals each. 10 amplitude bands: one row.
    assert_eq!(copied(OPTIMIZED_CPU), 4.0 * 512.0 * (20.0 + 10.0));
    assert_eq!(copied(OPTIMIZED_CPU_F64), 8.0 * 512.0 * (20.0 + 10.0));
}

#[test]
fn an_index_that_is_wrong_is_found() {
    let params = Params { channels: 1, seconds: 1, bands: 2 };
    let (settings, shape) = (params.settings(), params.shape());
    let mut signals = signal::Signals::new(&params, 1);
    signals.load(1);
    let x = &signals.pool[0];
    let mut index = vec![0.0; 4];
    crate::Plan::new(&settings, shape, 1).unwrap().index(x, &mut index).unwrap();
    let passes = |index: &[f64]| check::check(&settings, shape, x, index, 2e-6).unwrap().passed;
    assert!(passes(&index));
    assert!(!passes(&index[1..]));
    for off in [1e-5, -1e-3, f64::NAN] {
        let mut wrong = index.clone();
        wrong[2] += off;
        assert!(!passes(&wrong), "{off}");
    }
    assert!(
        !check::check(&settings, shape, &signals.pool[1], &index, 2e-6).unwrap().passed,
        "a stale result"
    );
}

#[test]
fn a_tensor_beyond_the_budget_is_refused_with_both_sizes_and_declared() {
    let workload = workload();
    for (case, bytes) in [("large-16x16", "9059696640"), ("large-30x30", "31850496000")] {
        let Err(Failure::OutOfMemory(reason)) = place(case, SLOW) else { panic!("{case} was taken on") };
        assert!(reason.contains(bytes) && reason.contains("4294967296"), "{reason}");
        let benchmark = workload.definition().benchmark(&case.parse().unwrap(), &SLOW.parse().unwrap());
        assert_eq!(benchmark.expect, OutcomeKind::OutOfMemory);
    }
    let fits = workload.definition().benchmark(&"large-10x10".parse().unwrap(), &SLOW.parse().unwrap());
    assert_eq!(fits.expect, OutcomeKind::Ok);
    assert!(fits.memory_bytes.unwrap() > 3_538_944_000);
}

#[test]
fn inputs_differ_and_are_made_again() {
    let params = Params { channels: 2, seconds: 1, bands: 10 };
    let pool = |round| {
        let mut signals = signal::Signals::new(&params, 3);
        signals.load(round);
        signals.pool
    };
    assert_eq!(pool(1), pool(1));
    assert_ne!(pool(1), pool(2));
    assert_ne!(pool(1)[0], pool(1)[1]);
}
