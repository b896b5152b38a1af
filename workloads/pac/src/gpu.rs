//! The index on the GPU, in f32: transforms, bins and sums. Only the index itself is downloaded.
//!
//! The signals of two bands are the real and the imaginary part of one signal. A budget of bytes limits how many of
//! them, and how many channels, are processed at a time. The spectra of the current channels are kept, and one byte for
//! each sample of a phase. Amplitudes are added to the indexes as soon as they are computed.

mod cut;
mod transform;

use std::rc::Rc;

use bytemuck::{Pod, Zeroable};
use perfharness_contract::Failure;
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Readback};

use crate::fast::{Pair, Spectrum};
use crate::settings::check_length;
use crate::{Filters, Normalisation, PacError, Settings, Shape};
use cut::{Cut, Need};
use transform::{Pass, Steps, Transform};

const COMPLEX: &str = include_str!("shaders/complex.wgsl");
const SIZES: &str = include_str!("shaders/sizes.wgsl");
const COMPLEX_BYTES: u64 = size_of::<[f32; 2]>() as u64;

/// A dispatch.
#[derive(Clone, Debug)]
struct Work {
    /// Bindings for each input, or one for all if the input does not matter.
    bound: Vec<Rc<Bound>>,
    groups: [u32; 3],
}

impl Work {
    fn one(bound: Bound, groups: [u32; 3]) -> Self {
        Self { bound: vec![Rc::new(bound)], groups }
    }
}

/// Parameters of every kernel; see `sizes.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Sizes {
    samples: u32,
    extension: u32,
    circle: u32,
    padded: u32,
    all_channels: u32,
    channels: u32,
    first_channel: u32,
    bands: u32,
    first: u32,
}

/// Computes indexes of signals of one shape that are on the device.
#[derive(Debug)]
pub struct GpuPlan {
    gpu: Gpu,
    shape: Shape,
    inputs: usize,
    work: Vec<Work>,
    /// Number of samples in every bin over the call, if the normalisation needs them.
    in_call: Option<Buffer>,
    /// Position and bits of a non-finite sample for each channel, followed by the index.
    result: Buffer,
    readback: Readback<u32>,
    values: Vec<u32>,
    chunks: u64,
    copied_bytes: u64,
}

impl GpuPlan {
    /// Plans for signals that are in one of `inputs`, (channel, sample) of f32. All other data on the device, including
    /// the result that is read back, takes at most `budget` bytes.
    ///
    /// # Errors
    /// Returns an error if the settings or the shape are invalid, the budget is too small for one channel and two
    /// bands, or the device lacks something.
    pub fn new(
        gpu: &Gpu,
        settings: &Settings,
        shape: Shape,
        inputs: &[Buffer],
        budget: u64,
    ) -> Result<Self, Failure> {
        settings.check()?;
        shape.check()?;
        for input in inputs {
            check_length("samples", input.count::<f32>() as usize, shape.len())?;
        }
        let spectrum = Spectrum::<f32>::new(&Filters::design(settings, shape.samples), shape.samples);
        let need = Need {
            channels: shape.channels as u64,
            samples: shape.samples as u64,
            circle: spectrum.circle_length() as u64,
            padded: spectrum.padded_length() as u64,
            phase_bands: settings.phase.len() as u64,
            amplitude_bands: settings.amplitude.len() as u64,
            bins: settings.bins as u64,
            budget,
            max_binding: gpu.max_binding(),
            max_groups: u64::from(gpu.device().limits().max_compute_workgroups_per_dimension),
        };
        let planner = Planner::new(gpu, settings, shape, &spectrum, &need)?;
        let (work, chunks) = planner.work(inputs)?;
        let readback = gpu.readback("result on the host", need.result_count())?;
        let pairs = spectrum.phase.len() + spectrum.amplitude.len();
        Ok(Self {
            gpu: gpu.clone(),
            shape,
            inputs: inputs.len(),
            work,
            in_call: planner.in_call,
            result: planner.result,
            readback,
            values: vec![0; need.result_count() as usize],
            chunks,
            copied_bytes: (pairs * shape.len()) as u64 * COMPLEX_BYTES,
        })
    }

    /// Bytes that a call copies unchanged on the device: the filtered signals, which are padded.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Number of chunks into which the limits of the budget and the device divide the signals of a call.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Computes the index of input `at`, (amplitude band, phase band, channel), and waits for it: one submit, one sync.
    ///
    /// # Errors
    /// Returns an error if a sample is NaN or infinite, which leaves `index` unchanged, if the length of `index`
    /// differs from the plan, or if the device fails.
    pub fn index(&mut self, at: usize, index: &mut [f64]) -> Result<(), Failure> {
        let faults = 2 * self.shape.channels;
        check_length("indexes", index.len(), self.values.len() - faults)?;
        if at >= self.inputs {
            return Err(Failure::Failed(format!("input {at} does not exist; there are {}", self.inputs)));
        }
        let mut commands = self.gpu.commands("index");
        if let Some(in_call) = &self.in_call {
            commands.clear(in_call);
        }
        for Work { bound, groups } in &self.work {
            commands.dispatch(&bound[at.min(bound.len() - 1)], *groups);
        }
        commands.download(&self.result, &mut self.readback).submit()?;
        self.readback.wait_into(&mut self.values)?;
        let (faults, values) = self.values.split_at(faults);
        for (channel, fault) in faults.chunks(2).enumerate() {
            let sample = fault[0] as usize;
            if sample < self.shape.samples {
                let value = f32::from_bits(fault[1]).to_string();
                return Err(PacError::NotFinite { channel, sample, value }.into());
            }
        }
        for (to, bits) in index.iter_mut().zip(values) {
            let value = f64::from(f32::from_bits(*bits));
            // `couple.wgsl` writes -1 for an index that is NaN.
            *to = if value == -1.0 { f64::NAN } else { value };
        }
        Ok(())
    }
}

/// Kernels that all chunks share.
struct Kernels {
    means: Pipeline,
    extend: Pipeline,
    filter: Pipeline,
    pad: Pipeline,
    turn: Pipeline,
    bins: Pipeline,
    count: Pipeline,
    amplitudes: Pipeline,
    couple: Pipeline,
}

impl Kernels {
    fn new(gpu: &Gpu, settings: &Settings) -> Result<Self, GpuError> {
        let bins = settings.bins;
        // Each thread of `couple` has a histogram, and the workgroup has the means of the bins.
        let memory = gpu.device().limits().max_compute_workgroup_storage_size as usize;
        let fits = |threads: &usize| (12 * threads + 8) * bins + 48 <= memory;
        let threads = [64, 32, 16, 8, 4].into_iter().find(fits).unwrap_or(2);
        let edges = (bins - 1) / 2;
        let constants = format!("const BINS = {bins}u;\nconst EDGES = {edges}u;\nconst SIZE = {threads}u;\n");
        let divisor = match settings.normalisation {
            Normalisation::Textbook => include_str!("shaders/own_count.wgsl"),
            Normalisation::Tensorpac => include_str!("shaders/count_in_call.wgsl"),
        };
        let plain = |label, source| gpu.pipeline(label, &[COMPLEX, SIZES, source].concat(), "main");
        let of_bins = |label, sources: &[&str]| {
            gpu.pipeline(label, &[&constants, SIZES, &sources.concat()].concat(), "main")
        };
        Ok(Self {
            means: plain("means", include_str!("shaders/means.wgsl"))?,
            extend: plain("extend", include_str!("shaders/extend.wgsl"))?,
            filter: plain("filter", include_str!("shaders/filter.wgsl"))?,
            pad: plain("pad", include_str!("shaders/pad.wgsl"))?,
            turn: plain("turn", include_str!("shaders/turn.wgsl"))?,
            bins: of_bins("bins", &[include_str!("shaders/bins.wgsl")])?,
            count: of_bins("count", &[include_str!("shaders/count.wgsl")])?,
            amplitudes: plain("amplitudes", include_str!("shaders/amplitudes.wgsl"))?,
            couple: of_bins("couple", &[divisor, include_str!("shaders/couple.wgsl")])?,
        })
    }
}

/// Bands of a kind.
struct Bands {
    count: u32,
    /// Number of pairs of bands.
    pairs: u32,
    gains: Buffer,
}

/// Buffers that are bound to the kernels.
struct Planner<'a> {
    gpu: &'a Gpu,
    kernels: Kernels,
    sizes: Sizes,
    cut: Cut,
    phase: Bands,
    amplitude: Bands,
    edges: Buffer,
    /// Means of the current channels.
    means: Buffer,
    spectra: Buffer,
    bins: Buffer,
    in_call: Option<Buffer>,
    result: Buffer,
    /// Three buffers for the signals of a chunk: two for filtering back and forth, and two for the Hilbert transform.
    chunk: [Buffer; 3],
    passes: Passes,
}

/// Transforms of a chunk, between its buffers.
struct Passes {
    /// Transform of channels, which ends in the spectra.
    forward: Pass,
    /// Number of its first buffer: the spectra, or the first one of the chunk.
    begin: usize,
    back: Pass,
    /// The Hilbert transform, forward and back.
    turned: [Pass; 2],
}

impl<'a> Planner<'a> {
    fn new(
        gpu: &'a Gpu,
        settings: &'a Settings,
        shape: Shape,
        spectrum: &Spectrum<f32>,
        need: &Need,
    ) -> Result<Self, Failure> {
        let cut = need.cut()?;
        let (circle, padded) = (spectrum.circle_length(), spectrum.padded_length());
        let sizes = Sizes {
            samples: shape.samples as u32,
            extension: spectrum.extension as u32,
            circle: circle as u32,
            padded: padded as u32,
            all_channels: shape.channels as u32,
            channels: 0,
            first_channel: 0,
            bands: 0,
            first: 0,
        };
        let bands = |pairs: &[Pair<f32>], count: usize| {
            let gains: Vec<[f32; 2]> =
                pairs.iter().flat_map(|pair| pair.gain.iter().map(|g| [g.re, g.im])).collect();
            let gains = gpu.upload("gains", &gains)?;
            Ok::<_, GpuError>(Bands { count: count as u32, pairs: pairs.len() as u32, gains })
        };
        let half = settings.bins / 2 + 1..settings.bins;
        let turn = |j: usize| std::f64::consts::TAU * j as f64 / settings.bins as f64 - std::f64::consts::PI;
        let edge = |j| [turn(j).cos() as f32, turn(j).sin() as f32];
        // A buffer cannot be empty, so an unused edge is added.
        let edges: Vec<[f32; 2]> = half.map(edge).chain([[0.0; 2]]).collect();
        // Uploaded buffers come first, while the budget has room for their staging buffers.
        let phase = bands(&spectrum.phase, settings.phase.len())?;
        let amplitude = bands(&spectrum.amplitude, settings.amplitude.len())?;
        let mut steps = Steps::new();
        let around = Transform::new(gpu, circle, &mut steps)?;
        let in_time = Transform::new(gpu, padded, &mut steps)?;
        let edges = gpu.upload("edges", &edges)?;
        let in_call = match settings.normalisation {
            Normalisation::Textbook => None,
            Normalisation::Tensorpac => {
                Some(gpu.buffer_for::<u32>("bins in the call", settings.bins as u64)?)
            }
        };
        let spectra = gpu.buffer("spectra", cut.channels * circle as u64 * COMPLEX_BYTES)?;
        let signals = cut.signals * need.row() * COMPLEX_BYTES;
        let [a, b, c] = ["filtered", "filtered or turned", "turned"].map(|label| gpu.buffer(label, signals));
        let chunk = [a?, b?, c?];
        let begin = around.steps() % 2;
        let back = around.pass(-1.0, [&chunk[0], &chunk[1]], 0)?;
        let turned = [&chunk[1 - back.end], &chunk[2]];
        let forward = in_time.pass(1.0, turned, 0)?;
        let again = in_time.pass(-1.0, turned, forward.end)?;
        let passes = Passes {
            forward: around.pass(1.0, [&spectra, &chunk[0]], begin)?,
            begin,
            back,
            turned: [forward, again],
        };
        Ok(Self {
            gpu,
            kernels: Kernels::new(gpu, settings)?,
            sizes,
            phase,
            amplitude,
            edges,
            means: gpu.buffer_for::<f32>("means", cut.channels)?,
            bins: gpu.buffer("bins", cut.channels * need.bins_bytes())?,
            in_call,
            result: gpu.buffer_for::<u32>("result", need.result_count())?,
            spectra,
            chunk,
            passes,
            cut,
        })
    }

    /// Returns the work of a call, and the number of chunks of signals in it.
    fn work(&self, inputs: &[Buffer]) -> Result<(Vec<Work>, u64), GpuError> {
        let all = self.sizes.all_channels;
        let mut groups = Vec::new();
        for first_channel in (0..all).step_by(self.cut.channels as usize) {
            let channels = (all - first_channel).min(self.cut.channels as u32);
            groups.push(Sizes { channels, first_channel, ..self.sizes });
        }
        let mut work = Vec::new();
        let mut chunks = 0;
        if let Some(in_call) = &self.in_call {
            // An index needs all phases of the call, so these are counted before the first index.
            for group in &groups {
                self.phases(*group, inputs, &mut work, &mut chunks)?;
                let sizes = self.gpu.uniform("sizes", group)?;
                let bound = self.kernels.count.bind([
                    ("sizes", &sizes),
                    ("bins", &self.bins),
                    ("in_call", in_call),
                ])?;
                work.push(Work::one(bound, [self.phase.count, group.channels, 1]));
            }
        }
        for group in &groups {
            // If all channels are processed at once, their bins still exist.
            if self.in_call.is_none() || groups.len() > 1 {
                self.phases(*group, inputs, &mut work, &mut chunks)?;
            }
            self.amplitudes(*group, &mut work, &mut chunks)?;
        }
        Ok((work, chunks))
    }

    /// Work that computes the spectra of the current channels, and the bins of all phase bands.
    fn phases(
        &self,
        group: Sizes,
        inputs: &[Buffer],
        work: &mut Vec<Work>,
        chunks: &mut u64,
    ) -> Result<(), GpuError> {
        let Self { kernels, means, passes, .. } = self;
        let sizes = self.gpu.uniform("sizes", &group)?;
        let circle = [&self.spectra, &self.chunk[0]][passes.begin];
        let bind = |x| {
            let bindings = [("sizes", &sizes), ("x", x), ("means", means), ("result", &self.result)];
            kernels.means.bind(bindings).map(Rc::new)
        };
        let bound = inputs.iter().map(bind).collect::<Result<_, _>>()?;
        work.push(Work { bound, groups: [group.channels, 1, 1] });
        let bind = |x| {
            let bindings = [("sizes", &sizes), ("x", x), ("means", means), ("circle", circle)];
            kernels.extend.bind(bindings).map(Rc::new)
        };
        let bound = inputs.iter().map(bind).collect::<Result<_, _>>()?;
        work.push(Work { bound, groups: rows(group.circle, group.channels) });
        work.extend(passes.forward.work(group.channels));
        self.bands(group, &self.phase, work, chunks, |sizes, signals| {
            let (filtered, hilbert, _) = self.analytic();
            let bound = kernels.bins.bind([
                ("sizes", sizes),
                ("filtered", filtered),
                ("hilbert", hilbert),
                ("edges", &self.edges),
                ("bins", &self.bins),
            ])?;
            Ok(vec![Work::one(bound, rows(group.samples.div_ceil(4), signals))])
        })
    }

    /// Work that computes the amplitudes of the current channels, chunk by chunk, and their indexes with all phases.
    fn amplitudes(&self, group: Sizes, work: &mut Vec<Work>, chunks: &mut u64) -> Result<(), GpuError> {
        self.bands(group, &self.amplitude, work, chunks, |sizes, signals| {
            let (filtered, hilbert, free) = self.analytic();
            let amplitudes = self.kernels.amplitudes.bind([
                ("sizes", sizes),
                ("filtered", filtered),
                ("hilbert", hilbert),
                ("amplitudes", free),
            ])?;
            let mut bindings =
                vec![("sizes", sizes), ("bins", &self.bins), ("amplitudes", free), ("result", &self.result)];
            bindings.extend(self.in_call.as_ref().map(|in_call| ("in_call", in_call)));
            let couple = self.kernels.couple.bind(bindings)?;
            Ok(vec![
                Work::one(amplitudes, rows(group.samples, signals)),
                Work::one(couple, [self.phase.count, signals, 1]),
            ])
        })
    }

    /// Buffers that finally hold a chunk's filtered signals and their Hilbert transforms, and the free one.
    fn analytic(&self) -> (&Buffer, &Buffer, &Buffer) {
        let filtered = self.passes.back.end;
        let turned = [&self.chunk[1 - filtered], &self.chunk[2]];
        let end = self.passes.turned[1].end;
        (&self.chunk[filtered], turned[end], turned[1 - end])
    }

    /// Work that filters and transforms all bands of a kind, chunk by chunk; `take` binds the kernels that use a chunk.
    fn bands(
        &self,
        group: Sizes,
        bands: &Bands,
        work: &mut Vec<Work>,
        chunks: &mut u64,
        take: impl Fn(&Buffer, u32) -> Result<Vec<Work>, GpuError>,
    ) -> Result<(), GpuError> {
        let Self { kernels, passes, .. } = self;
        let at_once = self.cut.signals as u32;
        let signals = bands.pairs * group.channels;
        let filtered = passes.back.end;
        let turned = [&self.chunk[1 - filtered], &self.chunk[2]];
        for first in (0..signals).step_by(at_once as usize) {
            let count = (signals - first).min(at_once);
            let sizes = self.gpu.uniform("sizes", &Sizes { bands: bands.count, first, ..group })?;
            let bound = kernels.filter.bind([
                ("sizes", &sizes),
                ("spectra", &self.spectra),
                ("means", &self.means),
                ("gains", &bands.gains),
                ("filtered", &self.chunk[0]),
            ])?;
            work.push(Work::one(bound, rows(group.circle, count)));
            work.extend(passes.back.work(count));
            let (from, to) = (&self.chunk[filtered], turned[0]);
            let bound = kernels.pad.bind([("sizes", &sizes), ("filtered", from), ("padded", to)])?;
            work.push(Work::one(bound, rows(group.padded, count)));
            let [forward, back] = &passes.turned;
            work.extend(forward.work(count));
            let bound = kernels.turn.bind([("sizes", &sizes), ("spectra", turned[forward.end])])?;
            work.push(Work::one(bound, rows(group.padded, count)));
            work.extend(back.work(count));
            work.extend(take(&sizes, count)?);
            *chunks += 1;
        }
        Ok(())
    }
}

/// Returns the workgroups of 64 threads for rows of `length` items.
fn rows(length: u32, count: u32) -> [u32; 3] {
    [length.div_ceil(64), count, 1]
}
