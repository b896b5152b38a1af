//! Filters one band at a time, as the slow and the documented variants do.

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

use crate::Filters;
use crate::design::smooth_length;

type Signal = Vec<Complex<f32>>;

/// Transforms and gains, planned once as in a framework.
pub(crate) struct Bands {
    samples: usize,
    extension: usize,
    circle: [Arc<dyn Fft<f32>>; 2],
    padded: [Arc<dyn Fft<f32>>; 2],
    /// Gain of every band at every frequency of the circle.
    phase: Vec<Signal>,
    amplitude: Vec<Signal>,
}

/// Kind of a band.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Phase,
    Amplitude,
}

impl Bands {
    pub(crate) fn new(filters: &Filters, samples: usize) -> Self {
        let extension = filters.highest_order();
        let length = smooth_length(samples + 2 * extension);
        let mut planner = FftPlanner::new();
        let mut both = |length| [planner.plan_fft_forward(length), planner.plan_fft_inverse(length)];
        let (circle, padded) = (both(length), both(smooth_length(samples)));
        let gain = |taps: &Vec<f64>| {
            let mut gain: Signal = taps.iter().map(|&tap| Complex::new(tap as f32, 0.0)).collect();
            gain.resize(length, Complex::default());
            circle[0].process(&mut gain);
            gain
        };
        let (phase, amplitude) =
            (filters.phase.iter().map(gain).collect(), filters.amplitude.iter().map(gain).collect());
        Self { samples, extension, circle, padded, phase, amplitude }
    }

    pub(crate) fn gains(&self, kind: Kind) -> &[Signal] {
        match kind {
            Kind::Phase => &self.phase,
            Kind::Amplitude => &self.amplitude,
        }
    }

    /// Returns the analytic signal of a band with the stages that the document criticises: each passes on a copy, the
    /// signal is flipped to be filtered backwards, and another copy cuts off the ends. Adds its copies to `copied`.
    pub(crate) fn stage_by_stage(&self, gain: &[Complex<f32>], x: &[f32], copied: &mut u64) -> Signal {
        let cloned = counted(x.to_vec(), copied);
        let extended = counted(self.extended(&cloned, copied).clone(), copied);
        let forward = self.pass(gain, &extended, copied);
        let flipped = counted(flip(&forward, copied).clone(), copied);
        let backward = self.pass(gain, &flipped, copied);
        let filtered = counted(flip(&backward, copied).clone(), copied);
        let kept = counted(filtered[self.extension..][..self.samples].to_vec(), copied);
        self.analytic(&kept, copied)
    }

    /// Does the same without clones: one multiplication by the squared gain replaces both passes. Adds the bytes that
    /// it copies to `copied`.
    pub(crate) fn at_once(&self, gain: &[Complex<f32>], x: &[f32], copied: &mut u64) -> Signal {
        let mut circle = counted(complex(&self.extended(x, copied)), copied);
        circle.resize(gain.len(), Complex::default());
        self.circle[0].process(&mut circle);
        let scale = 1.0 / gain.len() as f32;
        for (z, gain) in circle.iter_mut().zip(gain) {
            *z *= gain.norm_sqr() * scale;
        }
        self.circle[1].process(&mut circle);
        let filtered = counted(real(&circle[self.extension..][..self.samples]), copied);
        self.analytic(&filtered, copied)
    }

    fn extended(&self, x: &[f32], copied: &mut u64) -> Vec<f32> {
        let (m, n) = (self.extension, x.len());
        let before = (1..=m).rev().map(|j| 2.0 * x[0] - x[j]);
        let after = (1..=m).map(|j| 2.0 * x[n - 1] - x[n - 1 - j]);
        // The ends are computed and not copied.
        *copied += size_of_val(x) as u64;
        before.chain(x.iter().copied()).chain(after).collect()
    }

    fn pass(&self, gain: &[Complex<f32>], x: &[f32], copied: &mut u64) -> Vec<f32> {
        let mut circle = counted(complex(x), copied);
        circle.resize(gain.len(), Complex::default());
        self.circle[0].process(&mut circle);
        let scale = 1.0 / gain.len() as f32;
        for (z, gain) in circle.iter_mut().zip(gain) {
            *z *= gain * scale;
        }
        self.circle[1].process(&mut circle);
        counted(real(&circle[..x.len()]), copied)
    }

    fn analytic(&self, x: &[f32], copied: &mut u64) -> Signal {
        let mut z = counted(complex(x), copied);
        let length = self.padded[0].len();
        z.resize(length, Complex::default());
        self.padded[0].process(&mut z);
        let scale = 1.0 / length as f32;
        for (k, z) in z.iter_mut().enumerate() {
            let weight = match (2 * k).cmp(&length) {
                _ if k == 0 => 1.0,
                std::cmp::Ordering::Less => 2.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => 0.0,
            };
            *z *= weight * scale;
        }
        self.padded[1].process(&mut z);
        z.truncate(x.len());
        z
    }
}

/// Adds the size of a copy.
fn counted<T>(copy: Vec<T>, copied: &mut u64) -> Vec<T> {
    *copied += size_of_val(&copy[..]) as u64;
    copy
}

fn flip(signal: &[f32], copied: &mut u64) -> Vec<f32> {
    counted(signal.iter().rev().copied().collect(), copied)
}

fn complex(x: &[f32]) -> Signal {
    x.iter().map(|&x| Complex::new(x, 0.0)).collect()
}

fn real(z: &[Complex<f32>]) -> Vec<f32> {
    z.iter().map(|z| z.re).collect()
}

/// Returns the bin of a point, by its angle.
pub(crate) fn bin_of(z: Complex<f32>, bins: usize) -> usize {
    use std::f32::consts::{PI, TAU};
    let turn = (z.arg() + PI) / TAU * bins as f32;
    // An angle of pi equals -pi.
    turn as usize % bins
}
