//! Inputs of a round, and the reference.

use perfharness_contract::Digest;

use crate::POOL;
use crate::draw::uniform;

// All of these are the same in the kernels.
pub(super) const EXPERTS: usize = 8;
/// Weights of an expert.
pub(super) const LENGTH: usize = 16_384;
/// Inputs of the gate, and numbers in each.
const TOKENS: usize = 64;
const FEATURES: usize = 16;
pub(super) const PAIRS: usize = EXPERTS * (EXPERTS - 1) / 2;
/// Mean |cos| of the pairs, entropy of the loads in nats, mean angle of the pairs in radians.
pub(super) const SCALARS: usize = 3;

/// Cosine and sine of the angle of a step. Their values in float32 are the definition.
///
/// Ten steps are 0.382 half turns, after each of which the metrics repeat: of all shares, the golden one keeps the
/// metrics of different steps farthest apart.
pub(super) const TURN: [f32; 2] = [0.992_808_9, 0.119_710_46];

/// Weights and their momentum before the first step, and what the gate sees.
#[derive(Debug)]
pub(super) struct Experts {
    pub(super) weights: Vec<f32>,
    pub(super) momentum: Vec<f32>,
    pub(super) tokens: Vec<f32>,
}

impl Experts {
    /// Returns the inputs of a round.
    pub(super) fn pool(seed: u64, round: u64) -> Vec<Self> {
        let mut draw = uniform(seed, "experts", round);
        let mut experts = || {
            // A common part of its own size for each expert, because random vectors of this length are all at right
            // angles, at every step.
            let common: Vec<f32> = (0..LENGTH).map(|_| draw()).collect();
            let mut state = || -> Vec<f32> {
                (0..EXPERTS)
                    .flat_map(|_| {
                        let share = draw();
                        common.iter().map(|x| share * x + 0.5 * draw()).collect::<Vec<_>>()
                    })
                    .collect()
            };
            let (weights, momentum) = (state(), state());
            Self { weights, momentum, tokens: (0..TOKENS * FEATURES).map(|_| draw()).collect() }
        };
        (0..POOL).map(|_| experts()).collect()
    }

    /// Returns the metrics after a step, which counts from 0, in float64.
    pub(super) fn metrics(&self, step: u64) -> [f64; SCALARS] {
        let weights = self.after(step);
        let expert = |e: usize| &weights[e * LENGTH..(e + 1) * LENGTH];
        let (mut cosines, mut angles) = (0.0, 0.0);
        for a in 0..EXPERTS {
            for b in a + 1..EXPERTS {
                let cosine = cosine(expert(a), expert(b));
                cosines += cosine.abs();
                angles += cosine.acos();
            }
        }
        [cosines / PAIRS as f64, self.entropy(&weights), angles / PAIRS as f64]
    }

    /// Returns the weights after a step. A step turns weights and momentum by the angle of [`TURN`]; it stands for the
    /// training, and never settles.
    fn after(&self, step: u64) -> Vec<f64> {
        let [cos, sin] = TURN.map(f64::from);
        let (mut c, mut s) = (1.0, 0.0);
        for _ in 0..=step {
            (c, s) = (c * cos - s * sin, s * cos + c * sin);
        }
        let state = self.weights.iter().zip(&self.momentum);
        state.map(|(w, m)| c * f64::from(*w) - s * f64::from(*m)).collect()
    }

    /// Entropy of the mean share of the tokens that the gate, a softmax, gives to each expert.
    fn entropy(&self, weights: &[f64]) -> f64 {
        let mut loads = [0.0; EXPERTS];
        for token in self.tokens.chunks_exact(FEATURES) {
            let scores: [f64; EXPERTS] = std::array::from_fn(|e| {
                token.iter().zip(&weights[e * LENGTH..]).map(|(x, w)| f64::from(*x) * w).sum()
            });
            let largest = scores.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let shares = scores.map(|score| (score - largest).exp());
            let sum: f64 = shares.iter().sum();
            loads.iter_mut().zip(shares).for_each(|(load, share)| *load += share / sum / TOKENS as f64);
        }
        -loads.iter().map(|load| if *load > 0.0 { load * load.ln() } else { 0.0 }).sum::<f64>()
    }

    pub(super) fn digest(&self) -> Digest {
        let parts = [&self.weights, &self.momentum, &self.tokens];
        Digest::of_f64(parts.into_iter().flatten().copied().map(f64::from))
    }
}

/// Cosine of the angle between two vectors; 0 if one of them is 0, as in the source's library.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms > 0.0 { (dot(a, b) / norms).clamp(-1.0, 1.0) } else { 0.0 }
}
