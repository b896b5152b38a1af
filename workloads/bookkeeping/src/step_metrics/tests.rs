//! Tests every variant against the reference, on hostile weights too, and its exact counts.

use std::collections::BTreeMap;

use perfharness_contract::testing::exact_counts;
use perfharness_gpu::testing::require_adapter;

use super::*;

/// Runs a variant on experts, and returns the largest deviation from the reference, or the message of a wrong result.
fn run<D: Delivery>(
    steps: u64,
    pool: Vec<Experts>,
    new: impl FnOnce(&Gpu) -> Result<D, GpuError>,
) -> Vec<Check> {
    let mut placement = Loop::new(&Params { steps }, &Setup::new(1, "auto", "."), new).unwrap();
    placement.training.load(&pool).unwrap();
    placement.pool = pool;
    let check = |index| {
        placement.run(index).unwrap();
        placement.check(index).unwrap()
    };
    [0, 1, 2, 3, 1].map(check).into()
}

fn all(steps: u64, pool: impl Fn() -> Vec<Experts>) -> [(&'static str, Vec<Check>); 4] {
    [
        (SLOW, run(steps, pool(), |gpu| Items::new(gpu, ALWAYS))),
        (DOCUMENTED, run(steps, pool(), |gpu| Items::new(gpu, AS_DUE))),
        (SHIPPED, run(steps, pool(), |gpu| Items::new(gpu, AS_SHIPPED))),
        (OPTIMIZED, run(steps, pool(), Late::new)),
    ]
}

#[test]
fn every_variant_delivers_the_metrics_of_loops_of_any_length() {
    let Some(_) = require_adapter() else { return };
    for steps in [0, 1, 10, 11, 25] {
        for (variant, checks) in all(steps, || Experts::pool(7, 3)) {
            for check in checks {
                assert!(check.passed, "{variant}, {steps} steps: {check:?}");
                assert!(check.error.unwrap().0 < 5e-5, "{variant}, {steps} steps: {check:?}");
            }
        }
    }
}

/// Experts whose weights and momentum follow a rule of the expert and the position.
fn ruled(rule: fn(usize, usize) -> f32) -> Experts {
    let [mut experts, ..] = <[Experts; 4]>::try_from(Experts::pool(1, 0)).unwrap();
    for e in 0..EXPERTS {
        for i in 0..LENGTH {
            experts.weights[e * LENGTH + i] = rule(e, i);
            experts.momentum[e * LENGTH + i] = rule(e, LENGTH - 1 - i);
        }
    }
    experts
}

#[test]
fn zeros_constants_and_extremes_have_metrics_too() {
    let Some(_) = require_adapter() else { return };
    let pool = || {
        vec![
            // Without weights every pair is at a right angle, by definition, and the loads are equal.
            ruled(|_, _| 0.0),
            // At right angles, and with one expert that has no weights.
            ruled(|e, i| f32::from(e > 0 && i % EXPERTS == e)),
            // The largest and the smallest weights whose squares a float32 holds.
            ruled(|e, i| if (i + e) % 3 == 0 { 1e16 } else { -1e16 * (e as f32 + 1.0) / 8.0 }),
            ruled(|e, i| if (i * (e + 1)) % 5 == 0 { 1e-16 } else { 3e-17 }),
        ]
    };
    for (variant, checks) in all(11, pool) {
        for (index, check) in checks.into_iter().enumerate() {
            assert!(check.passed, "{variant}, {index}: {check:?}");
        }
    }
}

#[test]
fn experts_that_agree_have_cosine_one() {
    let Some(_) = require_adapter() else { return };
    let pool = || (0..4).map(|_| ruled(|_, i| i as f32 / LENGTH as f32)).collect();
    for (variant, checks) in all(1, pool) {
        // The angle is the root of twice the deviation of the cosine from 1: 1e-3 for 5e-7.
        assert!(checks[0].error.unwrap().0 < 1e-3, "{variant}: {checks:?}");
    }
}

#[test]
fn steps_that_could_be_confused_differ() {
    let experts = &Experts::pool(1, 0)[0];
    let metrics: Vec<_> = (0..30).map(|ten| experts.metrics(10 * ten)).collect();
    for (i, a) in metrics.iter().enumerate() {
        for b in &metrics[i + 1..] {
            let largest = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest > 1e-3, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn the_check_finds_stale_and_lost_metrics() {
    let Some(_) = require_adapter() else { return };
    let mut placement = Loop::new(&Params { steps: 25 }, &Setup::new(1, "auto", "."), Late::new).unwrap();
    placement.load(0).unwrap();
    placement.run(2).unwrap();
    assert!(placement.check(2).unwrap().passed);
    assert!(!placement.check(3).unwrap().passed, "the metrics of another input");
    let last = placement.history.len() - 1;
    placement.history[last] = placement.history[0];
    assert!(!placement.check(2).unwrap().passed, "the metrics of another step");
    placement.history.pop();
    assert!(!placement.check(2).unwrap().passed, "a lost step");
}

#[test]
fn each_variant_takes_exactly_these_computations_and_syncs() {
    let Some(_) = require_adapter() else { return };
    let workload = workload();
    for (case, steps) in [("s20", 20), ("s100", 100)] {
        let due = steps / 10;
        for (variant, computations, reads, read_bytes, read_submits) in [
            (SLOW, steps, 3 * steps, 4, 3 * steps),
            (DOCUMENTED, due, 3 * due, 4, 3 * due),
            (SHIPPED, due, 3 * due + 6 * steps, 4, 3 * due + 6 * steps),
            (OPTIMIZED, due, due, 12, 0),
        ] {
            let counts = [
                (COMPUTATIONS, computations),
                ("dispatches", steps + 2 * computations),
                ("syncs", reads),
                ("download-copies", reads),
                ("download-bytes", read_bytes * reads),
                ("submits", steps + read_submits),
                ("device-copies", 2),
                ("device-copy-bytes", 2 * 4 * (EXPERTS * LENGTH) as u64),
                (VALUES, 3 * due),
            ];
            let counts: BTreeMap<String, f64> =
                counts.map(|(id, count)| (id.to_owned(), count as f64)).into();
            assert_eq!(exact_counts(&workload, case, variant), counts, "{case}, {variant}");
        }
    }
}
