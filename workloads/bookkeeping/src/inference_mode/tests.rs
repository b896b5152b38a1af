//! Tests every mode against the reference, on hostile values too, and its exact counts.

use perfharness_contract::testing::exact_counts;
use proptest::prelude::*;

use super::*;
use crate::inference_mode::chain::ROWS;

/// Runs a mode twice, so that leftovers of the first time show, and returns the result.
fn run<M: Mode>(chain: &Chain, n: u64) -> Vec<f64> {
    let mut mode = M::new(chain.width());
    let mut result = vec![f32::NAN; chain.width()];
    for _ in 0..2 {
        mode.run(chain, n, &mut result);
    }
    result.into_iter().map(f64::from).collect()
}

fn assert_all_agree(chain: &Chain, n: u64) {
    let due = chain.reference(n);
    for (mode, result) in [
        (SLOW, run::<NoGrad>(chain, n)),
        (RECORDING, run::<Recording>(chain, n)),
        (DOCUMENTED, run::<Plain>(chain, n)),
        (OPTIMIZED, run::<Arena>(chain, n)),
    ] {
        let check = Check::compare(&due, &result, Tolerance::Exact);
        assert!(check.passed, "{mode}, {n} operations of {}: {:?}", chain.width(), check.message);
    }
}

#[test]
fn every_mode_computes_chains_of_any_length() {
    // Around the ends of an arena: 4096, 64, 4 and 1 results.
    for width in [1, 63, 64, 1024, 4096, 5000] {
        let results = (arena::bytes(width) / (4 * width)) as u64;
        for n in [0, 1, 2, results - 1, results, results + 1, 2 * results, 2 * results + 1, 3 * results] {
            assert_all_agree(&Chain::pool(7, 0, width)[0], n);
        }
    }
}

fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1.0_f32..1.0,
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(f32::MAX), Just(f32::MIN), Just(f32::MIN_POSITIVE / 2.0)],
        1 => prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY)],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_mode_agrees_with_the_reference_on_any_values(
        start in prop::collection::vec(value(), 1..40),
        values in prop::collection::vec(value(), ROWS * 40),
        signs in any::<[bool; ROWS]>(),
        n in 0..50_u64,
    ) {
        let weights = values[..ROWS * start.len()].to_vec();
        let scales = signs.map(|is_positive| if is_positive { 1.0 } else { -1.0 });
        assert_all_agree(&Chain { start, weights, scales }, n);
    }
}

#[test]
fn the_check_finds_the_result_of_another_input_and_of_one_operation_less() {
    let params = Params { width: 64, n: 1000 };
    let mut placement = Inference::<Arena>::new(&params, &Setup::new(1, "none", "."));
    placement.load(0).unwrap();
    placement.run(2).unwrap();
    assert!(placement.check(2).unwrap().passed);
    assert!(!placement.check(3).unwrap().passed, "the result of another input");
    placement.params.n = 999;
    placement.run(2).unwrap();
    placement.params.n = 1000;
    assert!(!placement.check(2).unwrap().passed, "one operation less");
}

#[test]
fn only_the_modes_with_records_bump_versions() {
    let counts = |variant| exact_counts(&workload(), "v1-n1000", variant);
    for (variant, bumps) in [(SLOW, 1000.0), (RECORDING, 1000.0), (DOCUMENTED, 0.0), (OPTIMIZED, 0.0)] {
        let counts = counts(variant);
        assert_eq!(counts[OPERATIONS], 1000.0, "{variant}");
        assert_eq!(counts.get(VERSION_BUMPS).copied().unwrap_or(0.0), bumps, "{variant}");
    }
}
