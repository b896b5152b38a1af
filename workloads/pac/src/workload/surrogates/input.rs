//! Inputs of the z-scores: bins, amplitudes and shifts, which are made outside of the measured code.

use perfharness_contract::{Digest, Failure, input_rng};
use rand_pcg::rand_core::Rng as _;

use super::SHIFTS;
use crate::fast::index_of_sums;
use crate::oracle::{bin, oracle};
use crate::workload::signal::{Params, Signals};

/// Bins, amplitudes and shifts of one signal.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) digest: Digest,
    /// Bin of every sample, for each phase band and channel.
    pub(super) bins: Vec<Vec<u8>>,
    pub(super) counts: Vec<Vec<u64>>,
    /// Amplitudes of every sample, for each amplitude band and channel.
    pub(super) amplitudes: Vec<Vec<f64>>,
    pub(super) channels: usize,
    /// Shifts in samples, at least 1.
    pub(super) shifts: Vec<usize>,
}

impl Input {
    /// Returns the index of a pair (amplitude band, phase band, channel) with amplitudes in two consecutive parts.
    pub(super) fn index(&self, pair: usize, parts: [&[f64]; 2]) -> f64 {
        let signal = pair % self.bins.len();
        let counts = &self.counts[signal];
        // The largest number of bins here; the sums are on the stack.
        let mut sums = [0.0; 18];
        for (bin, amplitude) in self.bins[signal].iter().zip(parts.into_iter().flatten()) {
            sums[usize::from(*bin)] += amplitude;
        }
        // Not the function of the oracle, which allocates and which the check uses.
        index_of_sums(sums.iter(), counts)
    }

    /// Position of a pair's amplitudes among all.
    pub(super) fn amplitude_signal(&self, pair: usize) -> usize {
        let (amplitude, signal) = (pair / self.bins.len(), pair % self.bins.len());
        amplitude * self.channels + signal % self.channels
    }

    pub(super) fn amplitudes(&self, pair: usize) -> &[f64] {
        &self.amplitudes[self.amplitude_signal(pair)]
    }

    /// Number of samples of a channel.
    pub(super) fn samples(&self) -> usize {
        self.bins.first().map_or(0, Vec::len)
    }
}

/// Draws the inputs of a round, and computes their bins and amplitudes by the definition.
pub(super) fn draw(params: &Params, seed: u64, round: u64) -> Result<Vec<Input>, Failure> {
    let mut signals = Signals::new(params, seed);
    signals.load(round);
    let mut rng = input_rng(seed, "pac-shifts", round);
    let (settings, shape) = (params.settings(), params.shape());
    let input = |(index, x): (u64, &Vec<f32>)| {
        let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let oracle = oracle(&settings, shape, &x)?;
        let bins = oracle
            .phases
            .iter()
            .map(|signal| signal.iter().map(|z| bin(z.arg(), settings.bins) as u8).collect());
        let beyond_0 = shape.samples as u64 - 1;
        // The upper half of a product maps 32 random bits to a range without a division.
        let mut shift = || 1 + ((u64::from(rng.next_u32()) * beyond_0) >> 32) as usize;
        Ok(Input {
            digest: signals.digest(index),
            bins: bins.collect(),
            counts: oracle.counts.chunks(settings.bins).map(<[u64]>::to_vec).collect(),
            amplitudes: oracle.amplitudes,
            channels: shape.channels,
            shifts: (0..SHIFTS).map(|_| shift()).collect(),
        })
    };
    (0..).zip(&signals.pool).map(input).collect()
}
