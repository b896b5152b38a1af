//! Tests every kernel against its reference.

mod attention;
mod dropout;
mod orders;
mod product;
mod rows;

use perfharness_contract::{Check, Tolerance, input_rng};
use perfharness_gpu::{Buffer, Gpu};
use rand_pcg::rand_core::Rng as _;

use crate::Ready;

/// Draws values from -1 to 1.
fn drawn(stream: &str, count: usize) -> Vec<f32> {
    let mut rng = input_rng(1, stream, 0);
    (0..count).map(|_| (rng.next_u32() >> 8) as f32 / (1_u32 << 23) as f32 - 1.0).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// Runs a kernel and compares a buffer with the reference.
#[track_caller]
fn agrees(gpu: &Gpu, ready: &Ready, y: &Buffer, due: &[f64], tolerance: f64, what: &str) {
    let mut commands = gpu.commands("test");
    ready.record(&mut commands);
    commands.submit().unwrap();
    let check = Check::compare(due, &wide(&gpu.read::<f32>(y).unwrap()), Tolerance::Relative(tolerance));
    assert!(check.passed, "{what}: {check:?}");
}

/// Tolerance for sums of `terms` products of values in [-1, 1].
fn of_sums(terms: usize) -> f64 {
    2.0 * terms as f64 * 2_f64.powi(-24)
}
