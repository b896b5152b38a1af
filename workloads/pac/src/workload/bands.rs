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

/// Memory for one signal at a time.
pub(crate) struct Memory {
    circle: Signal,
    padded: Signal,
    scratch: Signal,
}

/// Kind of a band.
#[derive(Clone, Copy, Debug)]
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

    /// Returns the same in memory that is kept, without clones: values move from one buffer to the next, and all else
    /// happens in place. Adds the bytes that it copies to `copied`.
    pub(crate) fn in_place<'a>(
        &self,
        gain: &[Complex<f32>],
        x: &[f32],
        memory: &'a mut Memory,
        copied: &mut u64,
    ) -> &'a [Complex<f32>] {
        let Memory { circle, padded, scratch } = memory;
        let (m, n) = (self.extension, x.len());
        let extended = n + 2 * m;
        for j in 1..=m {
            circle[m - j] = Complex::new(2.0 * x[0] - x[j], 0.0);
            circle[m + n - 1 + j] = Complex::new(2.0 * x[n - 1] - x[n - 1 - j], 0.0);
        }
        for (z, x) in circle[m..].iter_mut().zip(x) {
            *z = Complex::new(*x, 0.0);
        }
        *copied += size_of_val(&circle[..n]) as u64;
        circle[extended..].fill(Complex::default());
        self.filter(gain, circle, scratch);
        let row = &mut circle[..extended];
        row.reverse();
        for z in &mut *row {
            z.im = 0.0;
        }
        *copied += size_of_val(row) as u64;
        circle[extended..].fill(Complex::default());
        self.filter(gain, circle, scratch);
        for (to, z) in padded[..n].iter_mut().zip(circle[..m + n].iter().rev()) {
            *to = Complex::new(z.re, 0.0);
        }
        *copied += size_of_val(&padded[..n]) as u64;
        padded[n..].fill(Complex::default());
        self.weigh(padded, scratch);
        &padded[..n]
    }

    /// Returns memory for [`in_place`](Self::in_place).
    pub(crate) fn memory(&self) -> Memory {
        let [circle, padded] = self.lengths();
        let [circle, padded] = [circle, padded].map(|n| vec![Complex::default(); n]);
        Memory { circle, padded, scratch: self.scratch() }
    }

    /// Returns the memory that the transforms need beside their data.
    fn scratch(&self) -> Signal {
        let ffts = self.circle.iter().chain(&self.padded);
        let length = ffts.map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0);
        vec![Complex::default(); length]
    }

    /// Number of samples by which a signal is extended at each end.
    pub(crate) fn extension(&self) -> usize {
        self.extension
    }

    /// Lengths of the transforms: around the circle, and of the padded signal.
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.circle[0].len(), self.padded[0].len()]
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
        self.filter(gain, &mut circle, &mut self.scratch());
        counted(real(&circle[..x.len()]), copied)
    }

    fn analytic(&self, x: &[f32], copied: &mut u64) -> Signal {
        let mut z = counted(complex(x), copied);
        z.resize(self.padded[0].len(), Complex::default());
        self.weigh(&mut z, &mut self.scratch());
        z.truncate(x.len());
        z
    }

    /// Filters a circle of samples in one pass, in place.
    fn filter(&self, gain: &[Complex<f32>], circle: &mut [Complex<f32>], scratch: &mut [Complex<f32>]) {
        self.circle[0].process_with_scratch(circle, scratch);
        let scale = 1.0 / gain.len() as f32;
        for (z, gain) in circle.iter_mut().zip(gain) {
            *z *= gain * scale;
        }
        self.circle[1].process_with_scratch(circle, scratch);
    }

    /// Replaces a padded signal by its analytic signal.
    fn weigh(&self, z: &mut [Complex<f32>], scratch: &mut [Complex<f32>]) {
        let length = z.len();
        self.padded[0].process_with_scratch(z, scratch);
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
        self.padded[1].process_with_scratch(z, scratch);
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
