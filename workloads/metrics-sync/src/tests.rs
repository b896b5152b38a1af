//! Tests the variants against each other, against the check, and against the counts of the document.

use std::collections::BTreeMap;

use perfharness_contract::protocol::Mode;
use perfharness_contract::testing::{place, sample};
use perfharness_contract::{Effort, OutcomeKind, Promise};
use perfharness_gpu::GpuOptions;
use perfharness_gpu::testing::{require_adapter, require_adapter_with};

use crate::batch::{Batch, SCALARS};
use crate::history::History;
use crate::{DOCUMENTED, LAZY_ONLY, OPTIMIZED, SHIPPED, SLOW, workload};
use support::{SEED, benches, counts, of_steps};

mod orders;
mod support;

const LENGTHS: [u64; 6] = [1, 49, 50, 51, 100, 120];

#[test]
fn all_variants_deliver_the_same_history_however_long_the_loop_is() {
    let Some(gpu) = require_adapter() else { return };
    for steps in LENGTHS {
        for seed in [1, SEED] {
            let mut benches = benches(&gpu, steps, seed);
            for (round, index) in [(0, 0), (0, 1), (0, 1), (1, 0), (9, 1_000_002)] {
                let checks = benches.each_mut().map(|(_, bench)| {
                    bench.load(round).unwrap();
                    bench.checked(index)
                });
                assert!(checks[0].passed, "{steps} steps: {:?}", checks[0]);
                assert!(checks[0].input.is_some() && checks[0].output.is_some());
                for (check, (variant, _)) in checks.iter().zip(&benches) {
                    assert_eq!(*check, checks[0], "{variant}, {steps} steps");
                }
            }
        }
    }
}

#[test]
fn iterations_that_are_not_fenced_do_not_mix() {
    let Some(gpu) = require_adapter() else { return };
    for (variant, mut bench) in benches(&gpu, 120, SEED) {
        for index in 0..7 {
            bench.run(index).unwrap();
        }
        assert!(bench.check(6).unwrap().passed, "{variant}");
    }
}

#[test]
fn adapters_that_lack_something_will_do() {
    let without_timestamps = GpuOptions { hide_timestamps: true, ..GpuOptions::default() };
    let small_bindings = GpuOptions { max_binding_bytes: Some(16 << 20), ..GpuOptions::default() };
    for options in [without_timestamps, small_bindings] {
        let Some(gpu) = require_adapter_with(&options) else { return };
        for (variant, mut bench) in benches(&gpu, 51, SEED) {
            assert!(bench.checked(2).passed, "{variant}, {options:?}");
        }
    }
}

#[test]
fn float32_takes_less_than_half_of_the_tolerance() {
    let Some(gpu) = require_adapter() else { return };
    for seed in 0..10 {
        let [.., (_, mut optimized)] = benches(&gpu, 500, seed);
        let check = optimized.checked(seed);
        let (Some(error), Some(tolerance)) = (check.error, check.tolerance) else { panic!("{check:?}") };
        assert!(error.0 < tolerance.0 / 2.0, "{check:?}");
    }
}

/// A mistake of a variant, applied to a history.
type Mistake = fn(&mut History);

#[test]
fn the_check_finds_a_history_that_is_wrong() {
    let Some(gpu) = require_adapter() else { return };
    let mistakes: [(&str, Mistake); 9] = [
        ("nothing", |history| history.clear()),
        ("a lost step", |history| {
            for values in &mut history.scalars {
                values.remove(17);
            }
        }),
        ("a lost last value", |history| history.scalars[2].truncate(59)),
        ("a repeated step", |history| {
            history.scalars.iter_mut().for_each(|values| values.insert(17, values[17]));
        }),
        ("swapped steps", |history| history.scalars.iter_mut().for_each(|values| values.swap(17, 18))),
        ("swapped scalars", |history| history.scalars.swap(0, 1)),
        ("a stale step", |history| history.scalars.iter_mut().for_each(|values| values[50] = values[0])),
        ("a changed value", |history| history.scalars[1][59] *= 1.000_01),
        ("no number", |history| history.scalars[0][33] = f32::NAN),
    ];
    for (variant, mut bench) in benches(&gpu, 60, SEED) {
        for (what, mistake) in mistakes {
            assert!(bench.checked(3).passed);
            mistake(bench.history());
            assert!(!bench.check(3).unwrap().passed, "{variant}: {what}");
        }
        assert!(bench.checked(3).passed);
        assert!(!bench.check(4).unwrap().passed, "{variant}: the history of another batch");
    }
}

#[test]
fn every_step_differs_from_the_steps_that_it_could_be_taken_for() {
    let [batch, ..] = Batch::pool(SEED, 0);
    let scalars: Vec<[f64; SCALARS]> = (0..300).map(|step| batch.scalars(step)).collect();
    // One step off, one display off, and one step of another display.
    for apart in [1, 49, 50, 51, 100] {
        for (a, b) in scalars.iter().zip(&scalars[apart..]) {
            let smallest = a.iter().zip(b).map(|(a, b)| (a - b).abs() / b).fold(f64::INFINITY, f64::min);
            assert!(smallest > 1e-4, "{apart} apart: {a:?} and {b:?}");
        }
    }
}

#[test]
fn batches_differ_with_seed_round_and_index() {
    let digest = |seed, round, at: usize| Batch::pool(seed, round)[at].digest();
    assert_eq!(digest(1, 2, 3), digest(1, 2, 3));
    for other in [digest(2, 2, 3), digest(1, 3, 3), digest(1, 2, 2)] {
        assert_ne!(other, digest(1, 2, 3));
    }
}

fn expected<const N: usize>(figures: [(&str, u64); N]) -> BTreeMap<String, f64> {
    figures.map(|(metric, value)| (metric.to_owned(), value as f64)).into()
}

/// Counts that are not named here, such as uploads and buffers, are 0.
#[test]
fn each_variant_takes_exactly_these_syncs_copies_and_submits() {
    let Some(_) = require_adapter() else { return };
    for steps in LENGTHS {
        let displays = steps.div_ceil(50);
        let of_variant = |reads, bytes, read_submits| {
            expected([
                ("syncs", reads),
                ("download-copies", reads),
                ("download-bytes", bytes),
                ("submits", steps + read_submits),
                ("dispatches", steps),
                ("values", 3 * steps),
            ])
        };
        let every_step = of_variant(3 * steps, 12 * steps, 3 * steps);
        assert_eq!(counts(steps, SLOW), every_step, "{steps} steps");
        assert_eq!(counts(steps, LAZY_ONLY), of_variant(steps, 12 * steps, steps), "{steps} steps");
        let twice = of_variant(6 * steps, 24 * steps, 6 * steps);
        assert_eq!(counts(steps, SHIPPED), twice, "{steps} steps");
        let at_displays = of_variant(3 * displays, 12 * steps, 3 * displays);
        assert_eq!(counts(steps, DOCUMENTED), at_displays, "{steps} steps");
        // The whole block of the last display is copied, however few steps it has.
        assert_eq!(counts(steps, OPTIMIZED), of_variant(displays, 600 * displays, 0), "{steps} steps");
    }
}

#[test]
fn counts_are_the_same_in_every_iteration_and_timed_samples_count_nothing() {
    let Some(_) = require_adapter() else { return };
    for variant in [SLOW, LAZY_ONLY, DOCUMENTED, SHIPPED, OPTIMIZED] {
        let mut placement = place(&of_steps(60), "case", variant);
        assert!(sample(&mut placement, Mode::Timed, 2).readings.is_empty());
        for iterations in [1, 4] {
            let readings = sample(&mut placement, Mode::Metered, iterations).readings;
            for (metric, one) in counts(60, variant) {
                assert_eq!(readings[&metric].value(), Some(one * iterations as f64), "{variant}: {metric}");
            }
        }
    }
}

#[test]
fn the_document_saves_147_of_150_syncs_and_its_program_adds_150() {
    let Some(_) = require_adapter() else { return };
    let syncs = |variant| counts(50, variant)["syncs"];
    let claims = workload().definition().claims.clone();
    let promised = |id: &str| match claims.iter().find(|claim| claim.id == *id).unwrap().promise {
        Promise::Saving { at_least, .. } => at_least,
        ref other => panic!("{id}: {other:?}"),
    };
    assert_eq!(syncs(SLOW) - syncs(DOCUMENTED), promised("fewer-syncs"));
    assert_eq!(syncs(SHIPPED) - syncs(SLOW), 150.0);
    // Each section has its part, and neither saves all that section 2 promises.
    assert_eq!(syncs(SLOW) - syncs(LAZY_ONLY), 100.0);
    assert_eq!(syncs(LAZY_ONLY) - syncs(DOCUMENTED), 47.0);
    assert_eq!(promised("fewer-syncs-lazy-only"), 150.0);
}

#[test]
fn the_definition_is_about_a_gpu_and_says_what_a_late_read_hides() {
    let workload = workload();
    let definition = workload.definition();
    assert!(definition.variants.iter().all(|variant| variant.needs == ["gpu"]));
    let late: Vec<_> =
        definition.variants.iter().filter(|v| v.caveat.is_some()).map(|v| v.id.as_str()).collect();
    assert_eq!(late, [DOCUMENTED, OPTIMIZED]);
    assert!(definition.benchmarks.iter().all(|b| b.memory_bytes.is_some() && b.expect == OutcomeKind::Ok));
    let quick: Vec<_> =
        definition.cases.iter().filter(|case| case.efforts.contains(&Effort::Quick)).collect();
    assert!(definition.claims.iter().all(|claim| claim.cases == [quick[0].id.clone()]));
}

#[test]
fn a_floor_has_only_the_wait_that_no_step_can_overlap() {
    for case in &workload().definition().cases {
        assert_eq!(case.floor.unwrap().syncs, 1.0, "{}", case.id);
    }
}
