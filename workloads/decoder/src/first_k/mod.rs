//! The loss of the first K tokens of an answer: document 001, section 6.
//!
//! The document replaces a loop over the K tokens by parallel computation. A decoder is causal, so one forward pass over
//! the prompt and the answer gives the same logits as K passes over growing prefixes. The loss is the mean over all
//! targets that are not padding. The mean of the K steps' means differs from it as soon as answers have different
//! lengths, and a step whose targets are all padding has no mean.

mod losses;
mod placement;
pub(crate) mod tokens;
pub(crate) mod variants;

use perfharness_contract::{
    Case, ClaimDef, Effort, Floor, MetricDef, Promise, Role, VariantDef, Workload, WorkloadBuilder, standard,
};
use perfharness_gpu::gpu_meter;
use serde::Serialize;

use crate::model::Model;
use crate::{DOCUMENTED, OPTIMIZED, SLOW, TOKEN_FORWARDS};
pub(crate) use placement::FirstK;
use variants::{documented, optimized, slow};

/// Work counter: targets whose loss was computed, padding included.
const TARGETS: &str = "targets";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Params {
    #[serde(flatten)]
    pub(crate) model: Model,
    /// Sequences in a batch.
    pub(crate) sequences: usize,
    /// Tokens of a prompt, P.
    pub(crate) prompt: usize,
    /// Tokens of an answer, K.
    pub(crate) answer: usize,
}

impl Params {
    /// Tokens of a sequence.
    pub(crate) fn positions(&self) -> usize {
        self.prompt + self.answer
    }

    /// Tokens that go through the decoder: the last token of an answer is only a target.
    pub(crate) fn inputs(&self) -> usize {
        self.positions() - 1
    }

    /// Targets in a batch.
    pub(crate) fn targets(&self) -> u64 {
        (self.sequences * self.answer) as u64
    }
}

/// Returns the workload `first-k`.
pub fn first_k() -> Workload {
    use Effort::{Standard, Thorough};
    let case = |id: &str, model, prompt, answer, efforts: &[Effort]| {
        of(id, Params { model, sequences: 8, prompt, answer }).efforts(efforts)
    };
    let (small, full) = (Model::SMALL, Model::FULL);
    let cases = vec![
        case("p16-k4", small, 16, 4, &Effort::ALL),
        case("p16-k8", small, 16, 8, &[Standard, Thorough]),
        case("p64-k4", small, 64, 4, &[Standard, Thorough]),
        case("p16-k32", small, 16, 32, &[Thorough]),
        case("p64-k32", small, 64, 32, &[Thorough]),
        case("full-p64-k4", full, 64, 4, &[Thorough]),
        case("full-p64-k32", full, 64, 32, &[Thorough]),
    ];
    define(cases).claims(claims()).build()
}

/// Creates a case whose floor is one pass over the inputs, with logits of the targets alone.
fn of(id: &str, params: Params) -> Case<Params> {
    let inputs = (params.sequences * params.inputs()) as u64;
    let floor = Floor {
        operations: params.model.operations(inputs, params.targets()),
        upload_bytes: 4.0 * (params.sequences * params.positions()) as f64,
        dispatches: params.model.layers as f64,
        ..Floor::default()
    };
    Case::new(id, params).items(params.targets(), "targets").floor(floor)
}

pub(crate) fn define(cases: Vec<Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow_def = variant(
        SLOW,
        Role::Slow,
        "a forward pass for each token of the answer, with logits of every position",
    );
    let documented_def = variant(
        DOCUMENTED,
        Role::Documented,
        "one forward pass with logits of every position, log-likelihoods of all tokens at the targets' positions",
    );
    let optimized_def = variant(
        OPTIMIZED,
        Role::Optimized,
        "one forward pass, logits of the targets' positions alone, losses without writing log-likelihoods",
    );
    Workload::builder("first-k", 1, "The loss of the first tokens of an answer")
        .source("001", "6. Inefficient Loss Computation")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(TARGETS, "targets"))
        .metric(MetricDef::count(TOKEN_FORWARDS, "positions of a sequence through the decoder"))
        .variant_with(slow_def, |params, setup| FirstK::new(params, setup, slow))
        .variant_with(documented_def, |params, setup| FirstK::new(params, setup, documented))
        .variant_with(optimized_def, |params, setup| FirstK::new(params, setup, optimized))
        .memory(SLOW, |params| memory_bytes(params, params.inputs()))
        .memory(DOCUMENTED, |params| memory_bytes(params, params.inputs()))
        .memory(OPTIMIZED, |params| memory_bytes(params, params.answer))
}

/// Memory of a placement with logits of `rows` rows of each sequence.
fn memory_bytes(params: &Params, rows: usize) -> u64 {
    let count = |rows| (params.sequences * rows) as u64;
    params.model.memory_bytes(count(params.inputs()), count(rows))
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    vec![
        ClaimDef::new(
            "loss-overhead",
            "001, 6. Inefficient Loss Computation",
            "Loop over K tokens instead of parallel computation … ~5-10% overhead",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.05, at_most: Some(1.1) },
        )
        .on_gpu()
        .note(
            "An iteration is the forward passes and the loss, without a backward pass. `token-forwards` falls by more \
             than the document says: with a prompt of 64 tokens, from 262 to 67 with K = 4.",
        ),
    ]
}
