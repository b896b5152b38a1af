//! Data that is planned once for signals of one length: transforms, gains and the circle of samples.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::scalar::Scalar;
use crate::Filters;
use crate::design::smooth_length;

/// Two bands that are filtered together. The real part of the spectrum's gain belongs to the first band, the imaginary
/// part to the second, if there is one.
pub(crate) struct Pair<T> {
    /// Number of the first band; the second is the next one.
    pub(crate) first: usize,
    /// Number of bands: one or two.
    pub(crate) bands: usize,
    /// Squared gain at every frequency of the circle, divided by its length.
    pub(crate) gain: Vec<Complex<T>>,
}

/// Transforms and gains that the channels share.
pub(crate) struct Spectrum<T> {
    /// Number of samples of a channel.
    pub(crate) samples: usize,
    /// Number of samples by which the signal is extended at each end.
    pub(crate) extension: usize,
    /// Transforms around the circle, forward and back.
    pub(crate) circle: [Arc<dyn Fft<T>>; 2],
    /// Transforms of the padded length, forward and back.
    pub(crate) padded: [Arc<dyn Fft<T>>; 2],
    pub(crate) phase: Vec<Pair<T>>,
    pub(crate) amplitude: Vec<Pair<T>>,
}

impl<T: Scalar> Spectrum<T> {
    pub(crate) fn new(filters: &Filters, samples: usize) -> Self {
        let extension = filters.highest_order();
        let length = quick_length(samples + 2 * extension);
        let padded = smooth_length(samples);
        let mut planner = FftPlanner::new();
        let mut both = |length| [planner.plan_fft_forward(length), planner.plan_fft_inverse(length)];
        let (circle, padded) = (both(length), both(padded));
        let in_f64 = FftPlanner::new().plan_fft_forward(length);
        let pairs = |bands: &[Vec<f64>]| {
            let pair = |(i, taps): (usize, &[Vec<f64>])| Pair {
                first: 2 * i,
                bands: taps.len(),
                gain: squared_gains(taps, in_f64.as_ref()),
            };
            bands.chunks(2).enumerate().map(pair).collect()
        };
        let (phase, amplitude) = (pairs(&filters.phase), pairs(&filters.amplitude));
        Self { samples, extension, circle, padded, phase, amplitude }
    }

    /// Number of samples around the circle.
    pub(crate) fn circle_length(&self) -> usize {
        self.circle[0].len()
    }

    /// Number of samples to which the filtered signal is padded.
    pub(crate) fn padded_length(&self) -> usize {
        self.padded[0].len()
    }

    /// Number of complex numbers that the largest transform needs beside its data.
    pub(crate) fn scratch_length(&self) -> usize {
        self.circle.iter().chain(&self.padded).map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0)
    }
}

/// Returns the squared gains of one or two filters, from one transform of both.
fn squared_gains<T: Scalar>(taps: &[Vec<f64>], fft: &dyn Fft<f64>) -> Vec<Complex<T>> {
    let length = fft.len();
    let tap = |band: usize, n: usize| taps.get(band).and_then(|taps| taps.get(n)).copied().unwrap_or(0.0);
    let mut both: Vec<Complex<f64>> = (0..length).map(|n| Complex::new(tap(0, n), tap(1, n))).collect();
    fft.process(&mut both);
    let scale = 1.0 / length as f64;
    let gain = |k: usize| {
        // The spectrum of a real signal at -k is the conjugate of that at k, which separates the two.
        let (here, there) = (both[k], both[(length - k) % length].conj());
        let (first, second) = ((here + there) / 2.0, (here - there) / 2.0);
        Complex::new(T::narrow(first.norm_sqr() * scale), T::narrow(second.norm_sqr() * scale))
    };
    (0..length).map(gain).collect()
}

/// Returns a length of at least `least` that transforms fast: a power of two, or one times a small number. It is at
/// most 20 % above `least`.
fn quick_length(least: usize) -> usize {
    let multiple = |factor: usize| factor * least.div_ceil(factor).next_power_of_two();
    [1, 3, 5, 9, 15].into_iter().map(multiple).min().unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_length_is_large_enough_and_not_much_larger() {
        assert_eq!(quick_length(32_256), 32_768);
        assert_eq!(quick_length(852), 960);
        for least in 1..5000 {
            let length = quick_length(least);
            assert!(length >= least && length * 4 <= least * 5, "{least}: {length}");
        }
    }
}
