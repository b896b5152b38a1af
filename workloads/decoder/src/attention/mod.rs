//! Causal attention of one layer: document 001, Architecture Changes.
//!
//! Attention weighs the values of all earlier positions by the softmax of their scores. The scores of all pairs of T
//! positions take 4 T² bytes for each head, which three kernels write and read. A running softmax over tiles of keys
//! never stores them.

pub(crate) mod kernels;
mod placement;

use perfharness_contract::{
    Case, ClaimDef, Direction, Effort, Floor, MetricDef, Promise, Role, VariantDef, Workload,
    WorkloadBuilder, standard,
};
use perfharness_gpu::gpu_meter;
use serde::Serialize;

use crate::{DOCUMENTED, OPTIMIZED, POOL, SLOW};
use kernels::{documented, optimized, slow};
pub(crate) use placement::Layer;

/// Width of a head.
const HEAD: usize = 64;
/// Bytes of scores that `slow` keeps at a time, at least those of one head: the largest binding that every adapter has.
const SCORES: u64 = 128 << 20;
/// Work counter: queries answered.
const QUERIES: &str = "queries";
/// Metric: tiles of 16 keys that were loaded.
const TILES: &str = "tiles";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Params {
    /// Sequences in a batch, B.
    pub(crate) batch: u32,
    /// Heads of a sequence, H.
    pub(crate) heads: u32,
    /// Positions of a sequence, T.
    pub(crate) positions: u32,
}

impl Params {
    /// Heads of all sequences, each an attention of its own.
    fn parts(&self) -> u32 {
        self.batch * self.heads
    }

    /// Queries of all heads.
    pub(crate) fn queries(&self) -> u64 {
        u64::from(self.parts()) * u64::from(self.positions)
    }

    /// Queries, keys or values of all heads, in values.
    fn values(&self) -> u64 {
        self.queries() * HEAD as u64
    }

    /// Bytes of the scores of one head.
    fn score_bytes(&self) -> u64 {
        4 * u64::from(self.positions).pow(2)
    }

    /// Heads whose scores `slow` keeps at a time.
    pub(crate) fn parts_at_once(&self) -> u32 {
        ((SCORES / self.score_bytes()) as u32).clamp(1, self.parts())
    }

    /// Memory of a placement that keeps `scores` bytes of scores: inputs on host and device, and the result.
    fn memory_bytes(&self, scores: u64) -> u64 {
        4 * self.values() * (6 * POOL + 1) + scores
    }
}

/// Returns the workload `attention`.
pub fn attention() -> Workload {
    let case = |id: &str, batch, heads, positions, efforts: &[Effort]| {
        of(id, Params { batch, heads, positions }).efforts(efforts)
    };
    let thorough = &[Effort::Thorough];
    let cases = vec![
        case("b1h2t512", 1, 2, 512, &Effort::ALL),
        case("b1h4t1024", 1, 4, 1024, &[Effort::Standard, Effort::Thorough]),
        case("b1h8t2048", 1, 8, 2048, thorough),
        case("b4h8t2048", 4, 8, 2048, thorough),
        case("b1h8t4096", 1, 8, 4096, thorough),
    ];
    define(cases).claims(claims()).build()
}

/// Creates a case whose floor is the products below the diagonal, and one read or write of each value.
fn of(id: &str, params: Params) -> Case<Params> {
    let pairs = params.queries() as f64 * (f64::from(params.positions) + 1.0) / 2.0;
    let floor = Floor {
        operations: 4.0 * pairs * HEAD as f64,
        device_bytes: 4.0 * 4.0 * params.values() as f64,
        dispatches: 1.0,
        ..Floor::default()
    };
    Case::new(id, params).items(params.queries(), "queries").floor(floor)
}

pub(crate) fn define(cases: Vec<Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow_def =
        variant(SLOW, Role::Slow, "scores, softmax, and weighted values by three kernels, through memory");
    let documented_def =
        variant(DOCUMENTED, Role::Documented, "one kernel with a running softmax over tiles of 16 keys");
    let optimized_def =
        variant(OPTIMIZED, Role::Optimized, "as `documented`, without the tiles above the diagonal");
    let tiles =
        MetricDef { direction: Direction::Neutral, ..MetricDef::count(TILES, "tiles of keys loaded") };
    Workload::builder("attention", 1, "Causal attention of one layer")
        .source("001", "Architecture Changes")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(QUERIES, "queries"))
        .metric(tiles)
        .variant_with(slow_def, |params, setup| Layer::new(params, setup, slow))
        .variant_with(documented_def, |params, setup| Layer::new(params, setup, documented))
        .variant_with(optimized_def, |params, setup| Layer::new(params, setup, optimized))
        .memory(SLOW, |params| params.memory_bytes(u64::from(params.parts_at_once()) * params.score_bytes()))
        .memory(DOCUMENTED, |params| params.memory_bytes(0))
        .memory(OPTIMIZED, |params| params.memory_bytes(0))
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    vec![
        ClaimDef::new(
            "flash-attention",
            "001, Architecture Changes",
            "Use Flash Attention 2: 2-4x speedup on attention layers",
            standard::WALL_TIME,
            Promise::Factor { at_least: 2.0, at_most: Some(4.0) },
        )
        .on_gpu()
        .note(
            "An iteration is a forward pass of attention alone, in single precision without matrix units. Flash \
             Attention 2 also skips what lies above the diagonal, which here only `optimized` does.",
        ),
    ]
}
