//! The index by its definition: slow, simple, in float64. It shares only the taps and the padded length with the fast
//! code.

use std::f64::consts::{PI, TAU};

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use crate::design::{Filters, smooth_length};
use crate::settings::check_length;
use crate::{Normalisation, PacError, Settings, Shape};

/// An index with its intermediate results.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Modulation index, (amplitude band, phase band, channel).
    pub index: Vec<f64>,
    /// Sum of the amplitudes in every bin, (amplitude band, phase band, channel, bin), in units of the signal.
    pub sums: Vec<f64>,
    /// Number of samples in every bin, (phase band, channel, bin).
    pub counts: Vec<u64>,
    /// Analytic signal of every phase band and channel.
    pub phases: Vec<Vec<Complex<f64>>>,
    /// Amplitudes of every amplitude band and channel.
    pub amplitudes: Vec<Vec<f64>>,
}

/// Computes the index of `x`, (channel, sample).
///
/// # Errors
/// Returns an error if the settings, the shape or a sample are invalid.
pub fn oracle(settings: &Settings, shape: Shape, x: &[f64]) -> Result<Oracle, PacError> {
    settings.check()?;
    shape.check()?;
    check_length("samples", x.len(), shape.len())?;
    shape.check_samples(x)?;
    let filters = Filters::design(settings, shape.samples);
    let analytic_of = |filters: &[Vec<f64>]| -> Vec<Vec<Complex<f64>>> {
        let pairs = filters.iter().flat_map(|taps| x.chunks(shape.samples).map(move |row| (taps, row)));
        pairs.map(|(taps, row)| analytic(&filter(taps, row))).collect()
    };
    let phases = analytic_of(&filters.phase);
    let amplitudes: Vec<Vec<f64>> = analytic_of(&filters.amplitude)
        .iter()
        .map(|signal| signal.iter().map(|z| z.norm()).collect())
        .collect();

    let bins = settings.bins;
    let numbers: Vec<Vec<usize>> =
        phases.iter().map(|signal| signal.iter().map(|z| bin(z.arg(), bins)).collect()).collect();
    let counts: Vec<u64> = numbers.iter().flat_map(|of_signal| count(of_signal, bins)).collect();
    let in_call: Vec<u64> = (0..bins).map(|bin| counts.iter().skip(bin).step_by(bins).sum()).collect();

    let mut index = Vec::with_capacity(settings.indexes(shape.channels));
    let mut sums = Vec::with_capacity(settings.indexes(shape.channels) * bins);
    for amplitude in 0..settings.amplitude.len() {
        for phase in 0..settings.phase.len() {
            for channel in 0..shape.channels {
                let signal = phase * shape.channels + channel;
                let of_bins = sum(&amplitudes[amplitude * shape.channels + channel], &numbers[signal], bins);
                let divisors = match settings.normalisation {
                    Normalisation::Textbook => &counts[signal * bins..][..bins],
                    Normalisation::Tensorpac => &in_call,
                };
                index.push(modulation_index(&of_bins, divisors));
                sums.extend(of_bins);
            }
        }
    }
    Ok(Oracle { index, sums, counts, phases, amplitudes })
}

/// Filters forwards and backwards. The ends are extended by point reflection, by as many samples as the order, and both
/// passes start settled on the first value that they see.
pub(crate) fn filter(taps: &[f64], x: &[f64]) -> Vec<f64> {
    let (m, n) = (taps.len() - 1, x.len());
    let before = (1..=m).rev().map(|j| 2.0 * x[0] - x[j]);
    let after = (1..=m).map(|j| 2.0 * x[n - 1] - x[n - 1 - j]);
    let extended: Vec<f64> = before.chain(x.iter().copied()).chain(after).collect();
    let mut passed = settled_pass(taps, &extended);
    passed.reverse();
    let mut passed = settled_pass(taps, &passed);
    passed.reverse();
    passed[m..m + n].to_vec()
}

/// `y[t] = sum of taps[k] x[t - k]`, where samples before the first are equal to the first.
fn settled_pass(taps: &[f64], x: &[f64]) -> Vec<f64> {
    let m = taps.len() - 1;
    let history = std::iter::repeat_n(x[0], m);
    let x: Vec<f64> = history.chain(x.iter().copied()).collect();
    let mut y = vec![0.0; x.len() - m];
    for (k, tap) in taps.iter().enumerate() {
        for (y, x) in y.iter_mut().zip(&x[m - k..]) {
            *y += tap * x;
        }
    }
    y
}

/// Returns the analytic signal, by a transform of a padded length.
pub(crate) fn analytic(x: &[f64]) -> Vec<Complex<f64>> {
    let length = smooth_length(x.len());
    let mut planner = FftPlanner::new();
    let mut z: Vec<Complex<f64>> = x.iter().map(|&x| Complex::new(x, 0.0)).collect();
    z.resize(length, Complex::default());
    planner.plan_fft_forward(length).process(&mut z);
    for (k, z) in z.iter_mut().enumerate() {
        let weight = if k == 0 || 2 * k == length {
            1.0
        } else if 2 * k < length {
            2.0
        } else {
            0.0
        };
        *z *= weight / length as f64;
    }
    planner.plan_fft_inverse(length).process(&mut z);
    z.truncate(x.len());
    z
}

/// Returns the bin of a phase in rad.
pub(crate) fn bin(phase: f64, bins: usize) -> usize {
    let wrapped = (phase + PI).rem_euclid(TAU) - PI;
    let edge = |j: usize| -PI + TAU * j as f64 / bins as f64;
    (1..bins).filter(|&j| edge(j) <= wrapped).count()
}

fn count(numbers: &[usize], bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for &bin in numbers {
        counts[bin] += 1;
    }
    counts
}

fn sum(amplitudes: &[f64], numbers: &[usize], bins: usize) -> Vec<f64> {
    let mut sums = vec![0.0; bins];
    for (amplitude, &bin) in amplitudes.iter().zip(numbers) {
        sums[bin] += amplitude;
    }
    sums
}

/// Returns one index: the distance of the distribution of the mean amplitudes from a flat one. Bins whose divisor is 0
/// are left out; a bin with a divisor and no amplitude makes it NaN.
pub(crate) fn modulation_index(sums: &[f64], divisors: &[u64]) -> f64 {
    let means: Vec<f64> = sums
        .iter()
        .zip(divisors)
        .filter(|(_, count)| **count > 0)
        .map(|(sum, count)| sum / *count as f64)
        .collect();
    let total: f64 = means.iter().sum();
    let entropy: f64 = means.iter().map(|mean| mean / total).map(|p| p * p.ln()).sum();
    1.0 + entropy / (sums.len() as f64).ln()
}
