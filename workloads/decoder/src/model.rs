//! Size and weights of the decoder.

use perfharness_contract::input_rng;
use perfharness_layers::weights::draw;
use serde::Serialize;

/// Width of a head of attention.
pub(crate) const HEAD: usize = 32;
/// Width of the hidden layer of a perceptron, in widths of a token.
pub(crate) const WIDER: usize = 4;

/// Size of a decoder.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Model {
    /// Values of a token, a multiple of [`HEAD`].
    pub(crate) width: usize,
    pub(crate) layers: usize,
    /// Number of different tokens.
    pub(crate) vocabulary: usize,
}

impl Model {
    pub(crate) const SMALL: Self = Self { width: 64, layers: 2, vocabulary: 512 };
    pub(crate) const FULL: Self = Self { width: 256, layers: 4, vocabulary: 8192 };

    /// Weights of the layers, without the embedding and the head.
    fn layer_weights(&self) -> f64 {
        ((4 + 2 * WIDER) * self.width * self.width * self.layers) as f64
    }

    /// Floating-point operations of `positions` positions through the layers, attention excluded, and of `rows` rows
    /// through the head.
    pub(crate) fn operations(&self, positions: u64, rows: u64) -> f64 {
        2.0 * (positions as f64 * self.layer_weights()
            + (rows * (self.width * self.vocabulary) as u64) as f64)
    }

    /// Bytes of the weights that each generated token needs: those of the layers and of the head.
    pub(crate) fn step_bytes(&self) -> f64 {
        4.0 * (self.layer_weights() + (self.width * self.vocabulary) as f64)
    }

    /// Memory of a placement for `rows` positions at a time, `logits` rows of which have logits: weights on the host
    /// and on the device, and the buffers of a pass.
    pub(crate) fn memory_bytes(&self, rows: u64, logits: u64) -> u64 {
        let embeddings = 2 * self.width * self.vocabulary;
        let weights = self.layer_weights() as u64 + embeddings as u64;
        4 * (2 * weights + rows * ((6 + WIDER) * self.width) as u64 + logits * self.vocabulary as u64)
    }
}

/// Weights of a layer. In `[a][b]`, `b` varies fastest, and W is the width of a token.
pub(crate) struct LayerWeights {
    /// `[W][W]`.
    pub(crate) query: Vec<f32>,
    /// `[W][2 W]`: keys, then values.
    pub(crate) key_value: Vec<f32>,
    /// `[W][W]`.
    pub(crate) out: Vec<f32>,
    /// `[W][4 W]`.
    pub(crate) up: Vec<f32>,
    /// `[4 W][W]`.
    pub(crate) down: Vec<f32>,
}

/// All weights.
pub(crate) struct Weights {
    pub(crate) model: Model,
    /// `[vocabulary][W]`.
    pub(crate) embedding: Vec<f32>,
    /// `[positions][W]`.
    pub(crate) places: Vec<f32>,
    pub(crate) layers: Vec<LayerWeights>,
    /// `[W][vocabulary]`.
    pub(crate) head: Vec<f32>,
}

impl Weights {
    /// Draws the weights for sequences of up to `positions` tokens.
    pub(crate) fn new(model: Model, positions: usize, seed: u64) -> Self {
        let Model { width, layers, vocabulary } = model;
        let mut rng = input_rng(seed, "decoder weights", 0);
        let mut draw = |inputs: usize, outputs: usize| draw(&mut rng, inputs * outputs, inputs);
        let mut layer = || LayerWeights {
            query: draw(width, width),
            key_value: draw(width, 2 * width),
            out: draw(width, width),
            up: draw(width, WIDER * width),
            down: draw(WIDER * width, width),
        };
        let layers = (0..layers).map(|_| layer()).collect();
        let head = draw(width, vocabulary);
        // A token and its place each have values with the variance 1.
        let [embedding, places] = [vocabulary, positions].map(|rows| draw(1, rows * width));
        Self { model, embedding, places, layers, head }
    }
}
