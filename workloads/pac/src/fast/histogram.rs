//! Sums of amplitudes in the bins of phases, for all pairs of bands at once.
//!
//! The amplitudes of sixteen bands at one time are adjacent, and are added to the bin of each of sixteen phase bands in
//! turn: with vector additions that never wait for each other.
#![expect(clippy::inline_always, reason = "see `kernels`")]

use pulp::NullaryFnOnce;

use super::scalar::Scalar;

/// Number of amplitude bands that are added together.
const LANES: usize = 16;
/// Number of phase bands whose bins fit the first-level cache together.
pub(super) const PHASES: usize = 16;
/// Number of samples whose amplitudes are rearranged at a time.
const TILE: usize = 128;
/// Number of tiles that are summed in the signal's precision before their sums are added in f64.
const TILES: usize = 16;

/// Memory for the sums of a channel.
pub(super) struct Histogram<T> {
    bins: usize,
    /// Partial sums: (phase band, bin), and a lane for each amplitude band.
    partial: Vec<[T; LANES]>,
    rows: Vec<[T; LANES]>,
    /// Position in `partial` of the bin of each phase band.
    slots: Vec<[u16; PHASES]>,
}

/// Bins and amplitudes of a channel.
pub(super) struct Bands<'a, T> {
    /// Number of samples of each band.
    pub(super) samples: usize,
    /// Bins of the phases: (phase band, sample).
    pub(super) bins: &'a [u8],
    /// Amplitudes: (amplitude band, sample).
    pub(super) amplitudes: &'a [T],
}

/// Kernel that sets `sums`, (phase band, bin, amplitude band), and `counts`, (phase band, bin).
pub(super) struct Sum<'a, T> {
    pub(super) histogram: &'a mut Histogram<T>,
    pub(super) bands: Bands<'a, T>,
    pub(super) sums: &'a mut [f64],
    pub(super) counts: &'a mut [u64],
}

impl<T: Scalar> NullaryFnOnce for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.histogram.sum(&self.bands, self.sums, self.counts);
    }
}

impl<T: Scalar> Histogram<T> {
    pub(super) fn new(bins: usize) -> Self {
        Self {
            bins,
            partial: vec![[T::zero(); LANES]; PHASES * bins],
            rows: vec![[T::zero(); LANES]; TILE],
            slots: vec![[0; PHASES]; TILE],
        }
    }

    /// Sets `sums`, (phase band, bin, amplitude band), and `counts`, (phase band, bin).
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it has to be compiled with the vector instructions of its caller"
    )]
    pub(super) fn sum(&mut self, bands: &Bands<'_, T>, sums: &mut [f64], counts: &mut [u64]) {
        let amplitudes = bands.amplitudes.len() / bands.samples;
        sums.fill(0.0);
        counts.fill(0);
        for (block, of_phases) in bands.bins.chunks(PHASES * bands.samples).enumerate() {
            let first_bin = block * PHASES * self.bins;
            let phases = of_phases.len() / bands.samples;
            for (lanes, of_amplitudes) in bands.amplitudes.chunks(LANES * bands.samples).enumerate() {
                self.rows.fill([T::zero(); LANES]);
                let tiles = bands.samples.div_ceil(TILE);
                for tile in 0..tiles {
                    let first = tile * TILE;
                    let length = TILE.min(bands.samples - first);
                    for (lane, amplitudes) in of_amplitudes.chunks(bands.samples).enumerate() {
                        for (row, amplitude) in self.rows.iter_mut().zip(&amplitudes[first..first + length]) {
                            row[lane] = *amplitude;
                        }
                    }
                    for (phase, bins) in of_phases.chunks(bands.samples).enumerate() {
                        let base = (phase * self.bins) as u16;
                        for (slots, bin) in self.slots.iter_mut().zip(&bins[first..first + length]) {
                            slots[phase] = base + u16::from(*bin);
                        }
                    }
                    if lanes == 0 {
                        self.count(length, phases, &mut counts[first_bin..]);
                    }
                    add_rows(&mut self.partial, &self.rows[..length], &self.slots, phases);
                    if (tile + 1).is_multiple_of(TILES) || tile + 1 == tiles {
                        self.flush(phases, &mut sums[first_bin * amplitudes..], amplitudes, lanes * LANES);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn count(&self, length: usize, phases: usize, counts: &mut [u64]) {
        for slots in &self.slots[..length] {
            for slot in &slots[..phases] {
                counts[usize::from(*slot)] += 1;
            }
        }
    }

    #[inline(always)]
    fn flush(&mut self, phases: usize, sums: &mut [f64], amplitudes: usize, first: usize) {
        for (partial, sums) in self.partial[..phases * self.bins].iter_mut().zip(sums.chunks_mut(amplitudes))
        {
            for (partial, sum) in partial.iter().zip(&mut sums[first..]) {
                *sum += partial.widen();
            }
            *partial = [T::zero(); LANES];
        }
    }
}

/// Adds every row to the sums in its first `phases` slots.
#[inline(always)]
pub(crate) fn add_rows<T: Scalar, const LANES: usize, const SLOTS: usize>(
    sums: &mut [[T; LANES]],
    rows: &[[T; LANES]],
    slots: &[[u16; SLOTS]],
    phases: usize,
) {
    for (row, slots) in rows.iter().zip(slots) {
        // Copied, because the compiler must see that the row and the sums are different memory.
        let row = *row;
        for slot in &slots[..phases] {
            let sum = &mut sums[usize::from(*slot)];
            let mut lanes = *sum;
            for lane in 0..LANES {
                lanes[lane] = lanes[lane] + row[lane];
            }
            *sum = lanes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_counts_are_those_of_a_plain_loop() {
        for (phases, amplitudes, bins, samples) in
            [(1, 1, 2, 1), (3, 17, 18, 129), (33, 5, 7, 300), (16, 16, 18, 5000)]
        {
            let number = |p: usize, t: usize| (p * 31 + t * 17 + t * t) % bins;
            let amplitude = |a: usize, t: usize| ((a * 7 + t * 3) % 64) as f64;
            let of_phases: Vec<u8> =
                (0..phases).flat_map(|p| (0..samples).map(move |t| number(p, t) as u8)).collect();
            let of_amplitudes: Vec<f64> =
                (0..amplitudes).flat_map(|a| (0..samples).map(move |t| amplitude(a, t))).collect();
            let (mut due_sums, mut due_counts) =
                (vec![0.0; phases * bins * amplitudes], vec![0; phases * bins]);
            for p in 0..phases {
                for t in 0..samples {
                    let bin = p * bins + number(p, t);
                    due_counts[bin] += 1;
                    (0..amplitudes).for_each(|a| due_sums[bin * amplitudes + a] += amplitude(a, t));
                }
            }
            let bands = Bands { samples, bins: &of_phases, amplitudes: &of_amplitudes };
            let (mut sums, mut counts) = (vec![1.0; due_sums.len()], vec![1; due_counts.len()]);
            let mut histogram = Histogram::new(bins);
            for _ in 0..2 {
                histogram.sum(&bands, &mut sums, &mut counts);
                assert_eq!(
                    (&sums, &counts),
                    (&due_sums, &due_counts),
                    "{phases} {amplitudes} {bins} {samples}"
                );
            }
        }
    }
}
