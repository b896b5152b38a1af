//! Batches as a function of seed, round and index, and the scalars that a training step computes from them.

use perfharness_contract::{Digest, input_rng};
use rand_pcg::rand_core::Rng;

/// Number of different batches in a round.
pub(crate) const POOL: usize = 4;

/// Number of rows and columns in a batch; like all constants here, the same as in the kernel.
const ROWS: usize = 64;
const WIDTH: usize = 36;

const BETA: f64 = 0.5;

/// Scalars of a step: loss, negative log-likelihood, and KL divergence.
pub(crate) const SCALARS: usize = 3;

/// Mean, log-variance and observation.
pub(crate) type Element = [f32; 3];

/// Input of a training step.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) elements: Vec<Element>,
}

impl Batch {
    pub(crate) const ELEMENTS: u64 = (ROWS * WIDTH) as u64;
    pub(crate) const BYTES: u64 = Self::ELEMENTS * size_of::<Element>() as u64;

    /// Returns the batches of a round.
    pub(crate) fn pool(seed: u64, round: u64) -> [Self; POOL] {
        let mut rng = input_rng(seed, "batches", round);
        // From -1 to 1, with the 24 bits of a float32's mantissa.
        let mut draw = move || (rng.next_u32() >> 8) as f32 / (1_u32 << 23) as f32 - 1.0;
        std::array::from_fn(|_| {
            let elements = (0..Self::ELEMENTS).map(|_| [draw(), draw(), 2.0 * draw()]).collect();
            Self { elements }
        })
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of_f64(self.elements.iter().flatten().map(|value| f64::from(*value)))
    }

    /// Returns the scalars of a step in float64.
    pub(crate) fn scalars(&self, step: u64) -> [f64; SCALARS] {
        let scale = scale(step);
        let (mut nll, mut kl) = (0.0, 0.0);
        for element in &self.elements {
            let [mu, logvar, x] = element.map(f64::from);
            let mu = scale * mu;
            let variance = logvar.exp();
            nll += 0.5 * (std::f64::consts::TAU.ln() + logvar + (x - mu).powi(2) / variance);
            kl += 0.5 * (mu.powi(2) + variance - 1.0 - logvar);
        }
        let (nll, kl) = (nll / ROWS as f64, kl / ROWS as f64);
        [nll + BETA * kl, nll, kl]
    }
}

/// Factor of the means from 0.5 to 1.5. It stands for the training, which makes the scalars of every step differ from
/// those of its neighbours. A float32 holds it exactly.
fn scale(step: u64) -> f64 {
    let hash = (step as u32).wrapping_mul(0x9E37_79B9) >> 9;
    0.5 + f64::from(hash) / f64::from(1_u32 << 23)
}
