//! Filters on the device as the document's program has them: a band and a channel in each row, two passes one after the
//! other, and kernels between them that only move values.

mod kernels;
mod memory;
mod recording;

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};
use rustfft::num_complex::Complex;

pub(crate) use kernels::{Joined, Separate, Stage};
pub(crate) use memory::Memory;
pub(crate) use recording::Recording;

use super::bands::{Bands, Kind};
use crate::gpu::{COMPLEX_BYTES, Constants, Sizes, Steps, Transform, edges, means};
use crate::{Filters, Settings, Shape};

/// Some rows of a kind of band, which are filtered together.
pub(crate) struct Chunk {
    pub(crate) kind: Kind,
    /// Number of rows.
    pub(crate) rows: u32,
    /// Sizes with the first row, as a uniform.
    pub(crate) sizes: Buffer,
}

/// Transforms, gains and kernels that do not depend on how stages are joined.
pub(crate) struct Stages {
    gpu: Gpu,
    pub(crate) sizes: Sizes,
    pub(crate) constants: Constants,
    around: Transform,
    in_time: Transform,
    /// Gains of the phase bands and of the amplitude bands.
    gains: [Buffer; 2],
    edges: Buffer,
    pub(crate) means: Pipeline,
    gain: Pipeline,
    analytic: Pipeline,
    bins: Pipeline,
    amplitudes: Pipeline,
}

impl Stages {
    pub(crate) fn new(gpu: &Gpu, settings: &Settings, shape: Shape) -> Result<Self, GpuError> {
        let bands = Bands::new(&Filters::design(settings, shape.samples), shape.samples);
        let [circle, padded] = bands.lengths();
        let gains = |kind| {
            let scale = 1.0 / circle as f32;
            let scaled = |gain: &Complex<f32>| [gain.re * scale, gain.im * scale];
            let gains: Vec<[f32; 2]> = bands.gains(kind).iter().flatten().map(scaled).collect();
            gpu.require_binding(gains.len() as u64 * COMPLEX_BYTES)?;
            gpu.upload("gains", &gains)
        };
        let channels = shape.channels as u32;
        let sizes = Sizes {
            samples: shape.samples as u32,
            extension: bands.extension() as u32,
            circle: circle as u32,
            padded: padded as u32,
            all_channels: channels,
            channels,
            first_channel: 0,
            bands: 0,
            first: 0,
        };
        let constants = Constants::new(gpu, settings.bins);
        let mut steps = Steps::new();
        let kernel = |label, source: &[&str]| constants.pipeline(gpu, label, source);
        let sector = include_str!("../shaders/sector.wgsl");
        Ok(Self {
            gpu: gpu.clone(),
            sizes,
            around: Transform::new(gpu, circle, &mut steps)?,
            in_time: Transform::new(gpu, padded, &mut steps)?,
            gains: [gains(Kind::Phase)?, gains(Kind::Amplitude)?],
            edges: gpu.upload("edges", &edges(settings.bins))?,
            means: means(gpu)?,
            gain: kernel("gain", &[include_str!("../shaders/gain.wgsl")])?,
            analytic: kernel("analytic", &[include_str!("../shaders/analytic.wgsl")])?,
            bins: kernel("bins", &[sector, include_str!("../shaders/band_bins.wgsl")])?,
            amplitudes: kernel("amplitudes", &[include_str!("../shaders/band_amplitudes.wgsl")])?,
            constants,
        })
    }

    /// Returns all rows of `bands` bands of a kind at once.
    ///
    /// # Errors
    /// Returns an absence if they are too large for a binding of the device.
    pub(crate) fn whole(&self, kind: Kind, bands: usize) -> Result<Chunk, Failure> {
        self.chunk(kind, bands, 0, bands as u32 * self.sizes.channels)
    }

    /// Divides the rows of `bands` bands of a kind into chunks of `rows` rows, of which the last may have fewer.
    ///
    /// # Errors
    /// Returns an absence if a chunk is too large for a binding of the device.
    pub(crate) fn chunks(&self, kind: Kind, bands: usize, rows: u32) -> Result<Vec<Chunk>, Failure> {
        let all = bands as u32 * self.sizes.channels;
        let chunk = |first| self.chunk(kind, bands, first, rows.min(all - first));
        (0..all).step_by(rows as usize).map(chunk).collect()
    }

    fn chunk(&self, kind: Kind, bands: usize, first: u32, rows: u32) -> Result<Chunk, Failure> {
        let row = u64::from(self.sizes.circle.max(self.sizes.padded)) * COMPLEX_BYTES;
        self.gpu.require_binding(u64::from(rows) * row)?;
        let sizes = Sizes { bands: bands as u32, first, ..self.sizes };
        Ok(Chunk { kind, rows, sizes: self.gpu.uniform("sizes", &sizes)? })
    }

    /// Number of words that hold the bins of `rows` rows.
    pub(crate) fn bins_words(&self, rows: u64) -> u64 {
        rows * u64::from(self.sizes.samples.div_ceil(4))
    }
}
