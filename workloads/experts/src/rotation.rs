//! The rotated inputs of the experts: document 003, section 1.1.
//!
//! Each expert sees the batch as `s x Rᵀ + b`, passes it through a layer, and computes a loss for each row, from the
//! output itself or from logits over a vocabulary. The document rotates when an expert's turn comes, instead of for all
//! experts first. The decisive metric is the peak of memory.

mod claims;
mod experts;
mod held;
mod network;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod tests;
mod variants;

use perfharness_contract::{
    Case, Check, Counter, Effort, Failure, Floor, Measured, MetricDef, Role, Setup, Tolerance, VariantDef,
    Workload, WorkloadBuilder,
};
use perfharness_gpu::{Gpu, GpuError, gpu_meter};
use serde::Serialize;

use crate::{DOCUMENTED, OPTIMIZED, SLOW, checked, input_of};
use experts::{Batch, WIDTH, Weights};
use network::Network;
use variants::{AllFirst, InTurn, Joint, Reused};

const JOINT: &str = "joint-backward";
const FORWARDS: &str = "expert-forwards";

/// Up to three products of 128 terms of about 1, each within `2 · 128 · 2⁻²⁴` relative, follow each other.
const TOLERANCE: Tolerance = Tolerance::Relative(5e-5);

/// Parameters of a case.
#[derive(Clone, Debug, Serialize)]
struct Params {
    /// Rows of the batch, 128 values wide; a multiple of 64, so that parts of buffers can be bound.
    rows: usize,
    experts: usize,
    /// Logits of a row; 0 for a loss without a head.
    vocabulary: usize,
    /// Most bytes of the logits that `optimized` keeps.
    logit_bytes: usize,
}

impl Params {
    fn new(rows: usize, experts: usize, vocabulary: usize) -> Self {
        Self { rows, experts, vocabulary, logit_bytes: 16 << 20 }
    }

    fn name(&self) -> String {
        let head = if self.vocabulary == 0 { String::new() } else { format!("-v{}", self.vocabulary) };
        format!("n{}-x{}{head}", self.rows, self.experts)
    }
}

/// A way to rotate. When it returns, the losses of all rows and experts are being written.
trait Variant: Sized {
    fn new(network: &Network) -> Result<Self, GpuError>;

    fn run(&mut self, network: &Network, input: usize) -> Result<(), GpuError>;
}

/// A placement.
struct Rotation<V> {
    seed: u64,
    params: Params,
    weights: Weights,
    batch: Batch,
    network: Network,
    variant: V,
    forwards: Counter,
}

impl<V: Variant> Rotation<V> {
    fn new(params: &Params, setup: &Setup) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let weights = Weights::new(setup.seed(), params);
        let held = held::attach(setup);
        let network = Network::new(gpu, params, &weights, held)?;
        let variant = V::new(&network)?;
        let forwards = setup.counter(FORWARDS);
        let params = params.clone();
        Ok(Self { seed: setup.seed(), params, weights, batch: Batch::default(), network, variant, forwards })
    }
}

impl<V: Variant> Measured for Rotation<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.batch = Batch::new(self.seed, round, &self.params);
        Ok(self.network.load(&self.batch)?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.variant.run(&self.network, input_of(index))?;
        self.forwards.add(self.params.experts as u64);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.network.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let input = input_of(index);
        let losses = self.network.gpu.read::<f32>(&self.network.losses)?;
        let rows = checked(self.params.rows, index);
        let places = (0..self.params.experts).flat_map(|expert| rows.clone().map(move |row| (expert, row)));
        let (due, seen): (Vec<f64>, Vec<f64>) = places
            .map(|(expert, row)| {
                let due = self.weights.loss(&self.batch, input, expert, row);
                (due, f64::from(losses[expert * self.params.rows + row]))
            })
            .unzip();
        Ok(Check::compare(&due, &seen, TOLERANCE).with_input(self.batch.digest(input)))
    }
}

/// Returns the workload `rotation`.
pub fn workload() -> Workload {
    use Effort::{Quick, Standard, Thorough};
    let case = |params: Params, efforts: &[Effort]| {
        let (rows, experts) = (params.rows as f64, params.experts as f64);
        let width = WIDTH as f64;
        // The batch is read, and a loss written for each row, while everything between stays in a processor's registers.
        // Products that follow each other could be one, whose weights are computed first.
        let floor = Floor {
            device_bytes: 4.0 * rows * (width + experts),
            operations: 2.0 * rows * experts * width * params.vocabulary.max(WIDTH) as f64,
            dispatches: 1.0,
            ..Floor::default()
        };
        let items = (params.rows * params.experts) as u64;
        Case::new(&params.name(), params).items(items, "rows").efforts(efforts).floor(floor)
    };
    let cases = [
        case(Params::new(64, 4, 0), &[Quick, Standard, Thorough]),
        case(Params::new(64, 4, 2048), &[Standard, Thorough]),
        case(Params::new(4096, 4, 0), &[Standard, Thorough]),
        case(Params::new(4096, 8, 0), &[Thorough]),
        case(Params::new(4096, 4, 2048), &[Thorough]),
        case(Params::new(4096, 4, 50_257), &[Thorough]),
    ];
    let mut builder = define(cases);
    for head in ["n64-x4-v2048", "n4096-x4-v2048", "n4096-x4-v50257"] {
        builder = builder.skip(head, JOINT, "it has a backward pass for the loss without a head only");
    }
    builder.claims(claims::claims()).build()
}

fn define(cases: impl IntoIterator<Item = Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow = variant(
        SLOW,
        Role::Slow,
        "rotates for all experts first; keeps all inputs, and all logits until the losses",
    );
    let documented = variant(
        DOCUMENTED,
        Role::Documented,
        "rotates when an expert's turn comes, into a new buffer; keeps all logits until the losses",
    );
    let joint = variant(
        JOINT,
        Role::Other,
        "as documented, with one backward pass after all experts, which needs all inputs again",
    )
    .reference(SLOW);
    let optimized = variant(
        OPTIMIZED,
        Role::Optimized,
        "rotates into one buffer that is kept, and computes each loss at once, from at most 16 MiB of logits",
    );
    let held = |params: &Params, kept: usize, logits: usize| {
        let (rows, width, vocabulary) = (params.rows, WIDTH, params.vocabulary);
        let weights = 2 * (2 * params.experts * width + vocabulary) * width;
        4 * (weights + rows * width * (3 + kept) + rows * vocabulary * logits) as u64
    };
    Workload::builder("rotation", 1, "One batch, rotated for each of several experts")
        .source("003", "1.1")
        .cases(cases)
        .meter(gpu_meter())
        .meter(held::definition())
        .metric(MetricDef::work(FORWARDS, "forward passes of experts"))
        .variant_with(slow, Rotation::<AllFirst>::new)
        .variant_with(documented, Rotation::<InTurn>::new)
        .variant_with(joint, Rotation::<Joint>::new)
        .variant_with(optimized, Rotation::<Reused>::new)
        .memory(SLOW, move |params| held(params, params.experts, params.experts))
        .memory(DOCUMENTED, move |params| held(params, 1, params.experts))
        .memory(JOINT, move |params| held(params, 2 * params.experts, 0))
        .memory(OPTIMIZED, move |params| held(params, 1, 0) + params.logit_bytes as u64)
}
