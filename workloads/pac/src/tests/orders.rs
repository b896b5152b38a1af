//! Runs the kernels under random orders.

use std::collections::BTreeSet;

use perfharness_gpu::{Gpu, GpuOptions};
use perfharness_wgsl_check::Checker;

use super::edges::noise;
use super::golden::assert_close;
use super::gpu::{TOLERANCE, on_gpu};
use crate::oracle::oracle;
use crate::{Band, Normalisation, Settings, Shape};

#[test]
fn the_index_is_right_in_every_order() {
    let mut kernels = BTreeSet::new();
    for normalisation in [Normalisation::Textbook, Normalisation::Tensorpac] {
        let settings = Settings {
            sf_hz: 256.0,
            phase: vec![Band::new(8.0, 14.0), Band::new(14.0, 20.0)],
            amplitude: vec![Band::new(40.0, 60.0), Band::new(60.0, 90.0)],
            bins: 18,
            normalisation,
        };
        let shape = Shape::new(1, 128);
        let x: Vec<f32> = noise(128).into_iter().map(|x| x as f32).collect();
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let due = oracle(&settings, shape, &wide).unwrap().index;
        let report = Checker::passes(0..2, || {
            let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
            assert_close("index", &on_gpu(&gpu, &settings, shape, &x, 64 << 20), &due, TOLERANCE);
        });
        kernels.extend(report.dispatches.into_keys());
    } // Those with workgroup memory.
    for kernel in ["means", "count", "couple"] {
        assert!(kernels.contains(kernel), "{kernel} did not run: {kernels:?}");
    }
}
