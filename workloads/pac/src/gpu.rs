//! The index on the GPU, in f32: transforms, bins and sums; only the index itself comes back.
//!
//! The signals of two bands are the real and the imaginary part of one. As many of them are transformed at a time as
//! a budget of bytes holds, so that no buffer grows with the number of pairs. What is kept of a band is a byte for
//! each sample of a phase, and an f32 for each of an amplitude.

mod transform;

use bytemuck::{Pod, Zeroable};
use perfharness_contract::Failure;
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Readback};

use crate::fast::{Pair, Spectrum};
use crate::{Filters, Normalisation, Settings, Shape};
use transform::Transform;

const COMPLEX: &str = include_str!("shaders/complex.wgsl");
const SIZES: &str = include_str!("shaders/sizes.wgsl");
const COMPLEX_BYTES: u64 = size_of::<[f32; 2]>() as u64;

/// A dispatch and its workgroups.
type Work = (Bound, [u32; 3]);

/// What every kernel is told; see `sizes.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Sizes {
    channels: u32,
    samples: u32,
    extension: u32,
    circle: u32,
    padded: u32,
    bands: u32,
    first: u32,
}

/// Computes indexes of signals of one shape that lie on the device.
#[derive(Debug)]
pub struct GpuPlan {
    gpu: Gpu,
    /// First the work that depends on where the signal lies, for each place.
    extend: Vec<Work>,
    rest: Vec<Work>,
    index: Buffer,
    readback: Readback<f32>,
    values: Vec<f32>,
    copied_bytes: u64,
}

/// What is bound to the kernels.
struct Planner<'a> {
    gpu: &'a Gpu,
    settings: &'a Settings,
    sizes: Sizes,
    circle: Transform,
    padded: Transform,
    /// Three buffers for the signals of a chunk: two are filtered back and forth, and two turned.
    chunk: [Buffer; 3],
    /// Signals of a chunk.
    at_once: u32,
}

impl GpuPlan {
    /// Plans for signals that lie in one of `inputs`, (channel, sample) of f32. The buffers that the transforms work
    /// in take up to `budget` bytes together. Only the textbook's normalisation is offered. Samples are not checked on
    /// the device, where a NaN may become anything: [`Shape::check_samples`] does it before. A mean far from 0 costs
    /// digits; [`crate::Plan`] takes it out.
    ///
    /// # Errors
    /// When the settings or the shape are not what they must be, or the device lacks something.
    pub fn new(
        gpu: &Gpu,
        settings: &Settings,
        shape: Shape,
        inputs: &[Buffer],
        budget: u64,
    ) -> Result<Self, Failure> {
        settings.check()?;
        shape.check()?;
        if settings.normalisation != Normalisation::Textbook {
            return Err(Failure::Failed("on the GPU there is only the textbook's normalisation".into()));
        }
        let spectrum = Spectrum::<f32>::new(&Filters::design(settings, shape.samples), shape.samples);
        let planner = Planner::new(gpu, settings, shape, &spectrum, budget)?;
        let spectra = planner.complex("spectra", shape.channels * spectrum.circle_length())?;
        let other = planner.complex("other spectra", shape.channels * spectrum.circle_length())?;
        let extend = planner.extend(inputs, &spectra)?;
        let channels = shape.channels as u32;
        let (mut rest, at) = planner.circle.work(1.0, channels, &[&spectra, &other], 0)?;
        let spectra = if at == 0 { spectra } else { other };
        let row_words = shape.samples.div_ceil(4);
        let bins =
            gpu.buffer_for::<u32>("bins", (settings.phase.len() * shape.channels * row_words) as u64)?;
        let amplitudes =
            gpu.buffer_for::<f32>("amplitudes", (settings.amplitude.len() * shape.len()) as u64)?;
        rest.extend(planner.phases(&spectrum.phase, &spectra, &bins)?);
        rest.extend(planner.amplitudes(&spectrum.amplitude, &spectra, &amplitudes)?);
        let indexes = settings.indexes(shape.channels);
        let index = gpu.buffer_for::<f32>("index", indexes as u64)?;
        rest.push(planner.couple(&bins, &amplitudes, &index)?);
        let readback = gpu.readback("index on the host", indexes as u64)?;
        let pairs = spectrum.phase.len() + spectrum.amplitude.len();
        let copied_bytes = (pairs * shape.len()) as u64 * COMPLEX_BYTES;
        let values = vec![0.0; indexes];
        Ok(Self { gpu: gpu.clone(), extend, rest, index, readback, values, copied_bytes })
    }

    /// Bytes that a call copies unchanged on the device: the filtered signals, which are padded.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Computes the index of the signal at place `at` of the inputs and waits for it: one submit, one sync. Writes
    /// (amplitude band, phase band, channel).
    ///
    /// # Errors
    /// When the device fails.
    pub fn index(&mut self, at: usize, index: &mut [f64]) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("index");
        for (bound, groups) in std::iter::once(&self.extend[at]).chain(&self.rest) {
            commands.dispatch(bound, *groups);
        }
        commands.download(&self.index, &mut self.readback).submit()?;
        self.readback.wait_into(&mut self.values)?;
        for (to, value) in index.iter_mut().zip(&self.values) {
            *to = f64::from(*value);
        }
        Ok(())
    }
}

impl<'a> Planner<'a> {
    fn new(
        gpu: &'a Gpu,
        settings: &'a Settings,
        shape: Shape,
        spectrum: &Spectrum<f32>,
        budget: u64,
    ) -> Result<Self, GpuError> {
        let (circle, padded) = (spectrum.circle_length(), spectrum.padded_length());
        let sizes = Sizes {
            channels: shape.channels as u32,
            samples: shape.samples as u32,
            extension: spectrum.extension as u32,
            circle: circle as u32,
            padded: padded as u32,
            bands: 0,
            first: 0,
        };
        let most_pairs = spectrum.phase.len().max(spectrum.amplitude.len());
        let all = (most_pairs * shape.channels) as u64;
        let each = circle.max(padded) as u64 * COMPLEX_BYTES;
        // One signal at least, whatever the budget.
        let held = (budget / 3).min(gpu.max_binding()) / each;
        let bytes = held.clamp(1, all) * each;
        let chunk = ["filtered", "filtered or turned", "turned"].map(|label| gpu.buffer(label, bytes));
        let [a, b, c] = chunk;
        Ok(Self {
            gpu,
            settings,
            sizes,
            circle: Transform::new(gpu, circle)?,
            padded: Transform::new(gpu, padded)?,
            chunk: [a?, b?, c?],
            at_once: (bytes / each) as u32,
        })
    }

    fn complex(&self, label: &str, count: usize) -> Result<Buffer, GpuError> {
        self.gpu.buffer(label, count as u64 * COMPLEX_BYTES)
    }

    fn pipeline(&self, label: &str, source: &str) -> Result<Pipeline, GpuError> {
        let bins = self.settings.bins;
        let constants = format!("const BINS = {bins}u;\nconst EDGES = {}u;\n", (bins - 1) / 2);
        self.gpu.pipeline(label, &[&constants, COMPLEX, SIZES, source].concat(), "main")
    }

    fn extend(&self, inputs: &[Buffer], spectra: &Buffer) -> Result<Vec<Work>, GpuError> {
        let pipeline = self.pipeline("extend", include_str!("shaders/extend.wgsl"))?;
        let sizes = self.gpu.uniform("sizes", &self.sizes)?;
        let bind = |x| {
            let bound = pipeline.bind([("sizes", &sizes), ("x", x), ("circle", spectra)])?;
            Ok((bound, rows(self.sizes.circle, self.sizes.channels)))
        };
        inputs.iter().map(bind).collect()
    }

    /// The work that makes the bins of all phase bands.
    fn phases(&self, pairs: &[Pair<f32>], spectra: &Buffer, bins: &Buffer) -> Result<Vec<Work>, GpuError> {
        let pipeline = self.pipeline("bins", include_str!("shaders/bins.wgsl"))?;
        let half = self.settings.bins / 2 + 1..self.settings.bins;
        let turn =
            |j: usize| std::f64::consts::TAU * j as f64 / self.settings.bins as f64 - std::f64::consts::PI;
        let edge = |j| [turn(j).cos() as f32, turn(j).sin() as f32];
        // No buffer is empty, so there is one edge that nobody looks at.
        let edges: Vec<[f32; 2]> = half.map(edge).chain([[0.0; 2]]).collect();
        let edges = self.gpu.upload("edges", &edges)?;
        let groups_of = self.sizes.samples.div_ceil(4);
        self.bands(pairs, self.settings.phase.len(), spectra, |sizes, filtered, hilbert, signals| {
            let bound = pipeline.bind([
                ("sizes", sizes),
                ("filtered", filtered),
                ("hilbert", hilbert),
                ("edges", &edges),
                ("bins", bins),
            ])?;
            Ok((bound, rows(groups_of, signals)))
        })
    }

    /// The work that makes the amplitudes of all amplitude bands.
    fn amplitudes(&self, pairs: &[Pair<f32>], spectra: &Buffer, to: &Buffer) -> Result<Vec<Work>, GpuError> {
        let pipeline = self.pipeline("amplitudes", include_str!("shaders/amplitudes.wgsl"))?;
        self.bands(pairs, self.settings.amplitude.len(), spectra, |sizes, filtered, hilbert, signals| {
            let bound = pipeline.bind([
                ("sizes", sizes),
                ("filtered", filtered),
                ("hilbert", hilbert),
                ("amplitudes", to),
            ])?;
            Ok((bound, rows(self.sizes.samples, signals)))
        })
    }

    /// The work that filters and turns all bands of a kind, chunk by chunk; `take` binds what takes the result over.
    fn bands(
        &self,
        pairs: &[Pair<f32>],
        bands: usize,
        spectra: &Buffer,
        take: impl Fn(&Buffer, &Buffer, &Buffer, u32) -> Result<Work, GpuError>,
    ) -> Result<Vec<Work>, GpuError> {
        let filter = self.pipeline("filter", include_str!("shaders/filter.wgsl"))?;
        let pad = self.pipeline("pad", include_str!("shaders/pad.wgsl"))?;
        let turn = self.pipeline("turn", include_str!("shaders/turn.wgsl"))?;
        let gains: Vec<[f32; 2]> =
            pairs.iter().flat_map(|pair| pair.gain.iter().map(|g| [g.re, g.im])).collect();
        let gains = self.gpu.upload("gains", &gains)?;
        let signals = pairs.len() as u32 * self.sizes.channels;
        let mut work = Vec::new();
        let [a, b, c] = &self.chunk;
        for first in (0..signals).step_by(self.at_once as usize) {
            let count = (signals - first).min(self.at_once);
            let sizes = self.gpu.uniform("sizes", &Sizes { bands: bands as u32, first, ..self.sizes })?;
            let bound =
                filter.bind([("sizes", &sizes), ("spectra", spectra), ("gains", &gains), ("filtered", a)])?;
            work.push((bound, rows(self.sizes.circle, count)));
            let (steps, at) = self.circle.work(-1.0, count, &[a, b], 0)?;
            work.extend(steps);
            let (filtered, free) = if at == 0 { (a, b) } else { (b, a) };
            let bound = pad.bind([("sizes", &sizes), ("filtered", filtered), ("padded", free)])?;
            work.push((bound, rows(self.sizes.padded, count)));
            let turned = [free, c];
            let (steps, at) = self.padded.work(1.0, count, &turned, 0)?;
            work.extend(steps);
            let bound = turn.bind([("sizes", &sizes), ("spectra", turned[at])])?;
            work.push((bound, rows(self.sizes.padded, count)));
            let (steps, at) = self.padded.work(-1.0, count, &turned, at)?;
            work.extend(steps);
            work.push(take(&sizes, filtered, turned[at], count)?);
        }
        Ok(work)
    }

    fn couple(&self, bins: &Buffer, amplitudes: &Buffer, index: &Buffer) -> Result<Work, GpuError> {
        let pipeline = self.pipeline("couple", include_str!("shaders/couple.wgsl"))?;
        let sizes = self.gpu.uniform("sizes", &self.sizes)?;
        let bound = pipeline.bind([
            ("sizes", &sizes),
            ("bins", bins),
            ("amplitudes", amplitudes),
            ("index", index),
        ])?;
        let phases = self.settings.phase.len() as u32 * self.sizes.channels;
        Ok((bound, [phases, self.settings.amplitude.len() as u32, 1]))
    }
}

/// Workgroups of 64 threads for rows of `length` items.
fn rows(length: u32, count: u32) -> [u32; 3] {
    [length.div_ceil(64), count, 1]
}
