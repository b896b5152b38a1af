//! Weights of the encoder, drawn from the seed. Each row of four is one vector of the shaders.

use perfharness_contract::input_rng;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use crate::dims::{FEATURES, HIDDEN, PATCH_VALUES, WIDTH, tokens};

/// All weights. In `[a][b]`, `b` varies fastest.
pub(crate) struct Weights {
    /// `[PATCH_VALUES][WIDTH]`.
    pub(crate) embedding: Vec<f32>,
    /// `[tokens, from][tokens, to]`.
    pub(crate) mixing: Vec<f32>,
    /// `[HIDDEN][WIDTH]`.
    pub(crate) inner: Vec<f32>,
    /// `[HIDDEN][WIDTH]`.
    pub(crate) outer: Vec<f32>,
    /// `[WIDTH][FEATURES]`.
    pub(crate) projection: Vec<f32>,
}

impl Weights {
    /// Draws the weights for images of `size` x `size` pixels.
    pub(crate) fn new(seed: u64, size: usize) -> Self {
        let mut rng = input_rng(seed, "mc-passes weights", size as u64);
        let tokens = tokens(size);
        Self {
            embedding: draw(&mut rng, PATCH_VALUES * WIDTH, PATCH_VALUES),
            mixing: draw(&mut rng, tokens * tokens, tokens),
            inner: draw(&mut rng, HIDDEN * WIDTH, WIDTH),
            outer: draw(&mut rng, HIDDEN * WIDTH, HIDDEN),
            projection: draw(&mut rng, WIDTH * FEATURES, WIDTH),
        }
    }
}

/// Draws uniform values with the variance `1 / inputs`, so that the output of a layer is as large as its input.
fn draw(rng: &mut Pcg64Mcg, count: usize, inputs: usize) -> Vec<f32> {
    let bound = (3.0 / inputs as f64).sqrt();
    let mut one = || (f64::from(rng.next_u32()) / 2_147_483_648.0 - 1.0) * bound;
    (0..count).map(|_| one() as f32).collect()
}
