//! Tests of `attention`.

use perfharness_contract::Case;
use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::attention::kernels::{Build, documented, optimized, slow};
use crate::attention::{Layer, Params, define};

const BUILDS: [(&str, Build); 3] = [(SLOW, slow), (DOCUMENTED, documented), (OPTIMIZED, optimized)];

fn params(batch: u32, heads: u32, positions: u32) -> Params {
    Params { batch, heads, positions }
}

#[test]
fn every_variant_is_right_and_a_stale_result_is_found() {
    if require_adapter().is_none() {
        return;
    }
    for params in [params(1, 1, 1), params(2, 2, 65), params(1, 1, 130)] {
        for (variant, build) in BUILDS {
            let mut bench = Layer::new(&params, &setup(7), build).unwrap();
            right_and_never_stale(&mut bench, &format!("{variant}, {params:?}"));
        }
    }
}

#[test]
fn equal_vanishing_and_large_inputs_are_right() {
    if require_adapter().is_none() {
        return;
    }
    for (variant, build) in BUILDS {
        let mut bench = Layer::new(&params(1, 1, 80), &setup(7), build).unwrap();
        bench.load(1).unwrap();
        for values in &mut bench.pool[0] {
            values.fill(0.0);
        }
        for values in &mut bench.pool[1] {
            values.fill(-1.0);
        }
        // One key decides each row: the other weights are 0 in single and next to 0 in double precision.
        for (i, value) in bench.pool[2][1].iter_mut().enumerate() {
            *value = if i / 64 == 40 { 30.0 } else { -1e-30 };
        }
        bench.upload().unwrap();
        for index in 0..3 {
            bench.run(index).unwrap();
            let check = bench.check(index).unwrap();
            assert!(check.passed && check.nan_count == Some(0), "{variant}, input {index}: {check:?}");
        }
    }
}

#[test]
fn each_variant_takes_exactly_these_dispatches_and_tiles() {
    if require_adapter().is_none() {
        return;
    }
    let workload = define(vec![Case::new("case", params(1, 2, 512))]).build();
    let of_variant = |dispatches| due([("queries", 1024), ("submits", 1), ("dispatches", dispatches)]);
    assert_eq!(counts(&workload, SLOW), of_variant(3));
    let tiled = |tiles| of_variant(1).into_iter().chain(due([("tiles", tiles)])).collect();
    assert_eq!(counts(&workload, DOCUMENTED), tiled(2 * 8 * 32));
    assert_eq!(counts(&workload, OPTIMIZED), tiled(2 * (4 + 8 + 12 + 16 + 20 + 24 + 28 + 32)));
}

#[test]
fn scores_of_as_many_heads_are_kept_as_every_adapter_can_bind() {
    let at_once = |batch, heads, positions| params(batch, heads, positions).parts_at_once();
    assert_eq!(at_once(1, 2, 512), 2);
    assert_eq!(at_once(1, 8, 2048), 8, "exactly 128 MiB");
    assert_eq!(at_once(4, 8, 2048), 8);
    assert_eq!(at_once(1, 8, 4096), 2);
}

#[test]
fn the_scores_of_slow_are_its_memory() {
    if require_adapter().is_none() {
        return;
    }
    let workload = define(vec![Case::new("case", params(1, 2, 512))]).build();
    let peak = |variant| metered(&workload, "case", variant)["device-peak"].value().unwrap();
    // Uniform buffers of the shapes differ by some bytes.
    let scores = f64::from(4 * 2 * 512 * 512);
    assert!((peak(SLOW) - peak(DOCUMENTED) - scores).abs() < 256.0);
    assert_eq!(peak(DOCUMENTED), peak(OPTIMIZED));
}
