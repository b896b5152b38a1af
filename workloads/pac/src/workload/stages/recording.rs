//! Stages, recorded one after the other.

use perfharness_contract::Failure;
use perfharness_gpu::{Bound, Buffer, Commands};

use super::{Chunk, Memory, Stage, Stages};
use crate::gpu::{COMPLEX_BYTES, Direction, Outcome, Transform, rows};

/// Commands of a call, the memory between them, and the bytes that they copy unchanged.
pub(crate) struct Recording<'a> {
    pub(crate) stages: &'a Stages,
    pub(crate) memory: &'a mut Memory,
    pub(crate) commands: Commands,
    pub(crate) copied_bytes: u64,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(stages: &'a Stages, memory: &'a mut Memory) -> Self {
        Self { stages, memory, commands: stages.gpu.commands("index"), copied_bytes: 0 }
    }

    /// Sends what was recorded, and frees the memory that was given back unless it is pooled.
    pub(crate) fn submit(&mut self) -> Result<(), Failure> {
        self.commands.submit()?;
        self.memory.submitted();
        Ok(())
    }

    /// Finds samples of `signals` that are not finite, for [`Outcome::fetch`].
    pub(crate) fn find_faults(
        &mut self,
        all: &Chunk,
        signals: &Buffer,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let channels = self.stages.sizes.channels;
        let means = self.memory.take("means", u64::from(channels) * size_of::<f32>() as u64)?;
        let bound = self.stages.means.bind([
            ("sizes", &all.sizes),
            ("x", signals),
            ("means", &means),
            ("result", outcome.buffer()),
        ])?;
        self.commands.dispatch(&bound, [channels, 1, 1]);
        self.memory.give(means);
        Ok(())
    }

    /// Clones a buffer by a copy on the device.
    pub(crate) fn clone_of(&mut self, from: &Buffer) -> Result<Buffer, Failure> {
        let clone = self.memory.take("clone", from.bytes())?;
        self.commands.copy(from, &clone);
        self.copied_bytes += from.bytes();
        Ok(clone)
    }

    /// Runs a stage into a new buffer.
    pub(crate) fn stage(&mut self, stage: &Stage, chunk: &Chunk, from: &Buffer) -> Result<Buffer, Failure> {
        let to = self.memory.take(stage.pipeline.label(), stage.row_bytes * u64::from(chunk.rows))?;
        let bound =
            stage.pipeline.bind([("sizes", &chunk.sizes), (stage.input, from), (stage.output, &to)])?;
        self.dispatch(&bound, stage.length, chunk);
        self.copied_bytes += stage.copied_bytes * u64::from(chunk.rows);
        Ok(to)
    }

    /// Runs a stage whose input nobody needs afterwards.
    pub(crate) fn then(&mut self, stage: &Stage, chunk: &Chunk, from: Buffer) -> Result<Buffer, Failure> {
        let to = self.stage(stage, chunk, &from)?;
        self.memory.give(from);
        Ok(to)
    }

    /// Filters rows around the circle in one pass.
    pub(crate) fn filter(&mut self, chunk: &Chunk, circle: Buffer) -> Result<Buffer, Failure> {
        let stages = self.stages;
        let spectra = self.transform(&stages.around, Direction::Forward, chunk, circle)?;
        let gains = &stages.gains[chunk.kind as usize];
        let bound = stages.gain.bind([("sizes", &chunk.sizes), ("gains", gains), ("spectra", &spectra)])?;
        self.dispatch(&bound, stages.sizes.circle, chunk);
        self.transform(&stages.around, Direction::Back, chunk, spectra)
    }

    /// Replaces padded rows by their analytic signals.
    pub(crate) fn analytic(&mut self, chunk: &Chunk, padded: Buffer) -> Result<Buffer, Failure> {
        let stages = self.stages;
        let spectra = self.transform(&stages.in_time, Direction::Forward, chunk, padded)?;
        let bound = stages.analytic.bind([("sizes", &chunk.sizes), ("spectra", &spectra)])?;
        self.dispatch(&bound, stages.sizes.padded, chunk);
        self.transform(&stages.in_time, Direction::Back, chunk, spectra)
    }

    /// Writes the bins of analytic signals to the rows of the chunk in `bins`.
    pub(crate) fn bins(&mut self, chunk: &Chunk, points: Buffer, bins: &Buffer) -> Result<(), Failure> {
        let bound = self.stages.bins.bind([
            ("sizes", &chunk.sizes),
            ("points", &points),
            ("edges", &self.stages.edges),
            ("bins", bins),
        ])?;
        self.dispatch(&bound, self.stages.sizes.samples.div_ceil(4), chunk);
        self.memory.give(points);
        Ok(())
    }

    /// Returns the amplitudes of analytic signals: (row, sample).
    pub(crate) fn amplitudes(&mut self, chunk: &Chunk, points: Buffer) -> Result<Buffer, Failure> {
        let samples = self.stages.sizes.samples;
        let bytes = u64::from(chunk.rows) * u64::from(samples) * size_of::<f32>() as u64;
        let amplitudes = self.memory.take("amplitudes", bytes)?;
        let bound = self.stages.amplitudes.bind([
            ("sizes", &chunk.sizes),
            ("points", &points),
            ("amplitudes", &amplitudes),
        ])?;
        self.dispatch(&bound, samples, chunk);
        self.memory.give(points);
        Ok(amplitudes)
    }

    fn transform(
        &mut self,
        transform: &Transform,
        direction: Direction,
        chunk: &Chunk,
        signals: Buffer,
    ) -> Result<Buffer, Failure> {
        let bytes = u64::from(chunk.rows) * u64::from(transform.length()) * COMPLEX_BYTES;
        let other = self.memory.take("transform", bytes)?;
        let pass = transform.pass(direction, [&signals, &other], 0)?;
        for work in pass.work(chunk.rows) {
            self.commands.dispatch(&work.bound[0], work.groups);
        }
        let (result, free) = if pass.end == 0 { (signals, other) } else { (other, signals) };
        self.memory.give(free);
        Ok(result)
    }

    fn dispatch(&mut self, bound: &Bound, length: u32, chunk: &Chunk) {
        self.commands.dispatch(bound, rows(length, chunk.rows));
    }
}
