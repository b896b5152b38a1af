//! Weights, the inputs of a round, and the reference.

use perfharness_contract::{Digest, input_rng};
use perfharness_layers::{host, weights};
use rand_pcg::rand_core::Rng as _;

use super::Params;
use crate::{POOL, uniform};

/// Values of a row.
pub(super) const WIDTH: usize = 128;

/// Weights of one expert.
#[derive(Debug)]
pub(super) struct Expert {
    /// Orthogonal matrix, `[WIDTH][WIDTH]`, row by row.
    pub(super) rotation: Vec<f32>,
    pub(super) layer: Vec<f32>,
}

/// Weights of a placement, the same in all rounds.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) experts: Vec<Expert>,
    /// Weights from an output to its logits, `[WIDTH][vocabulary]`; none without a head.
    pub(super) head: Vec<f32>,
    vocabulary: usize,
}

/// Factor of the rotated values of an expert, which a float32 holds exactly.
pub(super) fn scale(expert: usize) -> f32 {
    0.5 + expert as f32 / 8.0
}

/// Returns the product of two reflections, `(I - 2uuᵀ)(I - 2vvᵀ)` for unit vectors: a rotation.
fn rotation(u: &[f32], v: &[f32]) -> Vec<f32> {
    let unit = |x: &[f32]| -> Vec<f64> {
        let norm = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        x.iter().map(|x| f64::from(*x) / norm).collect()
    };
    let (u, v) = (unit(u), unit(v));
    let dot: f64 = u.iter().zip(&v).map(|(u, v)| u * v).sum();
    let element = |i: usize, j: usize| {
        let identity = if i == j { 1.0 } else { 0.0 };
        (identity - 2.0 * u[i] * u[j] - 2.0 * v[i] * v[j] + 4.0 * dot * u[i] * v[j]) as f32
    };
    (0..WIDTH).flat_map(|i| (0..WIDTH).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
}

impl Weights {
    pub(super) fn new(seed: u64, params: &Params) -> Self {
        let mut rng = input_rng(seed, "experts", 0);
        let mut expert = || {
            let (u, v) = (uniform(&mut rng, WIDTH), uniform(&mut rng, WIDTH));
            Expert { rotation: rotation(&u, &v), layer: weights::draw(&mut rng, WIDTH * WIDTH, WIDTH) }
        };
        let experts = (0..params.experts).map(|_| expert()).collect();
        let vocabulary = params.vocabulary;
        Self { experts, head: weights::draw(&mut rng, WIDTH * vocabulary, WIDTH), vocabulary }
    }

    /// Returns the input of an expert's layer for a row, in float64.
    pub(super) fn rotated(&self, batch: &Batch, input: usize, expert: usize, row: usize) -> Vec<f64> {
        let x = &batch.x[row * WIDTH..(row + 1) * WIDTH];
        let rows = self.experts[expert].rotation.chunks_exact(WIDTH).zip(batch.bias(input, expert));
        let dot = |r: &[f32]| x.iter().zip(r).map(|(x, r)| f64::from(*x) * f64::from(*r)).sum::<f64>();
        rows.map(|(r, b)| f64::from(scale(expert)) * dot(r) + f64::from(*b)).collect()
    }

    /// Returns the output of an expert's layer for a row, in float64.
    pub(super) fn output(&self, batch: &Batch, input: usize, expert: usize, row: usize) -> Vec<f64> {
        host::product(&self.rotated(batch, input, expert, row), &self.experts[expert].layer, WIDTH)
    }

    /// Returns the loss of a row: the mean square of the output, or the cross entropy of the target.
    pub(super) fn loss(&self, batch: &Batch, input: usize, expert: usize, row: usize) -> f64 {
        let output = self.output(batch, input, expert, row);
        if self.vocabulary == 0 {
            return output.iter().map(|y| y * y).sum::<f64>() / WIDTH as f64;
        }
        let logits = host::product(&output, &self.head, self.vocabulary);
        -host::softmax(&logits)[batch.targets[input][row] as usize].ln()
    }
}

/// Inputs of a round. All share the rows, of which the device therefore holds one copy, and differ in the shifts of
/// the rotations and in the targets.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// `[rows][WIDTH]`.
    pub(super) x: Vec<f32>,
    /// For each input `[experts][WIDTH]`.
    pub(super) biases: Vec<Vec<f32>>,
    pub(super) targets: Vec<Vec<u32>>,
}

impl Batch {
    pub(super) fn new(seed: u64, round: u64, params: &Params) -> Self {
        let mut rng = input_rng(seed, "batch", round);
        let x = uniform(&mut rng, params.rows * WIDTH);
        let biases = (0..POOL).map(|_| uniform(&mut rng, params.experts * WIDTH)).collect();
        let most = params.vocabulary.max(1) as u32;
        let mut targets = || (0..params.rows).map(|_| rng.next_u32() % most).collect();
        Self { x, biases, targets: (0..POOL).map(|_| targets()).collect() }
    }

    pub(super) fn bias(&self, input: usize, expert: usize) -> &[f32] {
        &self.biases[input][expert * WIDTH..(expert + 1) * WIDTH]
    }

    pub(super) fn digest(&self, input: usize) -> Digest {
        let values = self.x.iter().chain(&self.biases[input]).copied().map(f64::from);
        Digest::of_f64(values.chain(self.targets[input].iter().copied().map(f64::from)))
    }
}
