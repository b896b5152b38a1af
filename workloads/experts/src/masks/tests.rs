//! Tests every variant against the reference, on hostile inputs too, and its exact counts.

use std::collections::BTreeMap;

use perfharness_contract::protocol::Mode;
use perfharness_contract::testing::{exact_counts, place, sample};
use perfharness_gpu::metric;
use perfharness_gpu::testing::require_adapter;
use perfharness_wgsl_check::Checker;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

const SMALL: Params = Params { sequences: 3, positions: 64, experts: 2 };

fn masked(rebuild: Rebuild) -> Masks<Masked> {
    let new = |heads: &Heads, builds| Masked::new(heads, rebuild, builds);
    Masks::new(&SMALL, &Setup::new(1, "auto", "."), new).unwrap()
}

fn in_kernel() -> Masks<InKernel> {
    Masks::new(&SMALL, &Setup::new(1, "auto", "."), |heads, _| InKernel::new(heads)).unwrap()
}

fn assert_right<V: Variant>(placement: &mut Masks<V>, make: impl Fn(usize, &mut Batch)) {
    let mut batches = Batch::pool(3, 2, &SMALL);
    batches.iter_mut().enumerate().for_each(|(at, batch)| make(at, batch));
    placement.heads.load(&batches).unwrap();
    placement.batches = batches;
    for index in [0, 1, 1, 3] {
        placement.run(index).unwrap();
        let check = placement.check(index).unwrap();
        assert!(check.passed, "input {index}: {check:?}");
        assert!(check.error.unwrap().0 < 1e-5, "input {index}: {check:?}");
    }
}

#[test]
fn every_variant_computes_attention_with_any_padding_and_values() {
    let Some(_) = require_adapter() else { return };
    let inputs: [fn(usize, &mut Batch); 6] = [
        |_, _| {},
        |_, batch| batch.padding.fill(0),
        // Around the tiles of keys, up to sequences of padding alone.
        |at, batch| batch.padding = [[1, 15, 16], [17, 31, 63], [64, 0, 64], [47, 48, 49]][at].into(),
        // Equal scores, and values that are constant or large.
        |_, batch| batch.queries.fill(0.0),
        |_, batch| batch.values.fill(1.0),
        // One key takes nearly all of the weight.
        |_, batch| batch.queries.iter_mut().for_each(|q| *q = 10.0 * q.signum()),
    ];
    let mut slow = masked(Rebuild::Expert);
    let mut documented = masked(Rebuild::Batch);
    let mut optimized = in_kernel();
    for make in inputs {
        assert_right(&mut slow, make);
        assert_right(&mut documented, make);
        assert_right(&mut optimized, make);
    }
}

#[test]
fn every_variant_agrees_with_the_reference_on_drawn_padding_and_values() {
    let Some(_) = require_adapter() else { return };
    let placements = (masked(Rebuild::Expert), masked(Rebuild::Batch), in_kernel());
    let placements = std::cell::RefCell::new(placements);
    let value = prop_oneof![-1.0_f32..1.0, Just(0.0), Just(1.0), Just(-1.0)];
    let input = (prop::array::uniform3(0..=64_u32), prop::collection::vec(value, 1..100));
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    let ran = TestRunner::new(config).run(&input, |(padding, values)| {
        let make = |at: usize, batch: &mut Batch| {
            batch.padding = padding.map(|count| (count + 13 * at as u32) % 65).into();
            for of in [&mut batch.queries, &mut batch.keys, &mut batch.values] {
                of.iter_mut().zip(values.iter().cycle()).for_each(|(x, value)| *x = *value);
            }
        };
        let (slow, documented, optimized) = &mut *placements.borrow_mut();
        assert_right(slow, make);
        assert_right(documented, make);
        assert_right(optimized, make);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn a_mask_that_is_kept_by_length_is_right_only_while_the_padding_stays() {
    let Some(_) = require_adapter() else { return };
    assert_right(&mut masked(Rebuild::Length), |_, batch| batch.padding = [5, 20, 40].into());
    let mut placement = masked(Rebuild::Length);
    placement.load(0).unwrap();
    for index in 0..4 {
        placement.run(index).unwrap();
        assert!(!placement.check(index).unwrap().passed, "input {index}");
    }
    let workload = workload();
    let expected = workload.definition().benchmarks.iter().filter(|b| b.expect == OutcomeKind::WrongResult);
    assert_eq!(expected.map(|b| b.variant.as_str()).collect::<Vec<_>>(), [SHIPPED; 3]);
}

#[test]
fn the_check_finds_stale_results() {
    let Some(_) = require_adapter() else { return };
    let mut placement = in_kernel();
    placement.load(0).unwrap();
    placement.run(2).unwrap();
    assert!(placement.check(2).unwrap().passed);
    assert!(!placement.check(3).unwrap().passed, "the results of another input");
    placement.load(1).unwrap();
    assert!(!placement.check(2).unwrap().passed, "the results of another round");
}

#[test]
fn each_variant_builds_exactly_these_masks() {
    let Some(_) = require_adapter() else { return };
    let workload = workload();
    let mask_bytes = 4 * 2 * 128 * 128;
    for (variant, builds, dispatches, copies) in
        [(SLOW, 8, 32, 8), (DOCUMENTED, 2, 26, 8), (OPTIMIZED, 0, 8, 0)]
    {
        let due = [
            (FORWARDS, 8),
            (MASK_BUILDS, builds),
            ("buffer-creates", builds),
            ("dispatches", dispatches),
            ("submits", 8),
            ("device-copies", copies),
            ("device-copy-bytes", copies * mask_bytes),
        ];
        let due: BTreeMap<String, f64> = due
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(id, count)| (id.to_owned(), f64::from(count)))
            .collect();
        assert_eq!(exact_counts(&workload, "b2-s128-x4", variant), due, "{variant}");
    }
}

#[test]
fn without_a_mask_the_peak_lacks_mask_and_scores() {
    let Some(_) = require_adapter() else { return };
    let peak = |variant| {
        let readings = sample(&mut place(&workload(), "b2-s128-x4", variant), Mode::Metered, 2).readings;
        readings[metric::DEVICE_PEAK].value().unwrap()
    };
    let (slow, documented, optimized) = (peak(SLOW), peak(DOCUMENTED), peak(OPTIMIZED));
    // A mask that was dropped counts until the device is done with it; there are four of two sequences in a batch.
    let masks = f64::from(4 * 2 * 128 * 128) * 4.0;
    assert!((documented..documented + masks).contains(&slow), "{slow} and {documented}");
    assert!(documented - optimized >= 2.0 * f64::from(4 * 2 * 128 * 128), "{documented} and {optimized}");
}

#[test]
fn attention_is_right_in_every_order() {
    fn is_right<V: Variant>(mut placement: Masks<V>) {
        placement.load(0).unwrap();
        placement.run(1).unwrap();
        let check = placement.check(1).unwrap();
        assert!(check.passed, "{check:?}");
    }
    Checker::passes(0..1, || {
        is_right(masked(Rebuild::Batch));
        is_right(in_kernel());
    });
}
