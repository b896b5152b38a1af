//! The document's "before": a one-hot tensor of all pairs at once.

use perfharness_contract::{Failure, Setup};

use super::bands::{Bands, Kind, bin_of};
use super::budget;
use super::measured::{Told, Variant};
use crate::oracle::modulation_index;
use crate::{Filters, Settings, Shape};

/// Filters stage by stage, and spreads every amplitude over all bins, of which one holds it and the others hold 0.
pub(crate) struct Slow {
    settings: Settings,
    shape: Shape,
    bands: Bands,
}

impl Slow {
    pub(crate) fn new(setup: &Setup, settings: &Settings, shape: Shape) -> Result<Self, Failure> {
        budget::check_tensor(setup, settings, shape)?;
        let bands = Bands::new(&Filters::design(settings, shape.samples), shape.samples);
        Ok(Self { settings: settings.clone(), shape, bands })
    }
}

impl Variant for Slow {
    const TOLERANCE: f64 = 2e-6;

    fn index(&mut self, _at: usize, x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.shape.check_samples(x)?;
        let (bins, n) = (self.settings.bins, self.shape.samples);
        let mut copied = 0;
        let mut signals = |kind| -> Vec<Vec<_>> {
            let gains = self.bands.gains(kind).iter();
            let pairs = gains.flat_map(|gain| x.chunks(n).map(move |x| (gain, x)));
            pairs.map(|(gain, x)| self.bands.stage_by_stage(gain, x, &mut copied)).collect()
        };
        let phases: Vec<Vec<usize>> = signals(Kind::Phase)
            .iter()
            .map(|signal| signal.iter().map(|&z| bin_of(z, bins)).collect())
            .collect();
        let amplitudes: Vec<Vec<f32>> =
            signals(Kind::Amplitude).iter().map(|signal| signal.iter().map(|z| z.norm()).collect()).collect();

        let values = index.len() * n * bins;
        let mut tensor: Vec<f32> = Vec::new();
        tensor.try_reserve_exact(values).map_err(|error| {
            Failure::OutOfMemory(format!(
                "the one-hot tensor of {} bytes: {error}",
                values * size_of::<f32>()
            ))
        })?;
        tensor.resize(values, 0.0);
        let channels = self.shape.channels;
        for (pair, rows) in tensor.chunks_mut(n * bins).enumerate() {
            let (phases, amplitudes) = of_pair(pair, &phases, &amplitudes, channels);
            for ((row, bin), amplitude) in rows.chunks_mut(bins).zip(phases).zip(amplitudes) {
                row[*bin] = *amplitude;
            }
        }
        for (pair, (rows, index)) in tensor.chunks(n * bins).zip(index).enumerate() {
            let mut sums = vec![0.0; bins];
            for row in rows.chunks(bins) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            let mut counts = vec![0; bins];
            let (phases, _) = of_pair(pair, &phases, &amplitudes, channels);
            for bin in phases {
                counts[*bin] += 1;
            }
            *index = modulation_index(&sums, &counts);
        }
        let tensor_bytes = size_of_val(&tensor[..]) as u64;
        Ok(Told { copied_bytes: copied, tensor_bytes, chunks: 1 })
    }
}

/// Bins and amplitudes of a pair of bands and a channel.
fn of_pair<'a>(
    pair: usize,
    phases: &'a [Vec<usize>],
    amplitudes: &'a [Vec<f32>],
    channels: usize,
) -> (&'a [usize], &'a [f32]) {
    let (amplitude, signal) = (pair / phases.len(), pair % phases.len());
    (&phases[signal], &amplitudes[amplitude * channels + signal % channels])
}
