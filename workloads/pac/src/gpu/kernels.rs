//! Kernels, and the constants in their sources.

use perfharness_gpu::{Gpu, GpuError, Pipeline};

use super::{COMPLEX, SIZES};
use crate::{Normalisation, Settings};

/// Kernels that all chunks share.
pub(super) struct Kernels {
    pub(super) means: Pipeline,
    pub(super) extend: Pipeline,
    pub(super) filter: Pipeline,
    pub(super) pad: Pipeline,
    pub(super) turn: Pipeline,
    pub(super) bins: Pipeline,
    pub(super) count: Pipeline,
    pub(super) amplitudes: Pipeline,
    pub(super) couple: Pipeline,
}

impl Kernels {
    pub(super) fn new(gpu: &Gpu, settings: &Settings, constants: &Constants) -> Result<Self, GpuError> {
        let divisor = match settings.normalisation {
            Normalisation::Textbook => include_str!("../shaders/own_count.wgsl"),
            Normalisation::Tensorpac => include_str!("../shaders/count_in_call.wgsl"),
        };
        let plain = |label, source| gpu.pipeline(label, &[COMPLEX, SIZES, source].concat(), "main");
        let couple = [
            divisor,
            include_str!("../shaders/two_bands.wgsl"),
            include_str!("../shaders/index.wgsl"),
            include_str!("../shaders/couple.wgsl"),
        ];
        let bins = [include_str!("../shaders/sector.wgsl"), include_str!("../shaders/bins.wgsl")];
        Ok(Self {
            means: means(gpu)?,
            extend: plain("extend", include_str!("../shaders/extend.wgsl"))?,
            filter: plain("filter", include_str!("../shaders/filter.wgsl"))?,
            pad: plain("pad", include_str!("../shaders/pad.wgsl"))?,
            turn: plain("turn", include_str!("../shaders/turn.wgsl"))?,
            bins: constants.pipeline(gpu, "bins", &bins)?,
            count: constants.pipeline(gpu, "count", &[include_str!("../shaders/count.wgsl")])?,
            amplitudes: plain("amplitudes", include_str!("../shaders/amplitudes.wgsl"))?,
            couple: constants.pipeline(gpu, "couple", &couple)?,
        })
    }
}

/// Returns the kernel that computes the means of the channels, and finds samples that are not finite.
pub(crate) fn means(gpu: &Gpu) -> Result<Pipeline, GpuError> {
    gpu.pipeline("means", &[COMPLEX, SIZES, include_str!("../shaders/means.wgsl")].concat(), "main")
}

/// Constants of the kernels that know the bins: their number, the edges to compare with, and the size of a workgroup.
pub(crate) struct Constants(String);

impl Constants {
    pub(crate) fn new(gpu: &Gpu, bins: usize) -> Self {
        // Each thread of `couple` has a histogram, and the workgroup has the means of the bins.
        let memory = gpu.device().limits().max_compute_workgroup_storage_size as usize;
        let fits = |threads: &usize| (12 * threads + 8) * bins + 48 <= memory;
        let threads = [64, 32, 16, 8, 4].into_iter().find(fits).unwrap_or(2);
        let edges = (bins - 1) / 2;
        Self(format!("const BINS = {bins}u;\nconst EDGES = {edges}u;\nconst SIZE = {threads}u;\n"))
    }

    /// Returns a pipeline whose source is these constants, the sizes, and `sources`.
    pub(crate) fn pipeline(&self, gpu: &Gpu, label: &str, sources: &[&str]) -> Result<Pipeline, GpuError> {
        gpu.pipeline(label, &[&self.0, COMPLEX, SIZES, &sources.concat()].concat(), "main")
    }
}
