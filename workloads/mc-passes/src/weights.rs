//! Weights of the encoder, drawn from the seed. Each row of four is one vector of the shaders.

use perfharness_contract::input_rng;
use perfharness_layers::weights::draw;

use crate::dims::{FEATURES, HIDDEN, PATCH_VALUES, WIDTH, tokens};
use crate::vit::{Layers, Size};

/// All weights. In `[a][b]`, `b` varies fastest, and W is the width of a token.
pub(crate) struct Weights {
    /// `[PATCH_VALUES][W]`.
    pub(crate) embedding: Vec<f32>,
    /// `[tokens, from][tokens, to]`.
    pub(crate) mixing: Vec<f32>,
    /// `[HIDDEN][WIDTH]`.
    pub(crate) inner: Vec<f32>,
    /// `[HIDDEN][WIDTH]`.
    pub(crate) outer: Vec<f32>,
    /// `[W][FEATURES]`.
    pub(crate) projection: Vec<f32>,
    /// Layers of the large encoder. The small one has the mixing and the perceptron instead.
    pub(crate) layers: Option<Layers>,
}

impl Weights {
    /// Draws the weights for images of `size` x `size` pixels, of the small encoder or of a large one.
    pub(crate) fn new(seed: u64, size: usize, large: Option<Size>) -> Self {
        let mut rng = input_rng(seed, "mc-passes weights", size as u64);
        let tokens = tokens(size);
        if let Some(large) = large {
            return Self {
                embedding: draw(&mut rng, PATCH_VALUES * large.width, PATCH_VALUES),
                mixing: Vec::new(),
                inner: Vec::new(),
                outer: Vec::new(),
                projection: draw(&mut rng, large.width * FEATURES, large.width),
                layers: Some(Layers::new(&mut rng, large, tokens)),
            };
        }
        Self {
            embedding: draw(&mut rng, PATCH_VALUES * WIDTH, PATCH_VALUES),
            mixing: draw(&mut rng, tokens * tokens, tokens),
            inner: draw(&mut rng, HIDDEN * WIDTH, WIDTH),
            outer: draw(&mut rng, HIDDEN * WIDTH, HIDDEN),
            projection: draw(&mut rng, WIDTH * FEATURES, WIDTH),
            layers: None,
        }
    }

    /// Values of a token.
    pub(crate) fn width(&self) -> usize {
        self.layers.as_ref().map_or(WIDTH, |layers| layers.size.width)
    }
}
