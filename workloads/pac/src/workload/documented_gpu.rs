//! The document's "after" on a GPU: no clones, no one-hot tensor, chunks of bands, and buffers from a pool.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::{Buffer, Gpu, Pipeline};

use super::bands::Kind;
use super::documented::CHUNK;
use super::measured::{Told, Variant};
use super::pool::Pool;
use super::stages::{Chunk, Joined, Memory, Recording, Stages};
use crate::gpu::Outcome;
use crate::{Settings, Shape};

/// Filters a chunk of bands at a time, and scatters its amplitudes to the histograms of all phase bands.
pub(crate) struct DocumentedGpu {
    pool: Pool,
    stages: Stages,
    joined: Joined,
    memory: Memory,
    phase: Vec<Chunk>,
    amplitude: Vec<Chunk>,
    phase_bands: u32,
    couple: Pipeline,
    /// Bins of all phase bands, which every chunk of amplitudes needs.
    bins: Buffer,
    outcome: Outcome,
}

impl DocumentedGpu {
    pub(crate) fn new(setup: &Setup, settings: &Settings, shape: Shape) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let stages = Stages::new(&gpu, settings, shape)?;
        let couple = [
            include_str!("../shaders/own_count.wgsl"),
            include_str!("../shaders/one_band.wgsl"),
            include_str!("../shaders/index.wgsl"),
            include_str!("../shaders/couple.wgsl"),
        ];
        let words = stages.bins_words((settings.phase.len() * shape.channels) as u64);
        Ok(Self {
            pool: Pool::new(&gpu, shape)?,
            joined: Joined::new(&stages)?,
            memory: Memory::pooled(&gpu),
            phase: stages.chunks(Kind::Phase, settings.phase.len(), CHUNK as u32)?,
            amplitude: stages.chunks(Kind::Amplitude, settings.amplitude.len(), CHUNK as u32)?,
            phase_bands: settings.phase.len() as u32,
            couple: stages.constants.pipeline(&gpu, "couple", &couple)?,
            bins: gpu.buffer_for::<u32>("bins", words)?,
            outcome: Outcome::new(&gpu, shape, settings.indexes(shape.channels))?,
            stages,
        })
    }
}

impl Variant for DocumentedGpu {
    const TOLERANCE: f64 = 2e-6;

    fn load(&mut self, pool: &[Vec<f32>]) -> Result<(), Failure> {
        self.pool.load(pool)
    }

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        let Self { pool, stages, joined, memory, bins, outcome, .. } = self;
        let signals = &pool.inputs()[at];
        let mut call = Recording::new(stages, memory);
        for (number, chunk) in self.phase.iter().enumerate() {
            if number == 0 {
                call.find_faults(chunk, signals, outcome)?;
            }
            let points = joined.analytic(&mut call, chunk, signals)?;
            call.bins(chunk, points, bins)?;
        }
        for chunk in &self.amplitude {
            let points = joined.analytic(&mut call, chunk, signals)?;
            let amplitudes = call.amplitudes(chunk, points)?;
            let bound = self.couple.bind([
                ("sizes", &chunk.sizes),
                ("bins", bins),
                ("amplitudes", &amplitudes),
                ("result", outcome.buffer()),
            ])?;
            call.commands.dispatch(&bound, [self.phase_bands, chunk.rows, 1]);
            call.memory.give(amplitudes);
        }
        outcome.fetch(&mut call.commands, index)?;
        call.memory.submitted();
        let chunks = (self.phase.len() + self.amplitude.len()) as u64;
        Ok(Told { copied_bytes: call.copied_bytes, chunks, ..Told::default() })
    }
}

impl Joined {
    /// Filters the rows of a chunk forwards and backwards, and returns their analytic signals.
    fn analytic(&self, call: &mut Recording<'_>, chunk: &Chunk, signals: &Buffer) -> Result<Buffer, Failure> {
        let circle = call.stage(&self.begin, chunk, signals)?;
        let forwards = call.filter(chunk, circle)?;
        let turned = call.then(&self.turn_around, chunk, forwards)?;
        let backwards = call.filter(chunk, turned)?;
        let padded = call.then(&self.keep, chunk, backwards)?;
        call.analytic(chunk, padded)
    }
}
