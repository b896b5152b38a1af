//! The records that a framework keeps of each operation: document 002, optimization 3.
//!
//! `no_grad` records no tape, and still keeps a version of each tensor and the base of each view; `inference_mode`
//! drops these as well. An operation multiplies a row of weights by a number and adds it to the result of the operation
//! before it, as a new tensor: the less it computes, the more its records weigh.

mod arena;
mod autograd;
mod chain;
mod plain;
#[cfg(test)]
mod tests;

use perfharness_contract::{
    Case, Check, ClaimDef, Counter, Effort, Failure, Measured, MetricDef, Promise, Role, Setup, Tolerance,
    VariantDef, Workload, standard,
};
use serde::Serialize;

use crate::{DOCUMENTED, OPTIMIZED, POOL, SLOW, input_of};
use arena::Arena;
use autograd::{NoGrad, Recording};
use chain::Chain;
use plain::Plain;

const RECORDING: &str = "recording";
const OPERATIONS: &str = "operations";
const VERSION_BUMPS: &str = "version-bumps";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Params {
    /// Elements of a vector.
    width: usize,
    /// Operations in one iteration.
    n: u64,
}

/// A way to keep tensors.
trait Mode {
    fn new(width: usize) -> Self;

    /// Computes `n` operations of the chain into `result`, and returns the number of version bumps.
    ///
    /// Every result passes `black_box`: no variant may omit a tensor because nobody looks at it.
    fn run(&mut self, chain: &Chain, n: u64, result: &mut [f32]) -> u64;
}

/// A placement.
struct Inference<M> {
    params: Params,
    seed: u64,
    pool: Vec<Chain>,
    mode: M,
    result: Vec<f32>,
    operations: Counter,
    version_bumps: Counter,
}

impl<M: Mode> Inference<M> {
    fn new(params: &Params, setup: &Setup) -> Self {
        Self {
            params: *params,
            seed: setup.seed(),
            pool: Vec::new(),
            mode: M::new(params.width),
            result: vec![0.0; params.width],
            operations: setup.counter(OPERATIONS),
            version_bumps: setup.counter(VERSION_BUMPS),
        }
    }
}

impl<M: Mode> Measured for Inference<M> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.pool = Chain::pool(self.seed, round, self.params.width);
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let bumps = self.mode.run(&self.pool[input_of(index)], self.params.n, &mut self.result);
        self.operations.add(self.params.n);
        self.version_bumps.add(bumps);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let chain = &self.pool[input_of(index)];
        let result: Vec<f64> = self.result.iter().copied().map(f64::from).collect();
        let due = chain.reference(self.params.n);
        Ok(Check::compare(&due, &result, Tolerance::Exact).with_input(chain.digest()))
    }
}

/// Returns the workload `inference-mode`.
pub fn workload() -> Workload {
    use Effort::{Quick, Standard, Thorough};
    // Without a floor: two vectors and a row stay in the processor's caches, of which no ceiling is measured.
    let case = |width: usize, n: u64, efforts: &[Effort]| {
        Case::new(&format!("v{width}-n{n}"), Params { width, n }).items(n, "operations").efforts(efforts)
    };
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "no_grad: a flag check, a version counter and a view record for each operation, and no tape",
    );
    let recording =
        VariantDef::new(RECORDING, Role::Other, "as slow, and a node on the tape for each operation")
            .reference(SLOW);
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "inference_mode: allocates the result of each operation, and records nothing",
    );
    let optimized =
        VariantDef::new(OPTIMIZED, Role::Optimized, "results in two arenas that are reset in turns").caveat(
            "A result lives until its arena is reset, at most 16 KiB of results later: copy what you keep.",
        );
    let memory = |params: &Params| 4 * params.width as u64 * (POOL * (chain::ROWS as u64 + 1) + 3);
    Workload::builder("inference-mode", 1, "The records of each operation in an inference loop")
        .source("002", "Optimization 3")
        .cases([
            case(1, 1000, &[Quick, Standard, Thorough]),
            case(64, 1000, &[Standard, Thorough]),
            case(4096, 1000, &[Quick, Standard, Thorough]),
            case(1, 1_000_000, &[Standard, Thorough]),
            case(64, 1_000_000, &[Thorough]),
            case(4096, 1_000_000, &[Thorough]),
        ])
        .metric(MetricDef::work(OPERATIONS, "operations computed"))
        .metric(MetricDef::count(VERSION_BUMPS, "version bumps"))
        .claims(claims())
        .variant_with(slow, |params, setup| Ok(Inference::<NoGrad>::new(params, setup)))
        .variant_with(recording, |params, setup| Ok(Inference::<Recording>::new(params, setup)))
        .variant_with(documented, |params, setup| Ok(Inference::<Plain>::new(params, setup)))
        .variant_with(optimized, |params, setup| Ok(Inference::<Arena>::new(params, setup)))
        .memory(SLOW, memory)
        // A node of the tape and its place in the list, for each operation.
        .memory(RECORDING, move |params| memory(params) + 72 * params.n)
        .memory(DOCUMENTED, memory)
        .memory(OPTIMIZED, move |params| memory(params) + 2 * arena::bytes(params.width) as u64)
        .build()
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    const SECTION: &str = "002, Optimization 3";
    vec![
        ClaimDef::new(
            "less-bookkeeping",
            SECTION,
            "Expected speedup: ~5-10% (less bookkeeping overhead)",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.05, at_most: Some(1.10) },
        )
        .note(
            "An iteration is the operations alone, on one core of the processor. The share of the records falls \
             with the size of a tensor: an operation of one element is nearly nothing else.",
        ),
        ClaimDef::new(
            "no-version-counting",
            SECTION,
            "it disables autograd entirely and avoids version counting on tensors",
            VERSION_BUMPS,
            Promise::Reduction { at_least: 1.0, at_most: None },
        )
        .note("Counts bumps. The tape is gone before the change as well: see `recording`."),
        ClaimDef::new(
            "small-but-free",
            "002, Implementation Priority",
            "torch.inference_mode() — Small but free",
            standard::WALL_TIME,
            Promise::NotMeasurable { reason: "The document gives no number here.".into() },
        ),
    ]
}
