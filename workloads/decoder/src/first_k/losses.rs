//! Kernels from logits to the loss.

use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};
use perfharness_layers::{REDUCE, Ready, Rows, group_per_row};

use super::Params;
use crate::network::Network;

/// Pipelines of the loss, and its results.
pub(crate) struct Losses {
    gpu: Gpu,
    params: Params,
    log_softmax: Pipeline,
    pick: Pipeline,
    fused: Pipeline,
    mean: Pipeline,
    tokens: Buffer,
    /// Loss of each target, `[sequences][answer]`.
    pub(crate) each: Buffer,
    /// Mean over the targets that are not padding, and their number.
    pub(crate) mean_and_count: Buffer,
}

impl Losses {
    pub(crate) fn new(network: &Network, params: &Params) -> Result<Self, GpuError> {
        let gpu = &network.gpu;
        let source = [REDUCE, include_str!("../shaders/losses.wgsl")].concat();
        let pipeline = |entry| gpu.pipeline(entry, &source, entry);
        Ok(Self {
            gpu: gpu.clone(),
            params: *params,
            log_softmax: pipeline("log_softmax")?,
            pick: pipeline("pick")?,
            fused: pipeline("fused")?,
            mean: pipeline("mean")?,
            tokens: network.tokens.clone(),
            each: gpu.buffer_for::<f32>("losses", (params.sequences * params.answer) as u64)?,
            mean_and_count: gpu.buffer_for::<f32>("loss", 2)?,
        })
    }

    /// Shape of the kernels for rows of logits, the first of which predicts target `at`.
    fn shape(&self, rows: Rows, at: usize) -> Result<Buffer, GpuError> {
        let Params { model, prompt, answer, .. } = self.params;
        let [vocabulary, positions, target, answer, at] =
            [model.vocabulary, self.params.positions(), prompt + at, answer, at].map(|n| n as u32);
        let Rows { batches, rows, first, of } = rows;
        self.gpu.uniform("targets", &[rows, first, of, vocabulary, positions, target, answer, at, batches])
    }

    /// Returns the kernels that turn rows of logits into log-likelihoods, and pick those of the targets.
    pub(crate) fn whole(&self, rows: Rows, at: usize, logits: &Buffer) -> Result<[Ready; 2], GpuError> {
        let shape = self.shape(rows, at)?;
        let count = rows.batches * rows.rows;
        let log_softmax = self.log_softmax.bind([("shape", &shape), ("logits", logits)])?;
        let pick = self.pick.bind([
            ("shape", &shape),
            ("logits", logits),
            ("tokens", &self.tokens),
            ("losses", &self.each),
        ])?;
        let picked = pick.groups(u64::from(count));
        Ok([Ready::new(log_softmax, group_per_row(count)), Ready::new(pick, picked)])
    }

    /// Returns the kernel that computes the losses of all targets from logits `[sequences][answer][vocabulary]`.
    pub(crate) fn fused(&self, logits: &Buffer) -> Result<Ready, GpuError> {
        let bound = self.fused.bind([
            ("shape", &self.shape(self.all(), 0)?),
            ("logits", logits),
            ("tokens", &self.tokens),
            ("losses", &self.each),
        ])?;
        Ok(Ready::new(bound, group_per_row((self.params.sequences * self.params.answer) as u32)))
    }

    /// Returns the kernel that computes the mean.
    pub(crate) fn mean(&self) -> Result<Ready, GpuError> {
        let bound = self.mean.bind([
            ("shape", &self.shape(self.all(), 0)?),
            ("tokens", &self.tokens),
            ("losses", &self.each),
            ("loss", &self.mean_and_count),
        ])?;
        Ok(Ready::new(bound, [1, 1, 1]))
    }

    /// One row for each target.
    fn all(&self) -> Rows {
        let [batches, rows] = [self.params.sequences, self.params.answer].map(|n| n as u32);
        Rows { batches, rows, first: 0, of: rows }
    }
}
