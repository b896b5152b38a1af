//! The best CPU implementation that we know: all bands of a channel at once, in vector lanes, on all processors.
//!
//! A shift only changes where the rows of amplitudes begin. Sums stay in f64. Differences of prefix sums would need
//! fewer additions, but lose digits behind a large amplitude.
#![expect(clippy::inline_always, reason = "loops are compiled with the vector instructions of the dispatch")]

use std::sync::{Mutex, PoisonError};

use perfharness_contract::Failure;
use pulp::{Arch, NullaryFnOnce};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::input::Input;
use super::logarithm::ln;
use super::welford::Welford;
use super::{BANDS, BLOCK, Score};
use crate::fast::add_rows;
use crate::{PacError, Shape};

/// Number of amplitudes that are added together: all bands, and as many zeros as fill up vectors of four.
const LANES: usize = BANDS.next_multiple_of(4);

type Row = [f64; LANES];
/// Positions of the bins of all phase bands among the sums.
type Slots = [u16; BANDS];

/// Threads and memory.
pub(super) struct Lanes {
    pool: ThreadPool,
    /// Sums of each thread: (phase band, bin), and a lane for each amplitude band.
    sums: Vec<Mutex<Vec<Row>>>,
    bins: usize,
    /// Number of blocks of shifts. They are merged in their order, so that the number of threads changes nothing.
    blocks: usize,
    /// Amplitudes and bins: (channel, sample).
    rows: Vec<Row>,
    slots: Vec<Slots>,
    /// Indexes: (channel, block of shifts, phase band). The block after the last one has only the true index.
    seen: Vec<[Welford; LANES]>,
}

impl Lanes {
    /// Starts `threads` threads for inputs with `shifts` shifts; 0 stands for all processors of the machine.
    pub(super) fn new(shape: Shape, bins: usize, shifts: usize, threads: usize) -> Result<Self, PacError> {
        let blocks = shifts.div_ceil(BLOCK);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| PacError::Threads(error.to_string()))?;
        let sums = || Mutex::new(vec![[0.0; LANES]; BANDS * bins]);
        Ok(Self {
            sums: (0..pool.current_num_threads()).map(|_| sums()).collect(),
            pool,
            bins,
            blocks,
            rows: vec![[0.0; LANES]; shape.len()],
            slots: vec![[0; BANDS]; shape.len()],
            seen: vec![[Welford::default(); LANES]; shape.channels * (blocks + 1) * BANDS],
        })
    }
}

impl Score for Lanes {
    fn scores(&mut self, _at: usize, input: &Input, scores: &mut [f64]) -> Result<u64, Failure> {
        let (samples, bins, blocks) = (input.samples(), self.bins, self.blocks);
        let Self { pool, sums, rows, slots, seen, .. } = self;
        pool.install(|| {
            let channels = rows.par_chunks_mut(samples).zip(slots.par_chunks_mut(samples));
            channels.enumerate().for_each(|(channel, (rows, slots))| {
                arrange(input, channel, bins, rows, slots);
            });
            seen.par_chunks_mut(BANDS).enumerate().with_max_len(1).for_each(|(at, seen)| {
                let (channel, block) = (at / (blocks + 1), at % (blocks + 1));
                let here = channel * samples..(channel + 1) * samples;
                // Each thread has its own sums, so no thread waits, and a panic ends the call anyway.
                let thread = rayon::current_thread_index().unwrap_or(0);
                let mut sums = sums[thread].lock().unwrap_or_else(PoisonError::into_inner);
                let shifts = input.shifts.chunks(BLOCK).nth(block).unwrap_or(&[0]);
                Arch::new().dispatch(Block {
                    rows: &rows[here.clone()],
                    slots: &slots[here],
                    counts: |phase: usize| &input.counts[phase * input.channels + channel][..],
                    shifts,
                    sums: &mut sums,
                    seen,
                });
            });
        });
        for (pair, score) in scores.iter_mut().enumerate() {
            let (channel, bands) = (pair % input.channels, pair / input.channels);
            let (lane, phase) = (bands / BANDS, bands % BANDS);
            let of_block = |block: usize| &seen[(channel * (blocks + 1) + block) * BANDS + phase][lane];
            let mut all = Welford::default();
            (0..blocks).for_each(|block| all.merge(of_block(block)));
            *score = all.score(of_block(blocks).mean());
        }
        Ok((BANDS * rows.len() * size_of::<f64>()) as u64)
    }
}

/// Puts the amplitudes of all bands at one time next to each other, and the positions of their bins.
fn arrange(input: &Input, channel: usize, bins: usize, rows: &mut [Row], slots: &mut [Slots]) {
    for band in 0..BANDS {
        let signal = band * input.channels + channel;
        for (row, amplitude) in rows.iter_mut().zip(&input.amplitudes[signal]) {
            row[band] = *amplitude;
        }
        for (slots, bin) in slots.iter_mut().zip(&input.bins[signal]) {
            slots[band] = (band * bins) as u16 + u16::from(*bin);
        }
    }
}

/// Kernel that sets `seen`, one for each phase band, to the indexes of some shifts of a channel.
struct Block<'a, C> {
    rows: &'a [Row],
    slots: &'a [Slots],
    /// Number of samples in the bins of a phase band.
    counts: C,
    shifts: &'a [usize],
    sums: &'a mut [Row],
    seen: &'a mut [[Welford; LANES]],
}

impl<'a, C: Fn(usize) -> &'a [u64]> NullaryFnOnce for Block<'a, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { rows, slots, counts, shifts, sums, seen } = self;
        seen.fill([Welford::default(); LANES]);
        for &shift in shifts {
            sums.fill([0.0; LANES]);
            let (end, start) = rows.split_at(shift);
            let (first, last) = slots.split_at(start.len());
            add_rows(sums, start, first, BANDS);
            add_rows(sums, end, last, BANDS);
            let bins = sums.len() / BANDS;
            for (phase, (sums, seen)) in sums.chunks_mut(bins).zip(&mut *seen).enumerate() {
                let indexes = indexes(sums, counts(phase));
                seen.iter_mut().zip(indexes).for_each(|(seen, index)| seen.add(index));
            }
        }
    }
}

/// Returns the index of every lane without bins whose count is 0, and leaves means in `sums`.
#[inline(always)]
fn indexes(sums: &mut [Row], counts: &[u64]) -> Row {
    let bins = counts.len() as f64;
    let mut total = [0.0; LANES];
    for (sums, &count) in sums.iter_mut().zip(counts).filter(|(_, count)| **count > 0) {
        for (sum, total) in sums.iter_mut().zip(&mut total) {
            *sum /= count as f64;
            *total += *sum;
        }
    }
    // 1 + sum of p ln p / ln bins, as the sum of p ln(p bins), whose terms are small.
    let mut weighted = [0.0; LANES];
    for (means, _) in sums.iter().zip(counts).filter(|(_, count)| **count > 0) {
        for lane in 0..LANES {
            let p = means[lane] / total[lane];
            weighted[lane] += p * ln(p * bins);
        }
    }
    weighted.map(|weighted| weighted / bins.ln())
}
