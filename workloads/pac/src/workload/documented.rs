//! The document's "after": no clones, no one-hot tensor, chunks of pairs in memory that is kept.

use perfharness_contract::Failure;

use super::bands::{Bands, Kind, bin_of};
use super::measured::{Told, Variant};
use super::slow::of_pair;
use crate::oracle::modulation_index;
use crate::{Filters, Settings, Shape};

/// Number of pairs of bands and channels whose amplitudes are gathered at a time without a budget.
const CHUNK: usize = 16;

/// Gathers the amplitudes of a chunk of pairs, and scatters them to the sums of their bins.
pub(crate) struct Documented {
    settings: Settings,
    shape: Shape,
    bands: Bands,
    /// Number of pairs of a chunk.
    pairs: usize,
    /// Bins and amplitudes of these pairs.
    bins: Vec<usize>,
    amplitudes: Vec<f32>,
}

impl Documented {
    /// The gathered values take at most `budget` bytes, but there is always at least one pair.
    pub(crate) fn new(settings: &Settings, shape: Shape, budget: Option<u64>) -> Self {
        let bands = Bands::new(&Filters::design(settings, shape.samples), shape.samples);
        let each = shape.samples * (size_of::<usize>() + size_of::<f32>());
        let pairs = budget.map_or(CHUNK, |budget| (budget as usize / each).max(1));
        let pairs = pairs.min(settings.indexes(shape.channels));
        let samples = pairs * shape.samples;
        let (bins, amplitudes) = (Vec::with_capacity(samples), Vec::with_capacity(samples));
        Self { settings: settings.clone(), shape, bands, pairs, bins, amplitudes }
    }
}

impl Variant for Documented {
    const TOLERANCE: f64 = 2e-6;

    fn index(&mut self, _at: usize, x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        let (bins, n) = (self.settings.bins, self.shape.samples);
        let bands = &self.bands;
        let mut told = Told::default();
        let of_band = |kind| bands.gains(kind).iter().flat_map(|gain| x.chunks(n).map(move |x| (gain, x)));
        let (mut phases, mut amplitudes): (Vec<Vec<usize>>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for (gain, x) in of_band(Kind::Phase) {
            let signal = bands.at_once(gain, x, &mut told.copied_bytes);
            phases.push(signal.iter().map(|&z| bin_of(z, bins)).collect());
        }
        for (gain, x) in of_band(Kind::Amplitude) {
            let signal = bands.at_once(gain, x, &mut told.copied_bytes);
            amplitudes.push(signal.iter().map(|z| z.norm()).collect());
        }
        for (chunk, index) in index.chunks_mut(self.pairs).enumerate() {
            self.bins.clear();
            self.amplitudes.clear();
            for pair in (chunk * self.pairs..).take(index.len()) {
                let (bins, amplitudes) = of_pair(pair, &phases, &amplitudes, self.shape.channels);
                self.bins.extend_from_slice(bins);
                self.amplitudes.extend_from_slice(amplitudes);
            }
            told.copied_bytes += (size_of_val(&self.bins[..]) + size_of_val(&self.amplitudes[..])) as u64;
            told.chunks += 1;
            let gathered = self.bins.chunks(n).zip(self.amplitudes.chunks(n));
            for ((of_pair, amplitudes), index) in gathered.zip(index) {
                let (mut sums, mut counts) = (vec![0.0; bins], vec![0; bins]);
                for (bin, amplitude) in of_pair.iter().zip(amplitudes) {
                    sums[*bin] += f64::from(*amplitude);
                    counts[*bin] += 1;
                }
                *index = modulation_index(&sums, &counts);
            }
        }
        Ok(told)
    }
}
