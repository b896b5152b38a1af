//! The decoder in float64 on the host.

use std::ops::Range;

use perfharness_layers::host::{attention_row, norm, product, softmax};

use crate::model::{HEAD, LayerWeights, WIDER, Weights};

/// Returns the logits `[rows][vocabulary]` of some positions of a sequence.
pub(crate) fn logits(weights: &Weights, tokens: &[u32], rows: Range<usize>) -> Vec<f64> {
    let width = weights.model.width;
    let row = |of: &[f32], at: usize| of[at * width..][..width].to_vec();
    let mut x = Vec::with_capacity(tokens.len() * width);
    for (place, token) in tokens.iter().enumerate() {
        let (token, place) = (row(&weights.embedding, *token as usize), row(&weights.places, place));
        x.extend(token.iter().zip(&place).map(|(t, p)| f64::from(*t) + f64::from(*p)));
    }
    for layer in &weights.layers {
        attend(layer, &mut x, width);
        let hidden = product(&normed(&x, width), &layer.up, WIDER * width);
        let hidden: Vec<f64> = hidden.into_iter().map(|v| v.max(0.0)).collect();
        add(&mut x, &product(&hidden, &layer.down, width));
    }
    product(&normed(&x[rows.start * width..rows.end * width], width), &weights.head, weights.model.vocabulary)
}

/// Returns the negative log-likelihood of a token.
pub(crate) fn loss(logits: &[f64], token: u32) -> f64 {
    -softmax(logits)[token as usize].ln()
}

fn attend(layer: &LayerWeights, x: &mut [f64], width: usize) {
    let normed = normed(x, width);
    let queries = product(&normed, &layer.query, width);
    let cache = product(&normed, &layer.key_value, 2 * width);
    let mut mixed = Vec::with_capacity(x.len());
    for (place, query) in queries.chunks_exact(width).enumerate() {
        for (h, query) in query.chunks_exact(HEAD).enumerate() {
            let part =
                |at: usize| cache.chunks_exact(2 * width).take(place + 1).map(move |row| &row[at..][..HEAD]);
            mixed.extend(attention_row(query, part(h * HEAD), part(width + h * HEAD)));
        }
    }
    add(x, &product(&mixed, &layer.out, width));
}

fn normed(x: &[f64], width: usize) -> Vec<f64> {
    x.chunks_exact(width).flat_map(norm).collect()
}

fn add(x: &mut [f64], y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}
