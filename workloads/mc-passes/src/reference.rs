//! The encoder in float64 on the host, in the simplest form.

use perfharness_layers::host::center_and_scale;

use crate::dims::{COLORS, FEATURES, HIDDEN, PATCH, WIDTH, tokens};
use crate::masks::{Layer, Mask};
use crate::vit::tokens_after;
use crate::weights::Weights;

/// Embeds the patches of an image: `[tokens][W]`. Nothing is dropped here, so all passes share the result.
pub(crate) fn embed(weights: &Weights, pixels: &[f32], size: usize) -> Vec<f64> {
    let width = weights.width();
    let mut x = vec![0.0; tokens(size) * width];
    let columns = size / PATCH;
    for (token, x) in x.chunks_exact_mut(width).enumerate() {
        let (top, left) = (token / columns * PATCH, token % columns * PATCH);
        for value in 0..COLORS * PATCH * PATCH {
            let (color, row, column) = (value / (PATCH * PATCH), value / PATCH % PATCH, value % PATCH);
            let pixel = f64::from(pixels[(color * size + top + row) * size + left + column]);
            for (x, w) in x.iter_mut().zip(&weights.embedding[value * width..]) {
                *x += pixel * f64::from(*w);
            }
        }
    }
    x
}

/// Returns the features of an embedded image under a mask.
pub(crate) fn features(weights: &Weights, embedded: &[f64], mask: Mask) -> Vec<f64> {
    let tokens = embedded.len() / weights.width();
    let pooled = match &weights.layers {
        Some(layers) => {
            let mut pooled = vec![0.0; layers.size.width];
            for token in tokens_after(layers, embedded, mask).chunks_exact(layers.size.width) {
                pooled.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
            }
            pooled
        }
        None => pooled(weights, embedded, mask),
    };
    let mut features = vec![0.0; FEATURES];
    for (c, sum) in pooled.iter().enumerate() {
        let mean = sum / tokens as f64 * mask.factor(Layer::Pooled, c);
        for (feature, w) in features.iter_mut().zip(&weights.projection[c * FEATURES..]) {
            *feature += mean * f64::from(*w);
        }
    }
    features
}

/// Returns the sum of the tokens that the small encoder makes of an embedded image.
fn pooled(weights: &Weights, embedded: &[f64], mask: Mask) -> Vec<f64> {
    let tokens = embedded.len() / WIDTH;
    let mut pooled = vec![0.0; WIDTH];
    for to in 0..tokens {
        let mut y = [0.0; WIDTH];
        for (from, x) in embedded.chunks_exact(WIDTH).enumerate() {
            let w = f64::from(weights.mixing[from * tokens + to]);
            y.iter_mut().zip(x).for_each(|(y, x)| *y += w * x);
        }
        for (c, y) in y.iter_mut().enumerate() {
            let element = to * WIDTH + c;
            *y = embedded[element] + y.max(0.0) * mask.factor(Layer::Mixed, element);
        }
        let added = perceptron(weights, &y);
        for c in 0..WIDTH {
            pooled[c] += y[c] + added[c] * mask.factor(Layer::Perceptron, to * WIDTH + c);
        }
    }
    pooled
}

/// Normalises a token and sends it through two layers.
fn perceptron(weights: &Weights, token: &[f64; WIDTH]) -> [f64; WIDTH] {
    let (mean, scale) = center_and_scale(token);
    let mut out = [0.0; WIDTH];
    for hidden in 0..HIDDEN {
        let row = hidden * WIDTH..(hidden + 1) * WIDTH;
        let inner: f64 = weights.inner[row.clone()]
            .iter()
            .zip(token)
            .map(|(w, v)| f64::from(*w) * (v - mean) * scale)
            .sum();
        for (out, w) in out.iter_mut().zip(&weights.outer[row]) {
            *out += inner.max(0.0) * f64::from(*w);
        }
    }
    out
}
