//! Bin of a phase, without computing the phase.
//!
//! The edges of the bins are symmetric about the real axis. The bin therefore follows from the number of edges between
//! the positive real axis and the mirror image of the point above it, and the side of an edge follows from the sign of
//! a difference of two products. There is no angle and no branch.
#![expect(clippy::inline_always, reason = "see `kernels`")]

use std::f64::consts::{PI, TAU};

use pulp::NullaryFnOnce;

use super::kernels::{Analytic, Part};
use super::scalar::Scalar;

/// Number of points that are compared with the edges together.
const BLOCK: usize = 64;

/// The bins of the phase.
pub(super) struct Sectors<T> {
    /// Cosine and sine of the edges between 0 and pi.
    edges: Vec<(T, T)>,
    /// The bin right above the positive real axis, and the one right below.
    above: u32,
    below: u32,
}

impl<T: Scalar> Sectors<T> {
    /// Creates the sectors for `bins` bins, at most [`crate::MAX_BINS`].
    pub(super) fn new(bins: usize) -> Self {
        let edge = |j: usize| -PI + TAU * j as f64 / bins as f64;
        let upper = (bins / 2 + 1..bins).map(|j| edge(j).sin_cos());
        let edges = upper.map(|(sin, cos)| (T::narrow(cos), T::narrow(sin))).collect();
        Self { edges, above: (bins / 2) as u32, below: ((bins - 1) / 2) as u32 }
    }

    /// Returns the kernel that writes the bins of a signal. As with `atan2`, a point on the negative real axis is in
    /// bin 0, and the origin is on the positive real axis.
    pub(super) fn number<'a>(&'a self, signal: Analytic<'a, T>, bins: &'a mut [u8]) -> Number<'a, T> {
        Number { sectors: self, signal, bins }
    }
}

/// Writes the bins of an analytic signal.
pub(super) struct Number<'a, T> {
    sectors: &'a Sectors<T>,
    signal: Analytic<'a, T>,
    bins: &'a mut [u8],
}

impl<T: Scalar> NullaryFnOnce for Number<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Analytic { filtered, hilbert, part } = self.signal;
        let blocks = filtered.chunks(BLOCK).zip(hilbert.chunks(BLOCK)).zip(self.bins.chunks_mut(BLOCK));
        for ((filtered, hilbert), bins) in blocks {
            let (mut x, mut y) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
            for (((x, y), from), turned) in x.iter_mut().zip(&mut y).zip(filtered).zip(hilbert) {
                (*x, *y) = match part {
                    Part::Real => (from.re, turned.re),
                    Part::Imaginary => (from.im, turned.im),
                };
            }
            self.sectors.number_block(&x, &y, bins);
        }
    }
}

impl<T: Scalar> Sectors<T> {
    #[inline(always)]
    fn number_block(&self, x: &[T; BLOCK], y: &[T; BLOCK], bins: &mut [u8]) {
        let mut passed = [0_u32; BLOCK];
        for &(cos, sin) in &self.edges {
            for ((passed, x), y) in passed.iter_mut().zip(x).zip(y) {
                *passed += u32::from(cos * y.abs() > sin * *x);
            }
        }
        let (above, below) = (self.above, self.below);
        let mut numbers = [0_u8; BLOCK];
        for (((number, passed), x), y) in numbers.iter_mut().zip(&passed).zip(x).zip(y) {
            let is_above = (*y > T::zero()) | ((*y == T::zero()) & (*x >= T::zero()));
            let (if_above, if_below) = (above.wrapping_add(*passed), below.wrapping_sub(*passed));
            *number = if is_above { if_above } else { if_below } as u8;
        }
        bins.copy_from_slice(&numbers[..bins.len()]);
    }
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::*;
    use crate::oracle;

    fn number<T: Scalar>(bins: usize, points: &[(f64, f64)]) -> Vec<usize> {
        let mut numbers = vec![0; points.len()];
        let real = |value: f64| Complex::new(T::narrow(value), T::nan());
        let filtered: Vec<_> = points.iter().map(|(x, _)| real(*x)).collect();
        let hilbert: Vec<_> = points.iter().map(|(_, y)| real(*y)).collect();
        let signal = Analytic { filtered: &filtered, hilbert: &hilbert, part: Part::Real };
        Sectors::<T>::new(bins).number(signal, &mut numbers).call();
        numbers.into_iter().map(usize::from).collect()
    }

    #[test]
    fn a_bin_is_that_of_the_angle_however_many_there_are() {
        for bins in (2..40).chain([127, 128]) {
            let points: Vec<(f64, f64)> = (0..1001)
                .map(|i| {
                    let (sin, cos) = (0.01 + f64::from(i) * TAU / 1001.0).sin_cos();
                    (cos * f64::from(i + 1), sin * f64::from(i + 1))
                })
                .filter(|(x, y)| {
                    let from_edge = (y.atan2(*x) + PI) / TAU * bins as f64;
                    (from_edge - from_edge.round()).abs() > 1e-5
                })
                .collect();
            let due: Vec<usize> = points.iter().map(|(x, y)| oracle::bin(y.atan2(*x), bins)).collect();
            assert_eq!(number::<f64>(bins, &points), due, "{bins} bins");
            assert_eq!(number::<f32>(bins, &points), due, "{bins} bins");
        }
    }

    #[test]
    fn the_real_axis_is_where_atan2_has_it() {
        let points = [(1.0, 0.0), (1.0, -0.0), (-1.0, 0.0), (-1.0, -0.0), (0.0, 0.0)];
        for bins in [2, 3, 17, 18] {
            let due: Vec<usize> =
                points.iter().map(|(x, y): &(f64, f64)| oracle::bin(y.atan2(*x), bins)).collect();
            assert_eq!(number::<f64>(bins, &points), due, "{bins} bins");
        }
    }
}
