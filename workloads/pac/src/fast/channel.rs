//! Computation of one channel, from its samples to the sums of its bins.

use pulp::Arch;
use rustfft::num_complex::Complex;

use super::histogram::{Bands, Histogram, Sum};
use super::kernels::{Amplitudes, Analytic, Filter, Part, QuarterTurn};
use super::scalar::Scalar;
use super::sectors::Sectors;
use super::spectrum::{Pair, Spectrum};

/// Parts of a transform that hold the two bands of a pair.
const PARTS: [Part; 2] = [Part::Real, Part::Imaginary];

/// Data that the channels share.
pub(super) struct Shared<T> {
    pub(super) spectrum: Spectrum<T>,
    pub(super) sectors: Sectors<T>,
}

/// Memory for one channel at a time.
pub(super) struct Channel<T> {
    arch: Arch,
    /// Spectrum of the circle of samples.
    input: Vec<Complex<T>>,
    /// Two filtered signals, real and imaginary, after the inverse transform.
    filtered: Vec<Complex<T>>,
    /// Their Hilbert transforms.
    hilbert: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
    /// (phase band, sample)
    bins: Vec<u8>,
    /// (amplitude band, sample)
    amplitudes: Vec<T>,
    histogram: Histogram<T>,
}

impl<T: Scalar> Channel<T> {
    pub(super) fn new(shared: &Shared<T>, bins: usize) -> Self {
        let spectrum = &shared.spectrum;
        let zeros = |length| vec![Complex::new(T::zero(), T::zero()); length];
        let bands = |pairs: &[Pair<T>]| pairs.iter().map(|pair| pair.bands).sum::<usize>();
        Self {
            arch: Arch::new(),
            input: zeros(spectrum.circle_length()),
            filtered: zeros(spectrum.circle_length()),
            hilbert: zeros(spectrum.padded_length()),
            scratch: zeros(spectrum.scratch_length()),
            bins: vec![0; bands(&spectrum.phase) * spectrum.samples],
            amplitudes: vec![T::zero(); bands(&spectrum.amplitude) * spectrum.samples],
            histogram: Histogram::new(bins),
        }
    }

    /// Sums the amplitudes of the channel `x`: sets `sums`, (phase band, bin, amplitude band), and `counts`, (phase
    /// band, bin).
    pub(super) fn sum(&mut self, shared: &Shared<T>, x: &[T], sums: &mut [f64], counts: &mut [u64]) {
        let samples = shared.spectrum.samples;
        self.transform(&shared.spectrum, x);
        for pair in &shared.spectrum.phase {
            self.analytic(&shared.spectrum, pair);
            let bins = self.bins[pair.first * samples..].chunks_mut(samples);
            let (filtered, hilbert) = (&self.filtered[..samples], &self.hilbert[..samples]);
            for (part, bins) in PARTS.into_iter().take(pair.bands).zip(bins) {
                self.arch.dispatch(shared.sectors.number(Analytic { filtered, hilbert, part }, bins));
            }
        }
        for pair in &shared.spectrum.amplitude {
            self.analytic(&shared.spectrum, pair);
            let amplitudes = self.amplitudes[pair.first * samples..].chunks_mut(samples);
            let (filtered, hilbert) = (&self.filtered[..samples], &self.hilbert[..samples]);
            for (part, amplitudes) in PARTS.into_iter().take(pair.bands).zip(amplitudes) {
                self.arch.dispatch(Amplitudes { signal: Analytic { filtered, hilbert, part }, amplitudes });
            }
        }
        let bands = Bands { samples, bins: &self.bins, amplitudes: &self.amplitudes };
        self.arch.dispatch(Sum { histogram: &mut self.histogram, bands, sums, counts });
    }

    /// Transforms the signal with its extensions.
    fn transform(&mut self, spectrum: &Spectrum<T>, x: &[T]) {
        let (n, m, length) = (x.len(), spectrum.extension, self.input.len());
        // A mean far from 0 would cost all frequencies digits, so it bypasses the transform.
        let mean = x.iter().map(|x| x.widen()).sum::<f64>() / n as f64;
        let offset = T::narrow(mean);
        let input = &mut self.input;
        for (to, &x) in input.iter_mut().zip(x) {
            *to = Complex::new(x - offset, T::zero());
        }
        let (first, last) = (input[0].re + input[0].re, input[n - 1].re + input[n - 1].re);
        input[n + m..length - m].fill(Complex::new(T::zero(), T::zero()));
        for j in 1..=m {
            input[n - 1 + j] = Complex::new(last - input[n - 1 - j].re, T::zero());
            input[length - j] = Complex::new(first - input[j].re, T::zero());
        }
        spectrum.circle[0].process_with_scratch(&mut self.input, &mut self.scratch);
        self.input[0].re = self.input[0].re + offset * T::narrow(length as f64);
    }

    /// Filters to a pair of bands, and computes the Hilbert transforms of the two signals.
    fn analytic(&mut self, spectrum: &Spectrum<T>, pair: &Pair<T>) {
        let Self { arch, input, filtered, hilbert, scratch, .. } = self;
        arch.dispatch(Filter { input, gain: &pair.gain, output: filtered });
        spectrum.circle[1].process_with_scratch(filtered, scratch);
        let samples = spectrum.samples;
        hilbert[..samples].copy_from_slice(&filtered[..samples]);
        hilbert[samples..].fill(Complex::new(T::zero(), T::zero()));
        spectrum.padded[0].process_with_scratch(hilbert, scratch);
        arch.dispatch(QuarterTurn(hilbert));
        spectrum.padded[1].process_with_scratch(hilbert, scratch);
    }
}
