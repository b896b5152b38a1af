//! An encoder of the size of ViT-B/32: patches, then layers of attention and a perceptron.

mod device;
mod reference;

use perfharness_layers::weights::draw;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

pub(crate) use device::Vit;
pub(crate) use reference::tokens_after;

use crate::dims::{FEATURES, PATCH_VALUES};

/// Width of a head of attention.
const HEAD: usize = 64;
/// Width of the hidden layer of a perceptron, in widths of a token.
const WIDER: usize = 4;

/// Size of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Size {
    /// Values of a token, a multiple of [`HEAD`].
    pub(crate) width: usize,
    pub(crate) layers: usize,
}

impl Size {
    /// Size of the image encoder of CLIP ViT-B/32. Its class token is omitted: the mean of the tokens is projected.
    pub(crate) const BASE: Self = Self { width: 768, layers: 12 };

    /// Bytes of the weights of images of `tokens` tokens, in float32.
    pub(crate) fn weight_bytes(self, tokens: usize) -> u64 {
        let layers = self.layers * (4 + 2 * WIDER) * self.width * self.width;
        4 * (layers + (PATCH_VALUES + tokens + FEATURES) * self.width) as u64
    }

    /// Bytes of the buffers between the layers, for a batch of `rows` tokens.
    pub(crate) fn buffer_bytes(self, rows: usize) -> u64 {
        4 * (rows * (PATCH_VALUES + (7 + WIDER) * self.width)) as u64
    }

    /// Floating-point operations for an image of `tokens` tokens, and those of them that precede any dropout.
    pub(crate) fn operations(self, tokens: usize) -> (f64, f64) {
        let embedding = tokens * PATCH_VALUES * self.width;
        let products = (4 + 2 * WIDER) * self.width * self.width;
        let layer = tokens * products + 2 * tokens * tokens * self.width;
        let all = embedding + self.layers * layer + self.width * FEATURES;
        (2.0 * all as f64, 2.0 * embedding as f64)
    }
}

/// Weights of a layer. In `[a][b]`, `b` varies fastest, and W is the width of a token.
pub(crate) struct Layer {
    /// `[W][3 W]`: queries, keys, values.
    qkv: Vec<f32>,
    /// `[W][W]`.
    out: Vec<f32>,
    /// `[W][4 W]`.
    up: Vec<f32>,
    /// `[4 W][W]`.
    down: Vec<f32>,
}

/// Weights between the embedding and the projection.
pub(crate) struct Layers {
    pub(crate) size: Size,
    /// `[tokens][W]`.
    places: Vec<f32>,
    each: Vec<Layer>,
}

impl Layers {
    /// Draws the weights for images of `tokens` tokens.
    pub(crate) fn new(rng: &mut Pcg64Mcg, size: Size, tokens: usize) -> Self {
        let width = size.width;
        let mut draw = |inputs: usize, outputs: usize| draw(rng, inputs * outputs, inputs);
        let mut layer = || Layer {
            qkv: draw(width, 3 * width),
            out: draw(width, width),
            up: draw(width, WIDER * width),
            down: draw(WIDER * width, width),
        };
        let each = (0..size.layers).map(|_| layer()).collect();
        Self { size, places: draw(1, tokens * width), each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dims;

    #[test]
    fn the_base_size_takes_a_thousand_times_the_operations_of_the_small_encoder() {
        let (all, prefix) = Size::BASE.operations(49);
        assert!((1000.0..2500.0).contains(&(all / dims::operations(224).0)), "{all}");
        assert!((0.02..0.04).contains(&(prefix / all)), "{}", prefix / all);
    }
}
