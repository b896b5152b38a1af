//! Input signals.

use std::f64::consts::TAU;

use perfharness_contract::{Digest, Floor, input_rng};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use serde::Serialize;

use crate::{Band, Normalisation, Settings, Shape};

/// Number of inputs in a round; the iterations cycle through them.
pub(crate) const POOL: usize = 4;
/// Sampling rate in Hz.
const SF_HZ: f64 = 512.0;

/// Parameters of a case.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Params {
    /// Number of channels.
    pub(crate) channels: usize,
    /// Length of the signal in s.
    pub(crate) seconds: usize,
    /// Number of phase bands, and of amplitude bands.
    pub(crate) bands: usize,
    /// Budget of the chunks in MiB, if the case sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget_mib: Option<u64>,
}

impl Params {
    pub(crate) fn new(channels: usize, seconds: usize, bands: usize) -> Self {
        Self { channels, seconds, bands, budget_mib: None }
    }

    /// Budget of the chunks in bytes, if the case sets it.
    pub(crate) fn budget(&self) -> Option<u64> {
        Some(self.budget_mib? << 20)
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::new(self.channels, self.seconds * SF_HZ as usize)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            sf_hz: SF_HZ,
            phase: Band::adjoining(2.0, 20.0, self.bands),
            amplitude: Band::adjoining(60.0, 160.0, self.bands),
            bins: 18,
            normalisation: Normalisation::Textbook,
        }
    }

    /// The signal is read, and each pair adds up the samples of its channel. Phases and amplitudes of a channel may stay in
    /// a cache until all its pairs have read them.
    pub(crate) fn floor(&self) -> Floor {
        let samples = (self.channels * self.seconds) as f64 * SF_HZ;
        let bands = self.bands as f64;
        Floor {
            device_bytes: 4.0 * samples,
            operations: bands * bands * samples,
            download_bytes: 8.0 * self.pairs() as f64,
            ..Floor::default()
        }
    }

    /// Number of indexes that an iteration computes.
    pub(crate) fn pairs(&self) -> u64 {
        self.settings().indexes(self.channels) as u64
    }
}

/// Signals of a round, (channel, sample).
pub(crate) struct Signals {
    seed: u64,
    shape: Shape,
    pub(crate) pool: Vec<Vec<f32>>,
}

impl Signals {
    pub(crate) fn new(params: &Params, seed: u64) -> Self {
        Self { seed, shape: params.shape(), pool: Vec::new() }
    }

    /// Makes the signals of `round` current.
    pub(crate) fn load(&mut self, round: u64) {
        let mut rng = input_rng(self.seed, "pac", round);
        self.pool = (0..POOL).map(|_| draw(self.shape, &mut rng)).collect();
    }

    /// Position of iteration `index` in the pool.
    pub(crate) fn at(index: u64) -> usize {
        (index % POOL as u64) as usize
    }

    pub(crate) fn digest(&self, index: u64) -> Digest {
        Digest::of(bytemuck::cast_slice(&self.pool[Self::at(index)]))
    }
}

/// Draws a signal: in every channel a slow wave that modulates a fast one, and noise with the strength of both.
fn draw(shape: Shape, rng: &mut Pcg64Mcg) -> Vec<f32> {
    let mut x = Vec::with_capacity(shape.len());
    for _ in 0..shape.channels {
        let mut between = |lo: f64, hi: f64| lo + (hi - lo) * uniform(rng);
        let (slow_hz, fast_hz) = (between(3.0, 18.0), between(65.0, 150.0));
        let (start, preferred, depth) = (between(0.0, TAU), between(0.0, TAU), between(0.2, 0.9));
        for t in 0..shape.samples {
            let t = t as f64 / SF_HZ;
            let slow = TAU * slow_hz * t + start;
            let size = 0.5 * (1.0 + depth * (slow - preferred).cos());
            let noise = (0..3).map(|_| uniform(rng) - 0.5).sum::<f64>();
            x.push((slow.cos() + size * (TAU * fast_hz * t).sin() + noise) as f32);
        }
    }
    x
}

/// Draws a number from 0 to 1.
fn uniform(rng: &mut Pcg64Mcg) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX)
}
