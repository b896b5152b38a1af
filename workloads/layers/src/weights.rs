//! Random weights.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// Draws uniform values with the variance `1 / inputs`, so that the output of a layer is as large as its input.
pub fn draw(rng: &mut Pcg64Mcg, count: usize, inputs: usize) -> Vec<f32> {
    let bound = (3.0 / inputs as f64).sqrt();
    let mut one = || (f64::from(rng.next_u32()) / 2_147_483_648.0 - 1.0) * bound;
    (0..count).map(|_| one() as f32).collect()
}
