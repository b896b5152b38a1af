//! Parts that all variants share: prompts, weights, the answer, and its check.

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, Setup, Tolerance, input_rng};
use perfharness_gpu::{Buffer, Gpu, GpuError};
use perfharness_layers::Rows;
use rand_pcg::rand_core::Rng as _;

use super::{Params, TOKENS};
use crate::model::Weights;
use crate::network::Network;
use crate::{POOL, TOKEN_FORWARDS, reference};

/// Allowed deviation of a logit. The largest deviation seen is 1.2e-6, on a software adapter. WGSL allows `exp` and the
/// square root many times the error that they have there.
const TOLERANCE: f64 = 1e-4;

/// A way to generate an answer.
pub(crate) trait Variant: Sized {
    /// Creates a variant that keeps the logits of each token in `logits`, `[answer][vocabulary]`.
    fn new(network: &Network, params: &Params, logits: &Buffer) -> Result<Self, GpuError>;

    /// Generates the answer to a prompt.
    fn generate(&mut self, network: &Network, prompt: &[u32], answer: &mut [u32]) -> Result<(), GpuError>;

    /// Positions that go through the decoder in an iteration.
    fn forwards(params: &Params) -> u64;
}

/// A placement.
pub(crate) struct Generation<V> {
    network: Network,
    weights: Weights,
    params: Params,
    seed: u64,
    prompts: Vec<Vec<u32>>,
    logits: Buffer,
    pub(crate) answer: Vec<u32>,
    variant: V,
    tokens: Counter,
    forwards: Counter,
}

impl<V: Variant> Generation<V> {
    pub(crate) fn new(params: &Params, setup: &Setup) -> Result<Self, Failure> {
        let weights = Weights::new(params.model, params.positions(), setup.seed());
        let network = Network::new(&Gpu::open(setup)?, &weights, 1, params.inputs())?;
        let values = params.answer * params.model.vocabulary;
        let logits = network.gpu.buffer_for::<f32>("logits", values as u64)?;
        Ok(Self {
            variant: V::new(&network, params, &logits)?,
            network,
            weights,
            params: *params,
            seed: setup.seed(),
            prompts: Vec::new(),
            logits,
            answer: vec![0; params.answer],
            tokens: setup.counter(TOKENS),
            forwards: setup.counter(TOKEN_FORWARDS),
        })
    }

    /// Returns the first token of the answer whose reference logit is below the largest one by more than the error of
    /// both, with its place. Which of two nearly equal logits is the larger one depends on rounding.
    fn unlikely(&self, logits: &[f64]) -> Option<(usize, u32)> {
        let rows = logits.chunks_exact(self.params.model.vocabulary);
        rows.zip(&self.answer).enumerate().find_map(|(at, (row, token))| {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let chosen = row.get(*token as usize).copied().unwrap_or(f64::NEG_INFINITY);
            let margin = 2.0 * TOLERANCE * most.abs().max(1.0);
            (chosen < most - margin).then_some((at, *token))
        })
    }
}

impl<V: Variant> Measured for Generation<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        let mut rng = input_rng(self.seed, "kv-cache", round);
        let vocabulary = self.params.model.vocabulary as u64;
        let mut token = || ((u64::from(rng.next_u32()) * vocabulary) >> 32) as u32;
        self.prompts = (0..POOL).map(|_| (0..self.params.prompt).map(|_| token()).collect()).collect();
        Ok(self.network.gpu.fence()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let Some(prompt) = self.prompts.get((index % POOL) as usize) else {
            return Err(Failure::Failed("no round is loaded".into()));
        };
        self.variant.generate(&self.network, prompt, &mut self.answer)?;
        self.tokens.add(self.answer.len() as u64);
        self.forwards.add(V::forwards(&self.params));
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.network.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let Some(prompt) = self.prompts.get((index % POOL) as usize) else {
            return Err(Failure::Failed("no round is loaded".into()));
        };
        let vocabulary = self.params.model.vocabulary as u32;
        if let Some(token) = self.answer.iter().find(|token| **token >= vocabulary) {
            return Ok(Check::wrong(format!("the answer has the token {token}, and there are {vocabulary}")));
        }
        // The reference continues with the tokens that were generated, so that one close choice does not make all
        // logits after it differ.
        let mut tokens = [&prompt[..], &self.answer].concat();
        tokens.truncate(self.params.inputs());
        let due = reference::logits(&self.weights, &tokens, prompt.len() - 1..tokens.len());
        if let Some((at, token)) = self.unlikely(&due) {
            return Ok(Check::wrong(format!(
                "token {at} of the answer, {token}, is not the most likely one"
            )));
        }
        let logits = self.network.gpu.read::<f32>(&self.logits)?;
        let logits: Vec<f64> = logits.into_iter().map(f64::from).collect();
        let input = Digest::of_f64(prompt.iter().map(|token| f64::from(*token)));
        Ok(Check::compare(&due, &logits, Tolerance::Relative(TOLERANCE)).with_input(input))
    }
}

/// Returns the row of logits that the last position of a pass over `count` positions gives.
pub(crate) fn last_row(count: usize) -> Rows {
    let of = count as u32;
    Rows { batches: 1, rows: 1, first: of - 1, of }
}
