//! The variants: kernels of one or more forward passes.

use perfharness_gpu::{Buffer, GpuError};
use perfharness_layers::{Ready, Rows};

use super::Params;
use super::losses::Losses;
use crate::network::{Network, Span};

/// A forward pass and its losses, in one submit.
pub(crate) struct Step {
    pub(crate) kernels: Vec<Ready>,
    /// Positions of each sequence that go through the decoder.
    pub(crate) positions: u64,
}

/// Builds the steps of a variant.
pub(crate) type Build = fn(&Network, &Losses, &Params) -> Result<Vec<Step>, GpuError>;

/// Creates the parts that a variant's passes share: caches, which hold keys and values of one pass only, and logits of
/// `rows` rows of each sequence.
fn buffers(network: &Network, params: &Params, rows: usize) -> Result<(Vec<Buffer>, Buffer), GpuError> {
    let cached = (params.sequences * params.inputs()) as u32;
    let caches = (0..params.model.layers).map(|_| network.cache(cached)).collect::<Result<_, _>>()?;
    let values = params.sequences * rows * params.model.vocabulary;
    Ok((caches, network.gpu.buffer_for::<f32>("logits", values as u64)?))
}

/// Logits of all positions, and losses of the last `answer` of them, the first of which predicts target `at`.
fn pass(
    network: &Network,
    losses: &Losses,
    (caches, logits): &(Vec<Buffer>, Buffer),
    [sequences, count, answer, at]: [usize; 4],
) -> Result<Step, GpuError> {
    let [sequences, count, answer] = [sequences, count, answer].map(|n| n as u32);
    let mut kernels = network.pass(Span { sequences, first: 0, count }, caches)?;
    kernels.extend(network.logits(Rows::all(sequences * count), logits, 0)?);
    let rows = Rows { batches: sequences, rows: answer, first: count - answer, of: count };
    kernels.extend(losses.whole(rows, at, logits)?);
    Ok(Step { kernels, positions: u64::from(count) })
}

/// The document's "before": a forward pass for each token of the answer, over the prompt and the tokens before it.
pub(crate) fn slow(network: &Network, losses: &Losses, params: &Params) -> Result<Vec<Step>, GpuError> {
    let shared = buffers(network, params, params.inputs())?;
    let step = |at| pass(network, losses, &shared, [params.sequences, params.prompt + at, 1, at]);
    let mut steps = (0..params.answer).map(step).collect::<Result<Vec<_>, _>>()?;
    if let Some(last) = steps.last_mut() {
        last.kernels.push(losses.mean()?);
    }
    Ok(steps)
}

/// The document's "after": one forward pass gives the logits of all tokens of the answer.
pub(crate) fn documented(network: &Network, losses: &Losses, params: &Params) -> Result<Vec<Step>, GpuError> {
    let shared = buffers(network, params, params.inputs())?;
    let mut step = pass(network, losses, &shared, [params.sequences, params.inputs(), params.answer, 0])?;
    step.kernels.push(losses.mean()?);
    Ok(vec![step])
}

/// The best implementation that we know: only positions with a target go through the head, and only the
/// log-likelihoods of targets are written.
pub(crate) fn optimized(network: &Network, losses: &Losses, params: &Params) -> Result<Vec<Step>, GpuError> {
    let (caches, logits) = buffers(network, params, params.answer)?;
    let [sequences, count, answer] = [params.sequences, params.inputs(), params.answer].map(|n| n as u32);
    let mut kernels = network.pass(Span { sequences, first: 0, count }, &caches)?;
    let rows = Rows { batches: sequences, rows: answer, first: count - answer, of: count };
    kernels.extend(network.logits(rows, &logits, 0)?);
    kernels.extend([losses.fused(&logits)?, losses.mean()?]);
    Ok(vec![Step { kernels, positions: u64::from(count) }])
}
