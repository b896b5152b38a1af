//! Layer norm, without gain and bias.

use perfharness_gpu::{Gpu, GpuError, Pipeline, Slice};

use crate::Ready;
use crate::ready::{REDUCE, group_per_row};

/// WGSL function `center_and_scale` for a thread that holds a whole row as `array<vec4f, LANES>`: it returns the mean
/// and the factor that give the deviations a variance of 1. The including source defines `LANES`.
pub const NORM_TOKEN: &str = include_str!("shaders/norm_token.wgsl");

/// Rows that a kernel takes from `x`: of each batch of `of` rows, `rows` rows from `first` on. It writes them one
/// after the other, so a part of the rows becomes a matrix of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Number of batches.
    pub batches: u32,
    /// Rows taken from each batch.
    pub rows: u32,
    /// First row that is taken from each batch.
    pub first: u32,
    /// Rows of a batch in `x`.
    pub of: u32,
}

impl Rows {
    /// Returns all rows of one batch.
    pub fn all(rows: u32) -> Self {
        Self { batches: 1, rows, first: 0, of: rows }
    }
}

/// Layer norm on the device, one workgroup for each row. Its bindings are `x` and `y`.
#[derive(Clone, Debug)]
pub struct Norm {
    gpu: Gpu,
    pipeline: Pipeline,
}

impl Norm {
    /// Creates the pipeline.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let source = [REDUCE, include_str!("shaders/norm.wgsl")].concat();
        let pipeline = gpu.pipeline("norm", &source, "main")?;
        Ok(Self { gpu: gpu.clone(), pipeline })
    }

    /// Binds the buffers for rows of `width` values.
    ///
    /// # Errors
    /// Returns an error if they are beyond the limits of the device.
    pub fn bind<'a>(
        &self,
        rows: Rows,
        width: u32,
        x: impl Into<Slice<'a>>,
        y: impl Into<Slice<'a>>,
    ) -> Result<Ready, GpuError> {
        let Rows { batches, rows, first, of } = rows;
        let total = batches * rows;
        let shape = self.gpu.uniform("shape of a norm", &[total, rows, first, of, width])?;
        let bound = self.pipeline.bind([("shape", Slice::from(&shape)), ("x", x.into()), ("y", y.into())])?;
        Ok(Ready { bound, groups: group_per_row(total) })
    }
}
