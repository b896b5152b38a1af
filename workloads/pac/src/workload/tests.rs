//! Tests every variant against the definition, its counts, and its limits.

mod documents;

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
    // 100 indexes, and the position and bits of a non-finite sample.
    assert_eq!(counts[metric::DOWNLOAD_BYTES], 3.0 * 102.0 * 4.0);
    // All phase bands at once, and all amplitude bands.
    assert_eq!(counts["chunks"], 3.0 * 2.0);
    assert_eq!(counts["copied-bytes"], 3.0 * 10.0 * 512.0 * 8.0);
}

#[test]
fn copies_are_counted() {
    let copied = |variant| counted("small-10x10", variant)["copied-bytes"] / 3.0;
    // The signal, and the signal with 170 more samples at both ends.
    let (n, extended) = (512.0, 512.0 + 2.0 * 170.0);
    // Each of 20 bands is cloned, put between its ends, cut out again and made complex; with its ends it is cloned,
    // filtered twice (as a complex signal and back), and flipped and cloned twice.
    assert_eq!(
        copied(SLOW),
        20.0 * ((4.0 + 4.0 + 4.0 + 8.0) * n + (4.0 + 2.0 * 12.0 + 4.0 * 4.0) * extended)
    );
    // Each of 20 bands is put between its ends, turned around with them, and cut out, always as complex numbers.
    assert_eq!(copied(DOCUMENTED), 20.0 * 8.0 * (n + extended + n));
    // 10 pairs of bands: two filtered signals each. 10 amplitude bands: one row.
    assert_eq!(copied(OPTIMIZED_CPU), 4.0 * 512.0 * (20.0 + 10.0));
    assert_eq!(copied(OPTIMIZED_CPU_F64), 8.0 * 512.0 * (20.0 + 10.0));
}

#[test]
fn the_tensor_and_the_chunks_are_told() {
    let slow = counted("small-10x10", SLOW);
    assert_eq!((slow["tensor-bytes"], slow["chunks"]), (3.0 * 3_686_400.0, 3.0));
    let documented = counted("small-10x10", DOCUMENTED);
    // 10 signals of amplitude bands, up to 16 at a time.
    assert_eq!((documented["tensor-bytes"], documented["chunks"]), (0.0, 3.0));
}

#[test]
fn an_index_that_is_wrong_is_found() {
    let params = Params::new(1, 1, 2);
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
fn a_stale_result_of_any_variant_is_found() {
    let has_adapter = require_adapter().is_some();
    let workload = workload();
    for variant in &workload.definition().variants {
        if !has_adapter && !variant.needs.is_empty() {
            continue;
        }
        let setup = workload.setup(1, "auto", ".");
        let mut measured = workload.construct(&"small-10x10".parse().unwrap(), &variant.id, &setup).unwrap();
        measured.load(1).unwrap();
        measured.run(0).unwrap();
        assert!(measured.check(0).unwrap().passed, "{}", variant.id);
        assert!(!measured.check(1).unwrap().passed, "{}: the result of another input", variant.id);
        measured.load(2).unwrap();
        assert!(!measured.check(0).unwrap().passed, "{}: the result of another round", variant.id);
    }
}

#[test]
fn a_tensor_beyond_the_budget_is_refused_with_both_sizes_and_declared() {
    let workload = workload();
    for (case, bytes) in
        [("large-16x16", "9059696640"), ("large-30x30", "31850496000"), ("large-16x16-b64mb", "9059696640")]
    {
        let Err(Failure::OutOfMemory(reason)) = place(case, SLOW) else { panic!("{case} was taken on") };
        assert!(reason.contains(bytes) && reason.contains("budget is"), "{reason}");
        let benchmark = workload.definition().benchmark(&case.parse().unwrap(), &SLOW.parse().unwrap());
        assert_eq!(benchmark.expect, OutcomeKind::OutOfMemory);
    }
    let settings = [("pac-budget".to_owned(), "1MiB".to_owned())].into();
    let setup = workload.setup(1, "auto", ".").with_settings(settings);
    let (case, variant) = ("small-10x10".parse().unwrap(), SLOW.parse().unwrap());
    let Err(Failure::OutOfMemory(reason)) = Placement::prepare(&workload, &case, &variant, setup) else {
        panic!("it was taken on")
    };
    assert!(reason.contains("3686400") && reason.contains("1048576"), "{reason}");
    assert!(reason.ends_with("as pac-budget is set"), "{reason}");
    let fits = workload.definition().benchmark(&"large-10x10".parse().unwrap(), &SLOW.parse().unwrap());
    assert_eq!(fits.expect, OutcomeKind::Ok);
    assert!(fits.memory_bytes.unwrap() > 3_538_944_000);
}

#[test]
fn inputs_differ_and_are_made_again() {
    let params = Params::new(2, 1, 10);
    let pool = |round| {
        let mut signals = signal::Signals::new(&params, 3);
        signals.load(round);
        signals.pool
    };
    assert_eq!(pool(1), pool(1));
    assert_ne!(pool(1), pool(2));
    assert_ne!(pool(1)[0], pool(1)[1]);
}
