//! Tests every variant against the reference, on hostile inputs too, and its exact counts.

use std::collections::BTreeMap;

use perfharness_contract::protocol::Mode;
use perfharness_contract::testing::{exact_counts, place, sample};
use perfharness_gpu::testing::require_adapter;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Creates a placement outside any case, and makes a batch current.
pub(super) fn placed<V: Variant>(params: &Params, batch: Batch) -> Rotation<V> {
    let mut placement = Rotation::<V>::new(params, &Setup::new(1, "auto", ".")).unwrap();
    placement.network.load(&batch).unwrap();
    placement.batch = batch;
    placement
}

fn assert_right<V: Variant>(params: &Params, make: impl Fn(&mut Batch)) {
    assert_still_right(&mut placed::<V>(params, Batch::new(3, 2, params)), make);
}

fn assert_still_right<V: Variant>(placement: &mut Rotation<V>, make: impl Fn(&mut Batch)) {
    let params = placement.params.clone();
    let mut batch = Batch::new(3, 2, &params);
    make(&mut batch);
    placement.network.load(&batch).unwrap();
    placement.batch = batch;
    for index in [0, 1, 1, 3] {
        placement.run(index).unwrap();
        let check = placement.check(index).unwrap();
        assert!(check.passed, "{params:?}, input {index}: {check:?}");
        let (Some(error), Some(tolerance)) = (check.error, check.tolerance) else { panic!("{check:?}") };
        assert!(error.0 < tolerance.0 / 2.0, "{params:?}, input {index}: {check:?}");
    }
}

fn assert_all_right(params: &Params, make: impl Fn(&mut Batch)) {
    assert_right::<AllFirst>(params, &make);
    assert_right::<InTurn>(params, &make);
    assert_right::<Reused>(params, &make);
    if params.vocabulary == 0 {
        assert_right::<Joint>(params, &make);
    }
}

#[test]
fn every_variant_computes_the_losses_of_any_sizes() {
    let Some(_) = require_adapter() else { return };
    for (rows, experts, vocabulary) in [(64, 1, 0), (128, 3, 0), (64, 2, 1), (64, 1, 65), (128, 2, 300)] {
        assert_all_right(&Params::new(rows, experts, vocabulary), |_| {});
    }
    // Three parts of the rows, the last of which is shorter.
    let parts = Params { logit_bytes: 128 * 100 * 4, ..Params::new(320, 2, 100) };
    assert_all_right(&parts, |_| {});
}

/// A shader need not support NaN and infinity, and the losses of larger values leave the range of a float32.
#[test]
fn zeros_constants_and_large_values_have_losses_too() {
    let Some(_) = require_adapter() else { return };
    for vocabulary in [0, 100] {
        let params = Params::new(64, 2, vocabulary);
        for value in [0.0, 1.0, -1.0, f32::MIN_POSITIVE] {
            assert_all_right(&params, |batch| batch.x.fill(value));
        }
        assert_all_right(&params, |batch| {
            batch.biases.iter_mut().for_each(|biases| biases.fill(0.0));
            batch.targets.iter_mut().for_each(|targets| targets.fill(vocabulary.saturating_sub(1) as u32));
        });
    }
    assert_all_right(&Params::new(64, 2, 0), |batch| batch.x.iter_mut().for_each(|x| *x *= 1e15));
}

#[test]
fn every_variant_agrees_with_the_reference_on_drawn_values() {
    let Some(_) = require_adapter() else { return };
    let params = Params::new(64, 2, 100);
    let batch = || Batch::new(3, 2, &params);
    let placements = (
        placed::<AllFirst>(&params, batch()),
        placed::<InTurn>(&params, batch()),
        placed::<Reused>(&params, batch()),
    );
    let placements = std::cell::RefCell::new(placements);
    let value = prop_oneof![-1.0_f32..1.0, Just(0.0), Just(1.0), Just(-1.0)];
    let input = (prop::collection::vec(value, 1..200), 0..100_u32);
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    let ran = TestRunner::new(config).run(&input, |(values, target)| {
        let make = |batch: &mut Batch| {
            batch.x.iter_mut().zip(values.iter().cycle()).for_each(|(x, value)| *x = *value);
            batch.targets.iter_mut().for_each(|targets| targets.fill(target));
        };
        let (slow, documented, optimized) = &mut *placements.borrow_mut();
        assert_still_right(slow, make);
        assert_still_right(documented, make);
        assert_still_right(optimized, make);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn the_joint_backward_pass_has_the_gradient_of_the_mean_loss() {
    let Some(gpu) = require_adapter() else { return };
    drop(gpu);
    let params = Params::new(64, 2, 0);
    let mut placement = placed::<Joint>(&params, Batch::new(3, 2, &params));
    placement.run(1).unwrap();
    for expert in 0..2 {
        let gradient = placement.network.gpu.read::<f32>(&placement.variant.gradients[expert]).unwrap();
        let mut due = vec![0.0; WIDTH * WIDTH];
        for row in 0..params.rows {
            let input = placement.weights.rotated(&placement.batch, 1, expert, row);
            let output = placement.weights.output(&placement.batch, 1, expert, row);
            for (i, x) in input.iter().enumerate() {
                for (j, y) in output.iter().enumerate() {
                    due[i * WIDTH + j] += 2.0 * x * y / (params.rows * WIDTH) as f64;
                }
            }
        }
        let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
        let check = Check::compare(&due, &gradient, TOLERANCE);
        assert!(check.passed, "{check:?}");
    }
}

#[test]
fn the_check_finds_stale_losses() {
    let Some(_) = require_adapter() else { return };
    for vocabulary in [0, 100] {
        let params = Params::new(64, 2, vocabulary);
        let mut placement = placed::<Reused>(&params, Batch::new(3, 2, &params));
        placement.run(2).unwrap();
        assert!(placement.check(2).unwrap().passed);
        assert!(!placement.check(3).unwrap().passed, "the losses of another input");
        placement.load(5).unwrap();
        assert!(!placement.check(2).unwrap().passed, "the losses of another round");
    }
}

#[test]
fn each_variant_makes_exactly_these_buffers_and_dispatches() {
    let Some(_) = require_adapter() else { return };
    let workload = workload();
    // Buffers: rotated inputs, activations or logits, and sizes for each product that is bound.
    for (case, variant, dispatches, submits, buffers, sizes) in [
        ("n64-x4", SLOW, 12, 5, 4, 8),
        ("n64-x4", DOCUMENTED, 12, 4, 4, 8),
        ("n64-x4", JOINT, 16, 5, 8, 8),
        ("n64-x4", OPTIMIZED, 12, 1, 0, 0),
        ("n64-x4-v2048", SLOW, 16, 6, 8, 12),
        ("n64-x4-v2048", DOCUMENTED, 16, 5, 8, 12),
        ("n64-x4-v2048", OPTIMIZED, 16, 1, 0, 0),
    ] {
        let due = [
            (FORWARDS, 4),
            ("dispatches", dispatches),
            ("submits", submits),
            ("buffer-creates", buffers + sizes),
            ("write-buffer-calls", sizes),
            ("write-buffer-bytes", 20 * sizes),
        ];
        let due: BTreeMap<String, f64> = due
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(id, count)| (id.to_owned(), f64::from(count)))
            .collect();
        assert_eq!(exact_counts(&workload, case, variant), due, "{case}, {variant}");
    }
}

#[test]
fn a_generator_holds_one_rotated_input_and_a_joint_backward_pass_all() {
    let Some(_) = require_adapter() else { return };
    let workload = workload();
    let input = 64.0 * 128.0 * 4.0;
    for (variant, inputs) in [(SLOW, 4.0), (DOCUMENTED, 1.0), (JOINT, 4.0), (OPTIMIZED, 1.0)] {
        let readings = sample(&mut place(&workload, "n64-x4", variant), Mode::Metered, 2).readings;
        assert_eq!(readings[held::ROTATED_PEAK].value(), Some(inputs * input), "{variant}");
    }
}
