//! Computation of the index from the sums of the bins.

use crate::{Normalisation, Settings};

/// Sums and counts of all channels.
pub(super) struct Totals {
    /// (channel, phase band, bin, amplitude band)
    pub(super) sums: Vec<f64>,
    /// (channel, phase band, bin)
    pub(super) counts: Vec<u64>,
    /// Number of samples in every bin over the call.
    in_call: Vec<u64>,
}

impl Totals {
    pub(super) fn new(settings: &Settings, channels: usize) -> Self {
        let counts = channels * settings.phase.len() * settings.bins;
        Self {
            sums: vec![0.0; counts * settings.amplitude.len()],
            counts: vec![0; counts],
            in_call: vec![0; settings.bins],
        }
    }

    /// Writes the index, (amplitude band, phase band, channel).
    pub(super) fn index(&mut self, settings: &Settings, index: &mut [f64]) {
        let Settings { bins, normalisation, .. } = *settings;
        let (phases, amplitudes) = (settings.phase.len(), settings.amplitude.len());
        self.in_call.fill(0);
        for counts in self.counts.chunks(bins) {
            self.in_call.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        let channels = index.len() / (phases * amplitudes);
        let signals = self.sums.chunks(bins * amplitudes).zip(self.counts.chunks(bins));
        for (signal, (sums, counts)) in signals.enumerate() {
            let (channel, phase) = (signal / phases, signal % phases);
            let divisors = match normalisation {
                Normalisation::Textbook => counts,
                Normalisation::Tensorpac => &self.in_call,
            };
            for amplitude in 0..amplitudes {
                let sums = sums.iter().skip(amplitude).step_by(amplitudes);
                index[(amplitude * phases + phase) * channels + channel] = index_of_sums(sums, divisors);
            }
        }
    }
}

/// Returns the index of one pair without bins whose divisor is 0. Allocates nothing.
pub(crate) fn index_of_sums<'a>(sums: impl Iterator<Item = &'a f64> + Clone, divisors: &[u64]) -> f64 {
    let means = sums.zip(divisors).filter(|(_, count)| **count > 0).map(|(sum, count)| sum / *count as f64);
    let total: f64 = means.clone().sum();
    // An empty bin gives 0 ln 0, which is NaN.
    let weighted: f64 = means.map(|mean| mean / total).map(|p| p * p.ln()).sum();
    1.0 + weighted / (divisors.len() as f64).ln()
}
