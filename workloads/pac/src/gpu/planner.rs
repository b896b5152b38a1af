//! Division of a call into dispatches, and the buffers between them.

use std::rc::Rc;

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Gpu, GpuError};

use super::cut::{Cut, Need};
use super::kernels::{Constants, Kernels};
use super::outcome::Outcome;
use super::transform::{Direction, Pass, Steps, Transform};
use super::{COMPLEX_BYTES, Sizes, Work, rows};
use crate::fast::{Pair, Spectrum};
use crate::{Normalisation, Settings, Shape};

/// Bands of a kind.
struct Bands {
    count: u32,
    /// Number of pairs of bands.
    pairs: u32,
    gains: Buffer,
}

/// Buffers that are bound to the kernels.
pub(super) struct Planner<'a> {
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
    pub(super) in_call: Option<Buffer>,
    pub(super) outcome: Outcome,
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
    pub(super) fn new(
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
        // Uploaded buffers come first, while the budget has room for their staging buffers.
        let phase = bands(&spectrum.phase, settings.phase.len())?;
        let amplitude = bands(&spectrum.amplitude, settings.amplitude.len())?;
        let mut steps = Steps::new();
        let around = Transform::new(gpu, circle, &mut steps)?;
        let in_time = Transform::new(gpu, padded, &mut steps)?;
        let edges = gpu.upload("edges", &edges(settings.bins))?;
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
        let back = around.pass(Direction::Back, [&chunk[0], &chunk[1]], 0)?;
        let turned = [&chunk[1 - back.end], &chunk[2]];
        let forward = in_time.pass(Direction::Forward, turned, 0)?;
        let again = in_time.pass(Direction::Back, turned, forward.end)?;
        let passes = Passes {
            forward: around.pass(Direction::Forward, [&spectra, &chunk[0]], begin)?,
            begin,
            back,
            turned: [forward, again],
        };
        Ok(Self {
            gpu,
            kernels: Kernels::new(gpu, settings, &Constants::new(gpu, settings.bins))?,
            sizes,
            phase,
            amplitude,
            edges,
            means: gpu.buffer_for::<f32>("means", cut.channels)?,
            bins: gpu.buffer("bins", cut.channels * need.bins_bytes())?,
            in_call,
            outcome: Outcome::new(gpu, shape, settings.indexes(shape.channels))?,
            spectra,
            chunk,
            passes,
            cut,
        })
    }

    /// Returns the work of a call, and the number of chunks of signals in it.
    pub(super) fn work(&self, inputs: &[Buffer]) -> Result<(Vec<Work>, u64), GpuError> {
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
            let bindings = [("sizes", &sizes), ("x", x), ("means", means), ("result", self.outcome.buffer())];
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
            let mut bindings = vec![
                ("sizes", sizes),
                ("bins", &self.bins),
                ("amplitudes", free),
                ("result", self.outcome.buffer()),
            ];
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

/// Returns cosine and sine of the edges between bins that are between 0 and pi.
pub(crate) fn edges(bins: usize) -> Vec<[f32; 2]> {
    let turn = |j: usize| std::f64::consts::TAU * j as f64 / bins as f64 - std::f64::consts::PI;
    let edge = |j| [turn(j).cos() as f32, turn(j).sin() as f32];
    // A buffer cannot be empty, so an unused edge is added.
    (bins / 2 + 1..bins).map(edge).chain([[0.0; 2]]).collect()
}
