//! Tests of the GPU against the definition. All of them need an adapter.

use perfharness_contract::Failure;
use perfharness_gpu::testing::{require_adapter, require_adapter_with};
use perfharness_gpu::{Gpu, GpuOptions, metric};

use super::edges::{noise, settings, usual};
use super::golden::{CASES, Golden, assert_close};
use crate::{Band, GpuPlan, Normalisation, Settings, Shape, oracle};

/// Allowed deviation of an index in f32.
pub(super) const TOLERANCE: f64 = 2e-6;

pub(super) fn on_gpu(gpu: &Gpu, settings: &Settings, shape: Shape, x: &[f32], budget: u64) -> Vec<f64> {
    let input = gpu.upload("x", x).unwrap();
    let mut index = vec![-1.0; settings.indexes(shape.channels)];
    let mut plan = GpuPlan::new(gpu, settings, shape, &[input], budget).unwrap();
    plan.index(0, &mut index).unwrap();
    index
}

#[test]
fn the_golden_signals_have_the_textbook_index_whatever_the_budget() {
    let Some(gpu) = require_adapter() else { return };
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Textbook);
        let due = golden.oracle().index;
        for budget in budgets(&gpu, &golden) {
            let index = on_gpu(&gpu, &golden.settings, golden.shape, &golden.x, budget);
            assert_close(&format!("{case}, {budget} bytes"), &index, &due, TOLERANCE);
        }
    }
}

#[test]
fn the_golden_indexes_and_their_nans_come_out_whatever_the_budget() {
    let Some(gpu) = require_adapter() else { return };
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let due = golden.file::<f64>("mi.npy");
        for budget in budgets(&gpu, &golden) {
            let index = on_gpu(&gpu, &golden.settings, golden.shape, &golden.x, budget);
            assert_close(&format!("{case}, {budget} bytes"), &index, &due, TOLERANCE);
        }
    }
}

/// Returns the smallest budget of a case, a slightly larger one, and an ample one.
fn budgets(gpu: &Gpu, golden: &Golden) -> [u64; 3] {
    let refused = GpuPlan::new(gpu, &golden.settings, golden.shape, &[], 1);
    let Err(Failure::OutOfMemory(told)) = refused else { panic!("one byte was enough") };
    let least = told.split_whitespace().find_map(|word| word.parse::<u64>().ok()).unwrap();
    [least, least + 100_000, 64 << 20]
}

#[test]
fn all_that_is_on_the_device_obeys_the_budget() {
    let Some(gpu) = require_adapter() else { return };
    let golden = Golden::open("medium", Normalisation::Tensorpac);
    let input = gpu.upload("x", &golden.x).unwrap();
    let before = gpu.live_bytes();
    let mut chunks = Vec::new();
    for budget in budgets(&gpu, &golden) {
        let mut plan =
            GpuPlan::new(&gpu, &golden.settings, golden.shape, std::slice::from_ref(&input), budget).unwrap();
        plan.index(0, &mut vec![0.0; golden.settings.indexes(golden.shape.channels)]).unwrap();
        let held = gpu.live_bytes() - before;
        assert!(held <= budget, "{held} of {budget} bytes");
        chunks.push(plan.chunks());
    }
    // Each channel and pair of bands in its own chunk, phases twice; and both kinds of bands in one chunk each.
    assert_eq!((chunks[0], chunks[2]), (8 * (2 * 5 + 5), 2));
    assert!(chunks[1] < chunks[0] && chunks[1] > 2, "{chunks:?}");
}

#[test]
fn a_small_binding_makes_more_chunks_or_an_absence() {
    let options = |bytes| GpuOptions { max_binding_bytes: Some(bytes), ..GpuOptions::default() };
    let golden = Golden::open("medium", Normalisation::Textbook);
    let Some(gpu) = require_adapter_with(&options(256 << 10)) else { return };
    let index = on_gpu(&gpu, &golden.settings, golden.shape, &golden.x, 64 << 20);
    assert_close("medium", &index, &golden.oracle().index, TOLERANCE);
    let Some(gpu) = require_adapter_with(&options(64 << 10)) else { return };
    let Err(Failure::Unavailable(told)) = GpuPlan::new(&gpu, &golden.settings, golden.shape, &[], 64 << 20)
    else {
        panic!("it was taken on")
    };
    assert!(told.contains("65536"), "{told}");
}

#[test]
fn a_mean_far_from_zero_costs_no_digits() {
    let Some(gpu) = require_adapter() else { return };
    let golden = Golden::open("small", Normalisation::Textbook);
    // A power of two, and the largest that f32 can add to these samples without rounding most of them.
    let x: Vec<f32> = golden.x.iter().map(|x| x + 4096.0).collect();
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let due = oracle(&golden.settings, golden.shape, &wide).unwrap().index;
    assert_close("small", &on_gpu(&gpu, &golden.settings, golden.shape, &x, 64 << 20), &due, TOLERANCE);
}

#[test]
fn a_sample_that_is_no_number_is_named_and_the_next_call_is_right() {
    let Some(gpu) = require_adapter() else { return };
    let shape = Shape::new(2, 600);
    let right: Vec<f32> = noise(shape.len()).into_iter().map(|x| x as f32).collect();
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut wrong = right.clone();
        wrong[700] = value;
        wrong[900] = f32::NAN;
        let inputs = [gpu.upload("x", &wrong).unwrap(), gpu.upload("x", &right).unwrap()];
        let mut plan = GpuPlan::new(&gpu, &usual(), shape, &inputs, 64 << 20).unwrap();
        let mut index = [7.0; 2];
        let told = plan.index(0, &mut index).unwrap_err().to_string();
        assert!(told.starts_with(&format!("sample 100 of channel 1 is {word};")), "{told}");
        assert_eq!(index, [7.0; 2]);
        plan.index(1, &mut index).unwrap();
        let wide: Vec<f64> = right.iter().map(|&x| f64::from(x)).collect();
        assert_close("right", &index, &oracle(&usual(), shape, &wide).unwrap().index, TOLERANCE);
    }
}

#[test]
fn as_many_bins_as_can_be_fit_the_memory_of_a_workgroup() {
    let Some(gpu) = require_adapter() else { return };
    let settings = Settings { bins: crate::MAX_BINS, ..usual() };
    let shape = Shape::new(1, 3000);
    let x: Vec<f32> = noise(shape.len()).into_iter().map(|x| x as f32).collect();
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let due = oracle(&settings, shape, &wide).unwrap().index;
    assert_close("128 bins", &on_gpu(&gpu, &settings, shape, &x, 64 << 20), &due, 1e-5);
}

#[test]
fn ends_of_what_is_allowed_agree_with_the_definition() {
    let Some(gpu) = require_adapter() else { return };
    let nyquist = settings(Band::new(4.0, 8.0), Band::new(200.0, 256.0));
    let three_bands = Settings {
        phase: Band::adjoining(2.0, 20.0, 3),
        amplitude: Band::adjoining(60.0, 160.0, 3),
        ..usual()
    };
    for (what, settings, shape) in [
        ("a prime number of samples", usual(), Shape::new(1, 1009)),
        ("a band up to half the sampling rate", nyquist, Shape::new(1, 700)),
        ("as few samples as can be", usual(), Shape::new(2, 4)),
        ("an odd number of bands", three_bands, Shape::new(3, 500)),
        ("an odd number of bins", Settings { bins: 7, ..usual() }, Shape::new(1, 500)),
        ("two bins", Settings { bins: 2, ..usual() }, Shape::new(1, 500)),
    ] {
        let x: Vec<f32> = noise(shape.len()).into_iter().map(|x| x as f32).collect();
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let due = oracle(&settings, shape, &wide).unwrap().index;
        assert_close(what, &on_gpu(&gpu, &settings, shape, &x, 64 << 20), &due, TOLERANCE);
    }
}

#[test]
fn a_call_is_one_submit_and_one_sync_and_makes_no_buffer() {
    let Some(gpu) = require_adapter() else { return };
    let shape = Shape::new(2, 600);
    let x: Vec<f32> = noise(shape.len()).into_iter().map(|x| x as f32).collect();
    let input = gpu.upload("x", &x).unwrap();
    let mut plan = GpuPlan::new(&gpu, &usual(), shape, &[input], 64 << 20).unwrap();
    let mut index = [0.0; 2];
    plan.index(0, &mut index).unwrap();
    let mut meter = gpu.meter();
    let mut readings = std::collections::BTreeMap::new();
    meter.start();
    plan.index(0, &mut index).unwrap();
    meter.stop(&mut readings);
    for (id, due) in [
        (metric::SUBMITS, 1.0),
        (metric::SYNCS, 1.0),
        (metric::DOWNLOAD_BYTES, 24.0),
        (metric::UPLOAD_BYTES, 0.0),
        (metric::BUFFER_CREATES, 0.0),
    ] {
        assert_eq!(readings[id].value(), Some(due), "{id}");
    }
}

#[test]
fn mistakes_are_told() {
    let Some(gpu) = require_adapter() else { return };
    for (settings, shape, what) in [
        (usual(), Shape::new(1, 3), "too few"),
        (settings(Band::new(4.0, 8.0), Band::new(60.0, 300.0)), Shape::new(1, 600), "256 Hz"),
    ] {
        let Err(Failure::Failed(reason)) = GpuPlan::new(&gpu, &settings, shape, &[], 1) else {
            panic!("{what}")
        };
        assert!(reason.contains(what), "{reason}");
    }
}
