//! The layers in float64 on the host.

use perfharness_layers::host::{attention_row, norm, product};

use super::{HEAD, Layers, WIDER};
use crate::masks::{Layer as Site, Mask};

/// Sends embedded patches through the layers under a mask: `[tokens][W]` to `[tokens][W]`.
pub(crate) fn tokens_after(weights: &Layers, embedded: &[f64], mask: Mask) -> Vec<f64> {
    let width = weights.size.width;
    let mut x: Vec<f64> = embedded.iter().zip(&weights.places).map(|(x, p)| x + f64::from(*p)).collect();
    for (at, layer) in weights.each.iter().enumerate() {
        let first = at * x.len();
        let qkv = product(&normed(&x, width), &layer.qkv, 3 * width);
        add(&mut x, &product(&mixed(&qkv, width), &layer.out, width), |i| {
            mask.factor(Site::Mixed, first + i)
        });
        let hidden = product(&normed(&x, width), &layer.up, WIDER * width);
        let hidden: Vec<f64> = hidden.into_iter().map(|v| v.max(0.0)).collect();
        add(&mut x, &product(&hidden, &layer.down, width), |i| mask.factor(Site::Perceptron, first + i));
    }
    x
}

/// Returns the values of all heads, weighed by their attention.
fn mixed(qkv: &[f64], width: usize) -> Vec<f64> {
    let rows = || qkv.chunks_exact(3 * width);
    let mut mixed = Vec::with_capacity(qkv.len() / 3);
    for row in rows() {
        for at in (0..width).step_by(HEAD) {
            let part = |first: usize| rows().map(move |row| &row[first + at..][..HEAD]);
            mixed.extend(attention_row(&row[at..][..HEAD], part(width), part(2 * width)));
        }
    }
    mixed
}

fn normed(x: &[f64], width: usize) -> Vec<f64> {
    x.chunks_exact(width).flat_map(norm).collect()
}

fn add(x: &mut [f64], y: &[f64], factor: impl Fn(usize) -> f64) {
    x.iter_mut().zip(y).enumerate().for_each(|(i, (x, y))| *x += y * factor(i));
}
