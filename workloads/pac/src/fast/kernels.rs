//! Loops over a whole signal. Like all code that [`Arch::dispatch`](pulp::Arch::dispatch) runs, they must be inlined
//! into it, so that they are compiled with the vector instructions of the processor.
#![expect(clippy::inline_always, reason = "see above")]

use pulp::NullaryFnOnce;
use rustfft::num_complex::Complex;

use super::scalar::Scalar;

/// One of two real signals that form the real and the imaginary part of a complex one.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Real,
    Imaginary,
}

/// The analytic signal of one band: the filtered signal and its Hilbert transform.
#[derive(Clone, Copy)]
pub(super) struct Analytic<'a, T> {
    pub(super) filtered: &'a [Complex<T>],
    pub(super) hilbert: &'a [Complex<T>],
    pub(super) part: Part,
}

/// Multiplies a spectrum by the gains of a filter.
pub(super) struct Filter<'a, T> {
    pub(super) input: &'a [Complex<T>],
    pub(super) gain: &'a [Complex<T>],
    pub(super) output: &'a mut [Complex<T>],
}

impl<T: Scalar> NullaryFnOnce for Filter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for ((to, &x), &gain) in self.output.iter_mut().zip(self.input).zip(self.gain) {
            *to = x * gain;
        }
    }
}

/// Turns the positive frequencies of a spectrum back by a quarter turn and the negative ones forward, and divides all
/// by their number. The mean, and the highest frequency of an even number, have no quarter turn and become 0.
pub(super) struct QuarterTurn<'a, T>(pub(super) &'a mut [Complex<T>]);

impl<T: Scalar> NullaryFnOnce for QuarterTurn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let spectrum = self.0;
        let length = spectrum.len();
        let scale = T::narrow(1.0 / length as f64);
        let zero = Complex::new(T::zero(), T::zero());
        let positive = (length - 1) / 2;
        spectrum[0] = zero;
        if length.is_multiple_of(2) {
            spectrum[length / 2] = zero;
        }
        for z in &mut spectrum[1..=positive] {
            *z = Complex::new(z.im * scale, -z.re * scale);
        }
        for z in &mut spectrum[length - positive..] {
            *z = Complex::new(-z.im * scale, z.re * scale);
        }
    }
}

/// Writes the amplitudes of an analytic signal.
pub(super) struct Amplitudes<'a, T> {
    pub(super) signal: Analytic<'a, T>,
    pub(super) amplitudes: &'a mut [T],
}

impl<T: Scalar> NullaryFnOnce for Amplitudes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let norm = |x: T, y: T| (x * x + y * y).sqrt();
        let points = self.signal.filtered.iter().zip(self.signal.hilbert);
        let to = self.amplitudes.iter_mut();
        match self.signal.part {
            Part::Real => to.zip(points).for_each(|(to, (x, y))| *to = norm(x.re, y.re)),
            Part::Imaginary => to.zip(points).for_each(|(to, (x, y))| *to = norm(x.im, y.im)),
        }
    }
}
