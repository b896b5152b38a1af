//! Generation of an answer with and without a cache of keys and values: document 001, section 8.
//!
//! The tokens before a new one have the same keys and values in every step, so only the new token has to go through the
//! decoder if those of the others are kept. An iteration generates an answer of T tokens, always the most likely one,
//! to a prompt of P tokens.

mod documented;
mod host_choice;
mod optimized;
mod placement;
mod slow;

use perfharness_contract::{
    Case, ClaimDef, Effort, Floor, MetricDef, Promise, Role, VariantDef, Workload, WorkloadBuilder, standard,
};
use perfharness_gpu::gpu_meter;
use serde::Serialize;

use crate::model::Model;
use crate::{DOCUMENTED, OPTIMIZED, SLOW, TOKEN_FORWARDS};
pub(crate) use documented::Documented;
pub(crate) use optimized::Optimized;
pub(crate) use placement::Generation;
pub(crate) use slow::Slow;

/// Work counter: tokens generated.
const TOKENS: &str = "tokens";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Params {
    #[serde(flatten)]
    pub(crate) model: Model,
    /// Tokens of the prompt, P.
    pub(crate) prompt: usize,
    /// Tokens of the answer, T.
    pub(crate) answer: usize,
}

impl Params {
    /// Tokens of the prompt and the answer.
    pub(crate) fn positions(&self) -> usize {
        self.prompt + self.answer
    }

    /// Positions that go through the decoder: the last token of the answer does not.
    pub(crate) fn inputs(&self) -> usize {
        self.positions() - 1
    }
}

/// Returns the workload `kv-cache`.
pub fn kv_cache() -> Workload {
    let case = |id: &str, model, prompt, answer, efforts: &[Effort]| {
        of(id, Params { model, prompt, answer }).efforts(efforts)
    };
    let (small, full) = (Model::SMALL, Model::FULL);
    let cases = vec![
        case("p64-t16", small, 64, 16, &Effort::ALL),
        case("p64-t64", small, 64, 64, &[Effort::Standard, Effort::Thorough]),
        case("p512-t128", small, 512, 128, &[Effort::Thorough]),
        case("full-p512-t128", full, 512, 128, &[Effort::Thorough]),
    ];
    define(cases).claims(claims()).build()
}

/// Creates a case whose floor is a pass of each position, and a read of all weights, for each token if no cache holds them. A step depends on
/// the one before it, and the host waits for the whole answer once.
fn of(id: &str, params: Params) -> Case<Params> {
    let Params { model, prompt, answer } = params;
    let floor = Floor {
        operations: model.operations(params.inputs() as u64, answer as u64),
        device_bytes: Floor::used_again(model.step_bytes(), answer as f64),
        upload_bytes: 4.0 * prompt as f64,
        download_bytes: 4.0 * answer as f64,
        syncs: 1.0,
        dispatches: answer as f64,
        ..Floor::default()
    };
    Case::new(id, params).items(answer as u64, "tokens").floor(floor)
}

pub(crate) fn define(cases: Vec<Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow = variant(
        SLOW,
        Role::Slow,
        "the whole sequence goes through the decoder for each token; the host reads logits and chooses",
    );
    let documented = variant(
        DOCUMENTED,
        Role::Documented,
        "keys and values are kept and appended to by a new buffer and a copy; the host reads logits and chooses",
    );
    let optimized = variant(
        OPTIMIZED,
        Role::Optimized,
        "keys and values are written in place into buffers for the whole answer; the device chooses, and the host waits \
         once",
    )
    .caveat("It generates all T tokens even if an earlier one ends the answer.");
    Workload::builder("kv-cache", 1, "Generation of an answer, with a cache of keys and values")
        .source("001", "8. Unoptimized Attention Caching")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(TOKENS, "tokens generated"))
        .metric(MetricDef::count(TOKEN_FORWARDS, "positions through the decoder"))
        .variant_with(slow, Generation::<Slow>::new)
        .variant_with(documented, Generation::<Documented>::new)
        .variant_with(optimized, Generation::<Optimized>::new)
        .memory(SLOW, memory_bytes)
        .memory(DOCUMENTED, memory_bytes)
        .memory(OPTIMIZED, memory_bytes)
}

fn memory_bytes(params: &Params) -> u64 {
    params.model.memory_bytes(params.inputs() as u64, params.answer as u64)
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    vec![
        ClaimDef::new(
            "cache-overhead",
            "001, 8. Unoptimized Attention Caching",
            "KV cache not properly reused across steps … Recreating attention caches … ~15-20% overhead",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.15, at_most: Some(1.2) },
        )
        .on_gpu()
        .note(
            "An iteration is the generation alone; the document's share is one of a training step. `token-forwards` \
             falls from P T + T (T - 1) / 2 to P + T - 1: with 64 and 16 tokens, from 1144 to 79.",
        ),
    ]
}
