//! The document's "after": no clones, no one-hot tensor, fixed chunks of pairs.

use perfharness_contract::Failure;

use super::bands::{Bands, Kind, bin_of};
use super::measured::Variant;
use super::slow::of_pair;
use crate::oracle::modulation_index;
use crate::{Filters, Settings, Shape};

/// Pairs of bands and channels whose amplitudes are gathered at a time.
const CHUNK: usize = 16;

/// Gathers the amplitudes of a chunk of pairs, and scatters them to the sums of their bins.
pub(crate) struct Documented {
    settings: Settings,
    shape: Shape,
    bands: Bands,
}

impl Documented {
    pub(crate) fn new(settings: &Settings, shape: Shape) -> Self {
        let bands = Bands::new(&Filters::design(settings, shape.samples), shape.samples);
        Self { settings: settings.clone(), shape, bands }
    }
}

impl Variant for Documented {
    const TOLERANCE: f64 = 2e-6;

    fn index(&mut self, _at: usize, x: &[f32], index: &mut [f64]) -> Result<u64, Failure> {
        let (bins, n) = (self.settings.bins, self.shape.samples);
        let bands = &self.bands;
        let signals = |kind| {
            let gains = bands.gains(kind).iter();
            gains.flat_map(move |gain| x.chunks(n).map(move |x| bands.at_once(gain, x)))
        };
        let phases: Vec<Vec<usize>> =
            signals(Kind::Phase).map(|signal| signal.iter().map(|&z| bin_of(z, bins)).collect()).collect();
        let amplitudes: Vec<Vec<f32>> =
            signals(Kind::Amplitude).map(|signal| signal.iter().map(|z| z.norm()).collect()).collect();
        let mut copied = 0;
        for (chunk, index) in index.chunks_mut(CHUNK).enumerate() {
            let pairs = (chunk * CHUNK..).take(index.len());
            let pairs = pairs.map(|pair| of_pair(pair, &phases, &amplitudes, self.shape.channels));
            let gathered: Vec<(Vec<usize>, Vec<f32>)> =
                pairs.map(|(phases, amplitudes)| (phases.to_vec(), amplitudes.to_vec())).collect();
            copied += (index.len() * n * (size_of::<usize>() + size_of::<f32>())) as u64;
            for ((phases, amplitudes), index) in gathered.iter().zip(index) {
                let (mut sums, mut counts) = (vec![0.0; bins], vec![0; bins]);
                for (bin, amplitude) in phases.iter().zip(amplitudes) {
                    sums[*bin] += f64::from(*amplitude);
                    counts[*bin] += 1;
                }
                *index = modulation_index(&sums, &counts);
            }
        }
        Ok(copied)
    }
}
