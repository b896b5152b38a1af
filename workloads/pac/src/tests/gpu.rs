//! The GPU against the definition. All of it needs an adapter.

use perfharness_contract::Failure;
use perfharness_gpu::testing::require_adapter;
use perfharness_gpu::{Gpu, metric};

use super::edges::{noise, settings, usual};
use super::golden::{CASES, Golden, assert_close};
use crate::{Band, GpuPlan, Normalisation, Settings, Shape, oracle};

/// What an index computed in f32 throughout may be off.
const TOLERANCE: f64 = 2e-6;

fn on_gpu(gpu: &Gpu, settings: &Settings, shape: Shape, x: &[f32], budget: u64) -> Vec<f64> {
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
        for budget in [1, 200_000, 64 << 20] {
            let index = on_gpu(&gpu, &golden.settings, golden.shape, &golden.x, budget);
            assert_close(&format!("{case}, {budget} bytes"), &index, &due, TOLERANCE);
        }
    }
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
        (metric::DOWNLOAD_BYTES, 8.0),
        (metric::UPLOAD_BYTES, 0.0),
        (metric::BUFFER_CREATES, 0.0),
    ] {
        assert_eq!(readings[id].value(), Some(due), "{id}");
    }
}

#[test]
fn mistakes_are_told() {
    let Some(gpu) = require_adapter() else { return };
    let tensorpac = Settings { normalisation: Normalisation::Tensorpac, ..usual() };
    for (settings, shape, what) in [
        (tensorpac, Shape::new(1, 600), "textbook"),
        (usual(), Shape::new(1, 3), "too few"),
        (settings(Band::new(4.0, 8.0), Band::new(60.0, 300.0)), Shape::new(1, 600), "256 Hz"),
    ] {
        let Err(Failure::Failed(reason)) = GpuPlan::new(&gpu, &settings, shape, &[], 1) else {
            panic!("{what}")
        };
        assert!(reason.contains(what), "{reason}");
    }
}
