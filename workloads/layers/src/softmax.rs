//! Softmax of rows.

use perfharness_gpu::{Gpu, GpuError, Pipeline, Slice};

use crate::Ready;
use crate::ready::{REDUCE, group_per_row};

/// Rows of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Number of rows.
    pub rows: u32,
    /// Scores in a row.
    pub columns: u32,
    /// With causal rows, the number of rows in a sequence: row `r` of a sequence has the scores `0..=r`, and its other
    /// weights are 0. `None` if each row has all of its scores.
    pub causal: Option<u32>,
}

/// Softmax on the device, in place, one workgroup for each row. Its binding is `x`.
///
/// A score of [`Softmax::MASKED`] or less has the weight 0, and a row of such scores alone becomes zeros, not NaN.
#[derive(Clone, Debug)]
pub struct Softmax {
    gpu: Gpu,
    pipeline: Pipeline,
}

impl Softmax {
    /// The score that a mask sets. A shader need not support infinity, so this is a number far below any score.
    pub const MASKED: f32 = -3e38;

    /// Creates the pipeline.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let source = [REDUCE, include_str!("shaders/softmax.wgsl")].concat();
        let pipeline = gpu.pipeline("softmax", &source, "main")?;
        Ok(Self { gpu: gpu.clone(), pipeline })
    }

    /// Binds a buffer of scores.
    ///
    /// # Errors
    /// Returns an error if it is beyond the limits of the device.
    pub fn bind<'a>(&self, scores: Scores, x: impl Into<Slice<'a>>) -> Result<Ready, GpuError> {
        let Scores { rows, columns, causal } = scores;
        let shape = self.gpu.uniform("shape of a softmax", &[rows, columns, causal.unwrap_or(0)])?;
        let bound = self.pipeline.bind([("shape", Slice::from(&shape)), ("x", x.into())])?;
        Ok(Ready { bound, groups: group_per_row(rows) })
    }
}
