//! The best GPU implementation that we know, in f32: neither shifted amplitudes nor indexes are stored.
//!
//! The samples of each bin are listed once for all shifts, so that the sum in a bin is a sum in registers.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Readback};

use super::input::Input;
use super::{BANDS, BLOCK, Score};
use crate::Shape;
use crate::workload::signal::POOL;

/// Number of amplitude bands in a vector of a shader.
const VECTOR: usize = 4;

/// Kernels, and the inputs of the pool on the device.
pub(super) struct Device {
    gpu: Gpu,
    shape: Shape,
    pool: Vec<OnDevice>,
    scores: Buffer,
    readback: Readback<f32>,
    values: Vec<f32>,
}

/// An input on the device, and the dispatches that compute its scores.
struct OnDevice {
    /// Bins: (phase band, channel, sample), a byte each.
    bins: Buffer,
    counts: Buffer,
    amplitudes: Buffer,
    shifts: Buffer,
    work: Vec<(Bound, [u32; 3])>,
}

/// Pipelines, and the buffers that all inputs share.
struct Shared<'a> {
    gpu: &'a Gpu,
    shape: Shape,
    bins: usize,
    shifts: usize,
    arrange: Pipeline,
    order: Pipeline,
    block: Pipeline,
    score: Pipeline,
    /// Amplitudes: (channel, sample, band).
    rows: Buffer,
    /// Samples of each bin, one bin after the other: (phase band, channel, sample).
    ordered: Buffer,
    /// Mean and squares of each block of shifts.
    seen: Buffer,
    scores: Buffer,
}

impl Device {
    pub(super) fn new(setup: &Setup, shape: Shape, bins: usize, shifts: usize) -> Result<Self, Failure> {
        Ok(Self::on(&Gpu::open(setup)?, shape, bins, shifts)?)
    }

    /// Plans for inputs of `shape` with `shifts` shifts.
    pub(super) fn on(gpu: &Gpu, shape: Shape, bins: usize, shifts: usize) -> Result<Self, GpuError> {
        let shared = Shared::new(gpu, shape, bins, shifts)?;
        let pool = (0..POOL).map(|_| shared.input()).collect::<Result<_, _>>()?;
        let pairs = BANDS * BANDS * shape.channels;
        let readback = gpu.readback("scores on the host", pairs as u64)?;
        Ok(Self { gpu: gpu.clone(), shape, pool, scores: shared.scores, readback, values: vec![0.0; pairs] })
    }
}

impl<'a> Shared<'a> {
    fn new(gpu: &'a Gpu, shape: Shape, bins: usize, shifts: usize) -> Result<Self, GpuError> {
        let (blocks, vectors) = (shifts.div_ceil(BLOCK), BANDS.div_ceil(VECTOR));
        let constants = [
            ("SAMPLES", shape.samples),
            ("CHANNELS", shape.channels),
            ("BANDS", BANDS),
            ("BINS", bins),
            ("SHIFTS", shifts),
            ("BLOCK", BLOCK),
            ("BLOCKS", blocks),
            ("VECTORS", vectors),
        ];
        let constants = constants.map(|(name, value)| format!("const {name} = {value}u;\n")).concat();
        let seen = include_str!("shaders/seen.wgsl");
        let pipeline = |label, source| gpu.pipeline(label, &[&constants, seen, source].concat(), "main");
        let vector_bytes = size_of::<[f32; VECTOR]>() as u64;
        let (signals, samples) = ((BANDS * shape.channels) as u64, shape.len() as u64);
        let seen_bytes = signals * ((blocks + 1) * vectors) as u64 * 2 * vector_bytes;
        Ok(Self {
            gpu,
            shape,
            bins,
            shifts,
            arrange: pipeline("arrange", include_str!("shaders/arrange.wgsl"))?,
            order: pipeline("order", include_str!("shaders/order.wgsl"))?,
            block: pipeline("shifts", include_str!("shaders/shifts.wgsl"))?,
            score: pipeline("score", include_str!("shaders/score.wgsl"))?,
            rows: gpu.buffer("amplitudes in rows", samples * vectors as u64 * vector_bytes)?,
            ordered: gpu.buffer_for::<u32>("samples by bin", BANDS as u64 * samples)?,
            seen: gpu.buffer("blocks of shifts", seen_bytes)?,
            scores: gpu.buffer_for::<f32>("scores", BANDS as u64 * signals)?,
        })
    }

    fn input(&self) -> Result<OnDevice, GpuError> {
        let Self { gpu, shape, rows, ordered, seen, scores, .. } = self;
        let samples = (BANDS * shape.len()) as u64;
        let bins = gpu.buffer("bins", samples.next_multiple_of(4))?;
        let counts = gpu.buffer_for::<u32>("counts", (BANDS * shape.channels * self.bins) as u64)?;
        let amplitudes = gpu.buffer_for::<f32>("amplitudes", samples)?;
        let shifts = gpu.buffer_for::<u32>("shifts", self.shifts as u64)?;
        let (bands, channels) = (BANDS as u32, shape.channels as u32);
        let blocks = self.shifts.div_ceil(BLOCK) as u32;
        let threads = shape.samples.div_ceil(64) as u32;
        let scored = self.score.groups((BANDS * shape.channels * BANDS.div_ceil(VECTOR)) as u64);
        let work = vec![
            (self.arrange.bind([("amplitudes", &amplitudes), ("rows", rows)])?, [threads, channels, 1]),
            (
                self.order.bind([("bins", &bins), ("counts", &counts), ("ordered", ordered)])?,
                [bands, channels, 1],
            ),
            (
                self.block.bind([
                    ("rows", rows),
                    ("ordered", ordered),
                    ("counts", &counts),
                    ("shifts", &shifts),
                    ("seen", seen),
                ])?,
                [blocks + 1, bands, channels],
            ),
            (self.score.bind([("seen", seen), ("scores", scores)])?, scored),
        ];
        Ok(OnDevice { bins, counts, amplitudes, shifts, work })
    }
}

impl Score for Device {
    /// Roundings to f32 move an index by up to about 1e-9, and are divided by the deviation of the indexes of shifts,
    /// which is about 1e-5 for long signals. This is five times the largest error that was seen.
    fn tolerance(&self) -> f64 {
        1e-4
    }

    fn load(&mut self, pool: &[Input]) -> Result<(), Failure> {
        for (input, device) in pool.iter().zip(&self.pool) {
            let mut bins = input.bins.concat();
            bins.resize(device.bins.bytes() as usize, 0);
            let counts: Vec<u32> = input.counts.iter().flatten().map(|&count| count as u32).collect();
            let amplitudes: Vec<f32> = input.amplitudes.iter().flatten().map(|&value| value as f32).collect();
            let shifts: Vec<u32> = input.shifts.iter().map(|&shift| shift as u32).collect();
            self.gpu
                .commands("load")
                .upload(&device.bins, &bins)
                .upload(&device.counts, &counts)
                .upload(&device.amplitudes, &amplitudes)
                .upload(&device.shifts, &shifts)
                .submit()?;
        }
        Ok(self.gpu.fence()?)
    }

    fn scores(&mut self, at: usize, _input: &Input, scores: &mut [f64]) -> Result<u64, Failure> {
        let mut commands = self.gpu.commands("scores");
        for (bound, groups) in &self.pool[at].work {
            commands.dispatch(bound, *groups);
        }
        commands.download(&self.scores, &mut self.readback).submit()?;
        self.readback.wait_into(&mut self.values)?;
        scores.iter_mut().zip(&self.values).for_each(|(score, value)| *score = f64::from(*value));
        Ok((BANDS * self.shape.len() * size_of::<f32>()) as u64)
    }
}
