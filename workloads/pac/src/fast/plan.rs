//! Plan: everything that does not depend on the samples, computed once.

use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::channel::{Channel, Shared};
use super::histogram::PHASES;
use super::index::Totals;
use super::scalar::Scalar;
use super::sectors::Sectors;
use super::spectrum::Spectrum;
use crate::settings::check_length;
use crate::{Filters, PacError, Settings, Shape};

/// Computes indexes of signals of one shape, in f32 or f64. After the first call it allocates nothing on one thread;
/// with more threads, the pool allocates once in about sixty calls.
pub struct Plan<T> {
    settings: Settings,
    shape: Shape,
    shared: Shared<T>,
    totals: Totals,
    team: Team<T>,
}

/// Threads that process the channels.
enum Team<T> {
    /// The caller's own thread.
    Alone(Box<Channel<T>>),
    /// A pool, and memory for each of its threads.
    Pool(ThreadPool, Vec<Mutex<Channel<T>>>),
}

impl<T> std::fmt::Debug for Plan<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("settings", &self.settings)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl<T: Scalar> Plan<T> {
    /// Designs the filters and plans the transforms. The channels are shared among `threads` threads, but never more
    /// threads than channels; 0 stands for all processors of the machine.
    ///
    /// # Errors
    /// Returns an error if the settings or the shape are invalid, or if the threads cannot be started.
    pub fn new(settings: &Settings, shape: Shape, threads: usize) -> Result<Self, PacError> {
        settings.check()?;
        shape.check()?;
        let filters = Filters::design(settings, shape.samples);
        let shared =
            Shared { spectrum: Spectrum::new(&filters, shape.samples), sectors: Sectors::new(settings.bins) };
        let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = if threads == 0 { available() } else { threads }.min(shape.channels);
        let channel = || Channel::new(&shared, settings.bins);
        let team = if threads == 1 {
            Team::Alone(Box::new(channel()))
        } else {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| PacError::Threads(error.to_string()))?;
            Team::Pool(pool, (0..threads).map(|_| Mutex::new(channel())).collect())
        };
        let totals = Totals::new(settings, shape.channels);
        Ok(Self { settings: settings.clone(), shape, shared, totals, team })
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        match &self.team {
            Team::Alone(_) => 1,
            Team::Pool(_, channels) => channels.len(),
        }
    }

    /// Bytes that a call copies unchanged: the filtered signals, which the transform overwrites, and the amplitudes,
    /// which are rearranged for every sixteen phase bands.
    pub fn copied_bytes(&self) -> u64 {
        let filtered = 2 * (self.shared.spectrum.phase.len() + self.shared.spectrum.amplitude.len());
        let rows = self.settings.amplitude.len() * self.settings.phase.len().div_ceil(PHASES);
        ((filtered + rows) * self.shape.len() * size_of::<T>()) as u64
    }

    /// Computes the index of `x`, (channel, sample), and writes it to `index`, (amplitude band, phase band, channel).
    ///
    /// # Errors
    /// Returns an error if a slice has another length than planned, or a sample is NaN or infinite; `index` stays.
    pub fn index(&mut self, x: &[T], index: &mut [f64]) -> Result<(), PacError> {
        check_length("samples", x.len(), self.shape.len())?;
        check_length("indexes", index.len(), self.settings.indexes(self.shape.channels))?;
        self.shape.check_samples(x)?;
        let bins = self.settings.phase.len() * self.settings.bins;
        let Self { shared, totals, team, .. } = self;
        let (sums, counts) = (&mut totals.sums, &mut totals.counts);
        let sums_each = bins * self.settings.amplitude.len();
        match team {
            Team::Alone(channel) => {
                let rows = x.chunks(self.shape.samples);
                for ((x, sums), counts) in rows.zip(sums.chunks_mut(sums_each)).zip(counts.chunks_mut(bins)) {
                    channel.sum(shared, x, sums, counts);
                }
            }
            Team::Pool(pool, channels) => {
                let (shared, channels) = (&*shared, &*channels);
                let rows = x.par_chunks(self.shape.samples);
                let work =
                    rows.zip(sums.par_chunks_mut(sums_each)).zip(counts.par_chunks_mut(bins)).with_max_len(1);
                pool.install(|| {
                    work.for_each(|((x, sums), counts)| {
                        let thread = rayon::current_thread_index().unwrap_or(0);
                        // Each thread has its own channel, so no thread waits, and a panic ends the call anyway.
                        let mut channel = channels[thread].lock().unwrap_or_else(PoisonError::into_inner);
                        channel.sum(shared, x, sums, counts);
                    });
                });
            }
        }
        self.totals.index(&self.settings, index);
        Ok(())
    }
}
