//! Inputs of a round, and the reference.

use perfharness_contract::Digest;

use crate::POOL;
use crate::draw::uniform;

/// Rows of the weights. Operation `k` takes row `k % ROWS`.
pub(super) const ROWS: usize = 8;

/// A chain of operations: `state = scale * row + state`.
#[derive(Debug)]
pub(super) struct Chain {
    /// First state.
    pub(super) start: Vec<f32>,
    /// `ROWS` rows of the width of the start, one after the other.
    pub(super) weights: Vec<f32>,
    /// 1 or -1 for each row. A product is then exact, and the sum is the only rounding, so a check needs no tolerance.
    pub(super) scales: [f32; ROWS],
}

impl Chain {
    /// Returns the chains of a round.
    pub(super) fn pool(seed: u64, round: u64, width: usize) -> Vec<Self> {
        let mut draw = uniform(seed, "chains", round);
        let mut chain = || {
            let start = (0..width).map(|_| draw()).collect();
            let weights = (0..ROWS * width).map(|_| draw()).collect();
            Self { start, weights, scales: std::array::from_fn(|_| draw().signum()) }
        };
        (0..POOL).map(|_| chain()).collect()
    }

    pub(super) fn width(&self) -> usize {
        self.start.len()
    }

    pub(super) fn row(&self, operation: u64) -> &[f32] {
        let from = Self::at(operation) * self.width();
        &self.weights[from..from + self.width()]
    }

    pub(super) fn scale(&self, operation: u64) -> f32 {
        self.scales[Self::at(operation)]
    }

    fn at(operation: u64) -> usize {
        operation as usize % ROWS
    }

    /// Returns the state after `n` operations, each computed in float64 and rounded to the float32 that a tensor holds.
    pub(super) fn reference(&self, n: u64) -> Vec<f64> {
        let mut state: Vec<f64> = self.start.iter().copied().map(f64::from).collect();
        for operation in 0..n {
            let scale = f64::from(self.scale(operation));
            for (state, x) in state.iter_mut().zip(self.row(operation)) {
                *state = f64::from((scale * f64::from(*x) + *state) as f32);
            }
        }
        state
    }

    pub(super) fn digest(&self) -> Digest {
        let parts = [&self.start[..], &self.weights, &self.scales];
        Digest::of_f64(parts.into_iter().flatten().copied().map(f64::from))
    }
}

/// Returns the elements of `scale * x + y`. All variants use the same arithmetic; they differ in where it is written.
pub(super) fn axpy<'a>(
    scale: f32,
    x: &'a [f32],
    y: &'a [f32],
) -> impl ExactSizeIterator<Item = f32> + use<'a> {
    x.iter().zip(y).map(move |(x, y)| scale * x + y)
}
