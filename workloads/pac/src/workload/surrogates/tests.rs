//! Tests every variant against the definition, its counts, and its check.

use perfharness_contract::protocol::Mode;
use perfharness_contract::testing::{exact_counts, place, sample};
use perfharness_contract::{Check, Measured, Setup, Tolerance};
use perfharness_gpu::testing::require_adapter;
use perfharness_gpu::{Gpu, GpuOptions, metric};
use perfharness_wgsl_check::Checker;

use super::measured::{checked, due};
use super::*;

#[test]
fn checks_get_to_every_pair() {
    assert_eq!(checked(100, 7), (0..100).collect::<Vec<_>>());
    let mut all: Vec<usize> = (0..16).flat_map(|turn| checked(1600, turn)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..1600).collect::<Vec<_>>());
}

#[test]
fn variants_give_the_due_scores_and_copy_for_every_shift_or_once() {
    let workload = surrogates();
    // 10 amplitude signals of 512 samples of 8 bytes.
    let once = 10.0 * 512.0 * 8.0;
    for (variant, copied) in [(SLOW, 200.0 * once), (DOCUMENTED, 200.0 * once), (OPTIMIZED, once)] {
        let mut placed = place(&workload, "small-10x10", variant);
        let readings = sample(&mut placed, Mode::Metered, 1).readings;
        assert_eq!(readings[COPIED_BYTES].value(), Some(copied), "{variant}");
        assert_eq!(readings[INDEXES].value(), Some(100.0 * 200.0), "{variant}");
    }
}

#[test]
fn the_device_gives_the_due_scores_in_four_dispatches_and_one_sync() {
    if require_adapter().is_none() {
        return;
    }
    let mut counts = exact_counts(&surrogates(), "small-10x10", OPTIMIZED_GPU);
    for (id, due) in [
        (INDEXES, 100.0 * 200.0),
        // 10 amplitude signals of 512 samples of 4 bytes, rearranged once.
        (COPIED_BYTES, 10.0 * 512.0 * 4.0),
        (metric::DISPATCHES, 4.0),
        (metric::SUBMITS, 1.0),
        (metric::SYNCS, 1.0),
        (metric::DOWNLOAD_COPIES, 1.0),
        (metric::DOWNLOAD_BYTES, 400.0),
    ] {
        assert_eq!(counts.remove(id), Some(due), "{id}");
    }
    assert!(counts.is_empty(), "{counts:?}");
}

fn setup() -> Setup {
    surrogates().setup(5, "auto", ".")
}

fn lanes(params: &Params, shifts: usize, threads: usize) -> Lanes {
    Lanes::new(params.shape(), params.settings().bins, shifts, threads).unwrap()
}

/// Number of shifts in tests of many inputs: two blocks, and a part of one.
const FEW: usize = 2 * BLOCK + 3;

fn drawn(params: &Params) -> Input {
    let mut input = input::draw(params, 9, 1).unwrap().swap_remove(0);
    input.shifts.truncate(FEW);
    input
}

#[test]
fn a_stale_result_is_found() {
    let params = Params::new(1, 1, BANDS);
    let mut placed = Surrogates::new(lanes(&params, SHIFTS, 1), &params, &setup());
    placed.load(1).unwrap();
    placed.run(0).unwrap();
    assert!(placed.check(0).unwrap().passed);
    assert!(!placed.check(1).unwrap().passed, "the result of another input");
    placed.load(2).unwrap();
    assert!(!placed.check(0).unwrap().passed, "the result of another round");
}

#[test]
fn threads_change_no_bit() {
    let params = Params::new(3, 1, BANDS);
    let input = drawn(&params);
    let scores = |threads| {
        let mut scores = vec![0.0; params.pairs() as usize];
        lanes(&params, FEW, threads).scores(0, &input, &mut scores).unwrap();
        scores
    };
    let alone = scores(1);
    for threads in [2, 3, 7] {
        assert_eq!(scores(threads), alone, "{threads} threads");
    }
}

/// Inputs that a recording can have, and some that it should not.
fn hostile(params: &Params) -> Vec<(&'static str, Input)> {
    let drawn = drawn(params);
    let with = |change: &dyn Fn(usize, &mut f64)| {
        let mut input = drawn.clone();
        for amplitudes in &mut input.amplitudes {
            amplitudes.iter_mut().enumerate().for_each(|(t, amplitude)| change(t, amplitude));
        }
        input
    };
    let mut one_bin = drawn.clone();
    for (bins, counts) in one_bin.bins.iter_mut().zip(&mut one_bin.counts) {
        bins.fill(3);
        counts.fill(0);
        counts[3] = bins.len() as u64;
    }
    let mut ends = drawn.clone();
    let last = drawn.samples() - 1;
    ends.shifts[..4].copy_from_slice(&[1, last, last / 2, 1]);
    vec![
        ("zeros", with(&|_, a| *a = 0.0)),
        ("zeros but one", with(&|t, a| *a = if t == 9 { 1.0 } else { 0.0 })),
        ("a spike", with(&|t, a| *a *= if t == 100 { 1e3 } else { 1.0 })),
        ("very small", with(&|_, a| *a *= 1e-25)),
        ("very large", with(&|_, a| *a *= 1e30)),
        ("one bin", one_bin),
        ("shifts to the ends", ends),
        ("as drawn", drawn),
    ]
}

/// Inputs beyond the range of f32, and amplitudes that are not numbers; a recording with such a sample is refused before.
fn beyond_f32(params: &Params) -> Vec<(&'static str, Input)> {
    let with = |change: &dyn Fn(usize, &mut f64)| {
        let mut input = drawn(params);
        for amplitudes in &mut input.amplitudes {
            amplitudes.iter_mut().enumerate().for_each(|(t, amplitude)| change(t, amplitude));
        }
        input
    };
    vec![
        ("as small as f64 allows", with(&|_, a| *a *= 1e-290)),
        ("as large as f64 allows", with(&|_, a| *a *= 1e300)),
        ("sums that overflow", with(&|_, a| *a *= 1e307)),
        ("a sample that is NaN", with(&|t, a| *a = if t == 5 { f64::NAN } else { *a })),
        ("a sample that is infinite", with(&|t, a| *a = if t == 5 { f64::INFINITY } else { *a })),
    ]
}

fn assert_due(what: &str, params: &Params, input: &Input, score: &mut dyn Score) {
    let all: Vec<usize> = (0..params.pairs() as usize).collect();
    let mut scores = vec![7.0; all.len()];
    score.scores(0, input, &mut scores).unwrap();
    let check = Check::compare(&due(input, &all), &scores, Tolerance::Relative(score.tolerance()));
    assert!(check.passed, "{what}: {:?}", check.message);
}

#[test]
fn hostile_inputs_have_the_due_scores_on_the_cpu() {
    let params = Params::new(1, 1, BANDS);
    for (what, input) in hostile(&params).into_iter().chain(beyond_f32(&params)) {
        assert_due(&format!("{what}, {SLOW}"), &params, &input, &mut KeepAll);
        assert_due(&format!("{what}, {DOCUMENTED}"), &params, &input, &mut Streamed);
        assert_due(&format!("{what}, {OPTIMIZED}"), &params, &input, &mut lanes(&params, FEW, 2));
    }
}

#[test]
fn hostile_inputs_have_the_due_scores_on_the_device() {
    let Some(gpu) = require_adapter() else { return };
    for params in [Params::new(1, 1, BANDS), Params::new(3, 1, BANDS)] {
        let mut device = Device::on(&gpu, params.shape(), params.settings().bins, FEW).unwrap();
        for (what, input) in hostile(&params) {
            device.load(std::slice::from_ref(&input)).unwrap();
            assert_due(what, &params, &input, &mut device);
        }
    }
}

#[test]
fn scores_are_right_in_every_order() {
    let params = Params::new(1, 1, BANDS);
    let mut input = drawn(&params);
    // A block of shifts, and a part of one.
    input.shifts.truncate(BLOCK + 1);
    let report = Checker::passes(0..1, || {
        let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
        let shifts = input.shifts.len();
        let mut device = Device::on(&gpu, params.shape(), params.settings().bins, shifts).unwrap();
        device.load(std::slice::from_ref(&input)).unwrap();
        assert_due("random orders", &params, &input, &mut device);
    });
    assert!(report.dispatches.contains_key("shifts"), "{:?}", report.dispatches);
}
