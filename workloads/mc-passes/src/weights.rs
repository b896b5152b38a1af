//! Weights of the encoder, drawn from the seed. Each row of four is one vector of the shaders.

use perfharness_contract::input_rng;
use perfharness_layers::weights::draw;

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
