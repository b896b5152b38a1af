//! Tests of masks and weights.

use perfharness_contract::input_rng;
use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::{dropout, weights};

const KERNEL: &str = "
    @group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        y[id.x] = factor4(id.x / 16u * 77u, id.x * 4u);
    }";

#[test]
fn the_device_draws_the_masks_of_the_host() {
    let Some(gpu) = require_adapter() else { return };
    draws_the_masks_of_the_host(&gpu);
}

pub(super) fn draws_the_masks_of_the_host(gpu: &Gpu) {
    let y = gpu.buffer_for::<f32>("factors", 4096).unwrap();
    let pipeline = gpu.pipeline("dropout", &[dropout::SOURCE, KERNEL].concat(), "main").unwrap();
    let ready = Ready { bound: pipeline.bind([("y", &y)]).unwrap(), groups: [16, 1, 1] };
    let due: Vec<f64> = (0..4096).map(|i| dropout::factor(i / 64 * 77, i)).collect();
    assert!(due.contains(&0.0));
    agrees(gpu, &ready, &y, &due, 1e-7, "factors");
}

#[test]
fn weights_have_the_variance_that_keeps_the_size_of_values() {
    let values = weights::draw(&mut input_rng(3, "weights", 0), 100_000, 50);
    let variance = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64;
    assert!((variance * 50.0 - 1.0).abs() < 0.02, "{variance}");
    assert!(values.iter().all(|v| f64::from(*v).abs() <= (3.0_f64 / 50.0).sqrt() + 1e-7));
}
