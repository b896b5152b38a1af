//! The layers in float64 on the host, in the simplest form.

/// Added to a variance before its square root is taken.
pub const EPSILON: f64 = 1e-5;

/// Returns `x * weights` for `x` `[rows][inner]` and weights `[inner][columns]`.
pub fn product(x: &[f64], weights: &[f32], columns: usize) -> Vec<f64> {
    let inner = weights.len() / columns;
    let rows = x.chunks_exact(inner);
    rows.flat_map(|row| {
        let mut y = vec![0.0; columns];
        for (x, weights) in row.iter().zip(weights.chunks_exact(columns)) {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * f64::from(*w));
        }
        y
    })
    .collect()
}

/// Returns the mean of a row, and the factor that gives the deviations from it a variance of 1.
pub fn center_and_scale(row: &[f64]) -> (f64, f64) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / row.len() as f64;
    (mean, 1.0 / (variance + EPSILON).sqrt())
}

/// Returns a row with a mean of 0 and a variance of 1.
pub fn norm(row: &[f64]) -> Vec<f64> {
    let (mean, scale) = center_and_scale(row);
    row.iter().map(|v| (v - mean) * scale).collect()
}

/// Returns the weights of a row of scores; minus infinity stands for a masked one. Without any score all weights are 0.
pub fn softmax(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return vec![0.0; scores.len()];
    }
    let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Returns the result of one query over keys and values, one after the other in rows as long as the query.
pub fn attention_row<'a>(
    query: &[f64],
    keys: impl Iterator<Item = &'a [f64]>,
    values: impl Iterator<Item = &'a [f64]>,
) -> Vec<f64> {
    let scale = 1.0 / (query.len() as f64).sqrt();
    let score = |key: &[f64]| scale * query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>();
    let scores: Vec<f64> = keys.map(score).collect();
    let mut y = vec![0.0; query.len()];
    for (weight, value) in softmax(&scores).iter().zip(values) {
        y.iter_mut().zip(value).for_each(|(y, v)| *y += weight * v);
    }
    y
}
