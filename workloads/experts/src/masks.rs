//! The masks of attention, which are the same for all experts: document 003, section 1.2.
//!
//! An iteration is two batches with different padding, each of which passes through the attention head of every expert. A
//! query sees the keys up to its own position that are not padding. The document makes the mask once for a batch. Its
//! source keeps masks by the length of a sequence, and so applies the padding of an earlier batch.

mod claims;
mod heads;
mod inputs;
#[cfg(test)]
mod tests;
mod variants;

use perfharness_contract::{
    Case, Check, Counter, Effort, Failure, Floor, Measured, MetricDef, OutcomeKind, Role, Setup, Tolerance,
    VariantDef, Workload,
};
use perfharness_gpu::{Gpu, GpuError, gpu_meter};
use serde::Serialize;

use crate::{DOCUMENTED, OPTIMIZED, POOL, SHIPPED, SLOW, checked, input_of};
use heads::{BATCHES, Heads, batch_of};
use inputs::{Batch, HEAD};
use variants::{InKernel, Masked, Rebuild};

const MASK_BUILDS: &str = "mask-builds";
const FORWARDS: &str = "expert-forwards";

/// Results are means of values up to 1. Scores are sums of 32 terms, and their exponentials have some roundings more.
const TOLERANCE: Tolerance = Tolerance::Absolute(2e-5);

/// Parameters of a case.
#[derive(Clone, Debug, Serialize)]
struct Params {
    /// Sequences in a batch.
    sequences: usize,
    /// Positions of a sequence; a multiple of 64, so that parts of buffers can be bound.
    positions: usize,
    experts: usize,
}

impl Params {
    /// Values of the queries of one expert, of the keys, or of the values of a batch.
    fn values(&self) -> usize {
        self.sequences * self.positions * HEAD
    }

    /// Scores of an expert for a batch; a mask has as many numbers.
    fn scores(&self) -> usize {
        self.sequences * self.positions * self.positions
    }
}

/// A way to mask. When it returns, the results of all experts for both batches are being written.
trait Variant {
    fn run(&mut self, heads: &Heads, input: usize) -> Result<(), GpuError>;
}

/// A placement.
struct Masks<V> {
    seed: u64,
    params: Params,
    batches: Vec<Batch>,
    heads: Heads,
    variant: V,
    forwards: Counter,
}

impl<V: Variant> Masks<V> {
    fn new(
        params: &Params,
        setup: &Setup,
        variant: impl FnOnce(&Heads, Counter) -> Result<V, GpuError>,
    ) -> Result<Self, Failure> {
        let heads = Heads::new(Gpu::open(setup)?, params)?;
        let variant = variant(&heads, setup.counter(MASK_BUILDS))?;
        let (forwards, params) = (setup.counter(FORWARDS), params.clone());
        Ok(Self { seed: setup.seed(), params, batches: Vec::new(), heads, variant, forwards })
    }
}

impl<V: Variant> Measured for Masks<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.batches = Batch::pool(self.seed, round, &self.params);
        Ok(self.heads.load(&self.batches)?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.variant.run(&self.heads, input_of(index))?;
        self.forwards.add((BATCHES * self.params.experts) as u64);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.heads.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let Params { sequences, positions, experts } = self.params;
        let (mut due, mut seen) = (Vec::new(), Vec::new());
        for turn in 0..BATCHES {
            let batch = &self.batches[batch_of(input_of(index), turn)];
            let results = self.heads.gpu.read::<f32>(&self.heads.results[turn])?;
            for expert in 0..experts {
                for row in checked(sequences * positions, index) {
                    let at = (expert * sequences * positions + row) * HEAD;
                    due.extend(batch.reference(&self.params, expert, row));
                    seen.extend(results[at..at + HEAD].iter().copied().map(f64::from));
                }
            }
        }
        let input = self.batches[input_of(index)].digest();
        Ok(Check::compare(&due, &seen, TOLERANCE).with_input(input))
    }
}

/// Returns the workload `masks`.
pub fn workload() -> Workload {
    let case = |sequences: usize, positions: usize, experts: usize, efforts: &[Effort]| {
        let params = Params { sequences, positions, experts };
        let forwards = (BATCHES * experts) as f64;
        // Each expert reads its queries and writes as much; all share keys and values. A score takes a product, and its
        // weight another one. Padding is uniform up to the whole sequence, so a sixth of the scores is needed: half are
        // above the diagonal, and of the others two thirds are padding.
        let floor = Floor {
            device_bytes: 4.0 * params.values() as f64 * (2.0 * forwards + 2.0 * BATCHES as f64),
            operations: forwards * params.scores() as f64 / 6.0 * 4.0 * HEAD as f64,
            dispatches: 1.0,
            ..Floor::default()
        };
        Case::new(&format!("b{sequences}-s{positions}-x{experts}"), params)
            .items((BATCHES * experts * sequences * positions) as u64, "queries")
            .efforts(efforts)
            .floor(floor)
    };
    let cases = [
        case(2, 128, 4, &Effort::ALL),
        case(8, 128, 4, &[Effort::Standard, Effort::Thorough]),
        case(8, 512, 4, &[Effort::Thorough]),
    ];
    let names: Vec<String> = ["b2-s128-x4", "b8-s128-x4", "b8-s512-x4"].map(str::to_owned).into();
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow = variant(SLOW, Role::Slow, "makes the mask again for every expert");
    let documented = variant(DOCUMENTED, Role::Documented, "makes the mask once for a batch");
    let shipped = variant(
        SHIPPED,
        Role::Other,
        "the source's program after the change: keeps the mask by the length of the sequences",
    )
    .reference(SLOW)
    .caveat("Wrong: a batch gets the padding of the first batch of its length.");
    let optimized = variant(
        OPTIMIZED,
        Role::Optimized,
        "without a mask: the kernel compares positions, skips what is masked, and stores no scores",
    );
    let memory = |params: &Params, scores: usize| {
        let values = params.values() * (params.experts * (2 * POOL + BATCHES) + 4 * POOL);
        4 * (values + scores * params.scores()) as u64
    };
    let mut builder = Workload::builder("masks", 1, "The masks of attention for several experts")
        .source("003", "1.2")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(FORWARDS, "forward passes of experts"))
        .metric(MetricDef::count(MASK_BUILDS, "masks built"))
        .claims(claims::claims())
        .variant_with(slow, |params, setup| {
            Masks::new(params, setup, |heads, builds| Masked::new(heads, Rebuild::Expert, builds))
        })
        .variant_with(documented, |params, setup| {
            Masks::new(params, setup, |heads, builds| Masked::new(heads, Rebuild::Batch, builds))
        })
        .variant_with(shipped, |params, setup| {
            Masks::new(params, setup, |heads, builds| Masked::new(heads, Rebuild::Length, builds))
        })
        .variant_with(optimized, |params, setup| Masks::new(params, setup, |heads, _| InKernel::new(heads)))
        .memory(OPTIMIZED, move |params| memory(params, 0));
    for variant in [SLOW, DOCUMENTED, SHIPPED] {
        builder = builder.memory(variant, move |params| memory(params, 2));
    }
    for case in &names {
        builder = builder.expect(case, SHIPPED, OutcomeKind::WrongResult);
    }
    builder.build()
}
