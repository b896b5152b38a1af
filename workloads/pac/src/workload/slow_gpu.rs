//! The document's "before" on a GPU: clones as copies on the device, and a one-hot tensor of all pairs at once.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::{Buffer, Gpu, Pipeline};

use super::bands::Kind;
use super::budget::{check_tensor, tensor_bytes};
use super::measured::{Told, Variant};
use super::pool::Pool;
use super::stages::{Chunk, Memory, Recording, Separate, Stages};
use crate::gpu::{Outcome, Sizes};
use crate::{Settings, Shape};

/// Largest part of the tensor that is bound at once in bytes; an adapter may allow less.
const PART_BYTES: u64 = 64 << 20;

/// Whether each stage passes on a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clones {
    Made,
    LeftOut,
}

/// Filters stage by stage, then spreads every amplitude over all bins; each need of memory is another buffer.
pub(crate) struct SlowGpu {
    pool: Pool,
    shape: Shape,
    clones: Clones,
    stages: Stages,
    separate: Separate,
    memory: Memory,
    phase: Chunk,
    amplitude: Chunk,
    one_hot: Pipeline,
    reduce: Pipeline,
    /// Number of pairs in each part of the tensor, and its sizes.
    parts: Vec<(u32, Buffer)>,
    /// Size of a pair in the tensor in bytes.
    pair_bytes: u64,
    outcome: Outcome,
}

impl SlowGpu {
    pub(crate) fn new(
        setup: &Setup,
        settings: &Settings,
        shape: Shape,
        clones: Clones,
    ) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        check_tensor(setup, settings, shape)?;
        let stages = Stages::new(&gpu, settings, shape)?;
        let [phase, amplitude] =
            [(Kind::Phase, settings.phase.len()), (Kind::Amplitude, settings.amplitude.len())]
                .map(|(kind, bands)| stages.whole(kind, bands));
        let pairs = settings.indexes(shape.channels) as u64;
        let pair_bytes = tensor_bytes(settings, shape) / pairs;
        gpu.require_binding(pair_bytes)?;
        let max_groups = u64::from(gpu.device().limits().max_compute_workgroups_per_dimension);
        let in_part = (gpu.max_binding().min(PART_BYTES) / pair_bytes).clamp(1, max_groups);
        let bands = settings.phase.len() as u32;
        let part = |first: u64| {
            let sizes = Sizes { bands, first: first as u32, ..stages.sizes };
            Ok(((pairs - first).min(in_part) as u32, gpu.uniform("sizes", &sizes)?))
        };
        let parts = (0..pairs).step_by(in_part as usize).map(part).collect::<Result<_, Failure>>()?;
        let one_hot = [include_str!("../shaders/one_hot.wgsl")];
        let reduce = [
            include_str!("../shaders/own_count.wgsl"),
            include_str!("../shaders/one_band.wgsl"),
            include_str!("../shaders/index.wgsl"),
            include_str!("../shaders/reduce.wgsl"),
        ];
        Ok(Self {
            pool: Pool::new(&gpu, shape)?,
            shape,
            clones,
            separate: Separate::new(&stages)?,
            memory: Memory::fresh(&gpu),
            phase: phase?,
            amplitude: amplitude?,
            one_hot: stages.constants.pipeline(&gpu, "one-hot", &one_hot)?,
            reduce: stages.constants.pipeline(&gpu, "reduce", &reduce)?,
            parts,
            pair_bytes,
            outcome: Outcome::new(&gpu, shape, pairs as usize)?,
            stages,
        })
    }
}

impl Variant for SlowGpu {
    const TOLERANCE: f64 = 2e-6;

    fn load(&mut self, pool: &[Vec<f32>]) -> Result<(), Failure> {
        self.pool.load(pool)
    }

    fn index(&mut self, at: usize, _x: &[f32], index: &mut [f64]) -> Result<Told, Failure> {
        let Self { pool, shape, clones, stages, separate, memory, phase, amplitude, .. } = self;
        let signals = &pool.inputs()[at];
        let mut call = Recording::new(stages, memory);
        let filters = StageByStage { separate, clones: *clones };

        call.find_faults(phase, signals, &self.outcome)?;
        let points = filters.analytic(&mut call, phase, signals)?;
        let words = stages.bins_words(u64::from(phase.rows));
        let bins = call.memory.take("bins", words * size_of::<u32>() as u64)?;
        call.bins(phase, points, &bins)?;
        call.submit()?;

        let points = filters.analytic(&mut call, amplitude, signals)?;
        let amplitudes = call.amplitudes(amplitude, points)?;
        call.submit()?;

        let mut tensor_bytes = 0;
        let mut tensor = Vec::with_capacity(self.parts.len());
        for (pairs, sizes) in &self.parts {
            let part = call.memory.take("one-hot tensor", u64::from(*pairs) * self.pair_bytes)?;
            let bound = self.one_hot.bind([
                ("sizes", sizes),
                ("bins", &bins),
                ("amplitudes", &amplitudes),
                ("tensor", &part),
            ])?;
            call.commands.dispatch(&bound, crate::gpu::rows(shape.samples as u32, *pairs));
            tensor_bytes += part.bytes();
            tensor.push(part);
        }
        for ((pairs, sizes), part) in self.parts.iter().zip(tensor) {
            let result = self.outcome.buffer();
            let bound = self.reduce.bind([
                ("sizes", sizes),
                ("bins", &bins),
                ("tensor", &part),
                ("result", result),
            ])?;
            call.commands.dispatch(&bound, [*pairs, 1, 1]);
            call.memory.give(part);
        }
        call.memory.give(bins);
        call.memory.give(amplitudes);
        self.outcome.fetch(&mut call.commands, index)?;
        call.memory.submitted();
        Ok(Told { copied_bytes: call.copied_bytes, tensor_bytes, chunks: 1 })
    }
}

/// The stages that the document criticises: each passes on a copy, the signal is flipped to be filtered backwards, and
/// another copy cuts off the ends.
struct StageByStage<'a> {
    separate: &'a Separate,
    clones: Clones,
}

impl StageByStage<'_> {
    fn analytic(&self, call: &mut Recording<'_>, all: &Chunk, signals: &Buffer) -> Result<Buffer, Failure> {
        let Separate { extend, widen, real_part, flip, cut, pad } = self.separate;
        let mut row = match self.clones {
            Clones::Made => {
                let clone = call.clone_of(signals)?;
                call.then(extend, all, clone)?
            }
            Clones::LeftOut => call.stage(extend, all, signals)?,
        };
        for _forwards_and_backwards in 0..2 {
            row = self.passed_on(call, row)?;
            let circle = call.then(widen, all, row)?;
            let filtered = call.filter(all, circle)?;
            row = call.then(real_part, all, filtered)?;
            row = call.then(flip, all, row)?;
        }
        row = self.passed_on(call, row)?;
        let kept = call.then(cut, all, row)?;
        let padded = call.then(pad, all, kept)?;
        call.analytic(all, padded)
    }

    fn passed_on(&self, call: &mut Recording<'_>, row: Buffer) -> Result<Buffer, Failure> {
        match self.clones {
            Clones::Made => {
                let clone = call.clone_of(&row)?;
                call.memory.give(row);
                Ok(clone)
            }
            Clones::LeftOut => Ok(row),
        }
    }
}
