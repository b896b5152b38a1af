//! Inputs of a round, and the reference.

use perfharness_contract::{Digest, input_rng};
use perfharness_layers::host;
use rand_pcg::rand_core::Rng as _;

use super::Params;
use crate::{POOL, uniform};

/// Values of a query, of a key and of a value.
pub(super) const HEAD: usize = 32;

/// A batch. The experts have queries of their own, and share keys and values, which saves memory and does not concern
/// the masks.
#[derive(Debug)]
pub(super) struct Batch {
    /// `[experts][sequences][positions][HEAD]`.
    pub(super) queries: Vec<f32>,
    /// `[sequences][positions][HEAD]`, as are the values.
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
    /// Positions of padding at the start of each sequence. A query there sees no key, and its result is 0.
    pub(super) padding: Vec<u32>,
}

impl Batch {
    /// Returns the batches of a round.
    pub(super) fn pool(seed: u64, round: u64, params: &Params) -> Vec<Self> {
        let mut rng = input_rng(seed, "batches", round);
        let count = params.values();
        let mut batch = || {
            let mut draw = |count| uniform(&mut rng, count);
            let (queries, keys, values) = (draw(params.experts * count), draw(count), draw(count));
            let padding = (0..params.sequences).map(|_| rng.next_u32() % params.positions as u32).collect();
            Self { queries, keys, values, padding }
        };
        (0..POOL).map(|_| batch()).collect()
    }

    /// Returns an expert's result for a row, which counts over all sequences, in float64.
    pub(super) fn reference(&self, params: &Params, expert: usize, row: usize) -> Vec<f64> {
        let positions = params.positions;
        let (sequence, position) = (row / positions, row % positions);
        let wide = |values: &[f32], row: usize| -> Vec<f64> {
            values[row * HEAD..(row + 1) * HEAD].iter().copied().map(f64::from).collect()
        };
        let seen = |values: &[f32]| -> Vec<Vec<f64>> {
            (self.padding[sequence] as usize..=position)
                .map(|at| wide(values, sequence * positions + at))
                .collect()
        };
        let query = wide(&self.queries, expert * params.sequences * positions + row);
        let (keys, values) = (seen(&self.keys), seen(&self.values));
        host::attention_row(&query, keys.iter().map(Vec::as_slice), values.iter().map(Vec::as_slice))
    }

    pub(super) fn digest(&self) -> Digest {
        let parts = [&self.queries, &self.keys, &self.values];
        let values = parts.into_iter().flatten().copied().map(f64::from);
        Digest::of_f64(values.chain(self.padding.iter().copied().map(f64::from)))
    }
}
