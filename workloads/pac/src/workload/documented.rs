//! The document's "after": no clones, no one-hot tensor, chunks of bands, and memory that is kept.

use perfharness_contract::Failure;

use super::bands::{Bands, Kind, Memory, bin_of};
use super::measured::{Told, Variant};
use crate::fast::index_of_sums;
use crate::{Filters, Settings, Shape};

/// Number of signals of amplitude bands (a band of a channel) that are processed at a time. The document gives no number.
pub(crate) const CHUNK: usize = 16;

/// Filters a chunk of amplitude bands at a time, and scatters their amplitudes to the sums of their bins.
pub(crate) struct Documented {
    settings: Settings,
    shape: Shape,
    bands: Bands,
    memory: Memory,
    /// Bin of every sample: (phase band, channel, sample).
    bins: Vec<u8>,
    /// Number of samples in every bin: (phase band, channel, bin).
    counts: Vec<u64>,
    /// Amplitudes of a chunk: (amplitude band and channel, sample).
    amplitudes: Vec<f32>,
    sums: Vec<f64>,
}

impl Documented {
    pub(crate) fn new(settings: &Settings, shape: Shape) -> Self {
        let bands = Bands::new(&Filters::design(settings, shape.samples), shape.samples);
        let phases = settings.phase.len() * shape.channels;
        let chunk = CHUNK.min(settings.amplitude.len() * shape.channels);
        Self {
            settings: settings.clone(),
            shape,
            memory: bands.memory(),
            bands,
            bins: vec![0; phases * shape.samples],
            counts: vec![0; phases * settings.bins],
            amplitudes: vec![0.0; chunk * shape.samples],
            sums: vec![0.0; settings.bins],
        }
    }

    /// Sets the bins of all phase bands, and their counts.
    fn phases(&mut self, x: &[f32], copied: &mut u64) {
        let Self { settings, shape, bands, memory, .. } = self;
        let rows =
            bands.gains(Kind::Phase).iter().flat_map(|gain| x.chunks(shape.samples).map(move |x| (gain, x)));
        let bins = self.bins.chunks_mut(shape.samples).zip(self.counts.chunks_mut(settings.bins));
        for ((gain, x), (bins, counts)) in rows.zip(bins) {
            counts.fill(0);
            for (bin, z) in bins.iter_mut().zip(bands.in_place(gain, x, memory, copied)) {
                let number = bin_of(*z, settings.bins);
                *bin = number as u8;
                counts[number] += 1;
            }
        }
    }

    /// Sets the indexes of an amplitude band of a channel, whose amplitudes are at `row` of the chunk.
    fn couple(&mut self, row: usize, band: usize, channel: usize, index: &mut [f64]) {
        let Self { settings, shape, sums, .. } = self;
        let amplitudes = &self.amplitudes[row * shape.samples..][..shape.samples];
        for phase in 0..settings.phase.len() {
            let signal = phase * shape.channels + channel;
            let bins = &self.bins[signal * shape.samples..][..shape.samples];
            sums.fill(0.0);
            for (bin, amplitude) in bins.iter().zip(amplitudes) {
                sums[usize::from(*bin)] += f64::from(*amplitude);
            }
            let counts = &self.counts[signal * settings.bins..][..settings.bins];
            index[(band * settings.phase.len() + phase) * shape.channels + channel] =
                index_of_sums(sums.iter(), counts);
        }
    }
}

impl Variant for Documented {
    const TOLERANCE: f64 = 2e-6;

    fn index(&mut self, _at: usize, x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        self.shape.check_samples(x)?;
        let mut told = Told::default();
        self.phases(x, &mut told.copied_bytes);
        let (channels, samples) = (self.shape.channels, self.shape.samples);
        let signals = self.settings.amplitude.len() * channels;
        for first in (0..signals).step_by(CHUNK) {
            let chunk = first..signals.min(first + CHUNK);
            for (signal, amplitudes) in chunk.clone().zip(self.amplitudes.chunks_mut(samples)) {
                let (gain, x) = (
                    &self.bands.gains(Kind::Amplitude)[signal / channels],
                    &x[signal % channels * samples..][..samples],
                );
                let points = self.bands.in_place(gain, x, &mut self.memory, &mut told.copied_bytes);
                amplitudes.iter_mut().zip(points).for_each(|(amplitude, z)| *amplitude = z.norm());
            }
            for signal in chunk {
                self.couple(signal - first, signal / channels, signal % channels, index);
            }
            told.chunks += 1;
        }
        Ok(told)
    }
}
