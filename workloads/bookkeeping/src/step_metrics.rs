//! Metrics of a training step that cost more than they tell: document 003, section 1.3.
//!
//! Eight experts have a vector of weights each. Three metrics say how far they differ and how evenly they are used:
//! the mean |cos| of all pairs, the entropy of the loads, and the mean angle of all pairs. The document computes them at
//! every tenth step instead of at every step.

mod claims;
mod delivery;
mod experts;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod tests;
mod training;

use perfharness_contract::{
    Case, Check, Counter, Effort, Failure, Floor, Measured, MetricDef, Role, Setup, Tolerance, VariantDef,
    Workload, WorkloadBuilder,
};
use perfharness_gpu::{Gpu, GpuError, gpu_meter};
use serde::Serialize;

use crate::{DOCUMENTED, OPTIMIZED, SLOW, input_of};
use delivery::{ALWAYS, AS_DUE, AS_SHIPPED, Delivery, Items, Late};
use experts::{EXPERTS, Experts, LENGTH, SCALARS};
use training::{EVERY, Training};

const SHIPPED: &str = "shipped";
const VALUES: &str = "values";
const COMPUTATIONS: &str = "metric-computations";

/// WGSL allows `acos` an absolute error of 6.8e-5. The sums deviate by less than 1e-6, and the metrics of steps that
/// could be confused by at least 1e-3.
const TOLERANCE: Tolerance = Tolerance::Absolute(1e-4);

/// Parameters of a case.
#[derive(Debug, Serialize)]
struct Params {
    /// Training steps in one iteration.
    steps: u64,
}

/// A placement.
struct Loop<D> {
    seed: u64,
    pool: Vec<Experts>,
    training: Training,
    delivery: D,
    /// Metrics of every tenth step, in order.
    history: Vec<[f32; SCALARS]>,
    values: Counter,
}

impl<D: Delivery> Loop<D> {
    fn new(
        params: &Params,
        setup: &Setup,
        delivery: impl FnOnce(&Gpu) -> Result<D, GpuError>,
    ) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        Ok(Self {
            seed: setup.seed(),
            pool: Vec::new(),
            delivery: delivery(&gpu)?,
            training: Training::new(gpu, params.steps, setup.counter(COMPUTATIONS))?,
            history: Vec::with_capacity(params.steps.div_ceil(EVERY) as usize),
            values: setup.counter(VALUES),
        })
    }
}

impl<D: Delivery> Measured for Loop<D> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.pool = Experts::pool(self.seed, round);
        Ok(self.training.load(&self.pool)?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.history.clear();
        self.delivery.run(&self.training, input_of(index), &mut self.history)?;
        self.values.add((self.history.len() * SCALARS) as u64);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.training.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let experts = &self.pool[input_of(index)];
        let due: Vec<_> =
            (0..self.training.steps).step_by(EVERY as usize).map(|step| experts.metrics(step)).collect();
        let history: Vec<f64> = self.history.as_flattened().iter().copied().map(f64::from).collect();
        Ok(Check::compare(due.as_flattened(), &history, TOLERANCE).with_input(experts.digest()))
    }
}

/// Returns the workload `step-metrics`.
pub fn workload() -> Workload {
    let case = |id, steps: u64, efforts: &[Effort]| {
        // Each step reads and writes weights and momentum, which a cache may hold from step to step; the host needs the
        // metrics of every tenth step.
        let computations = steps.div_ceil(EVERY) as f64;
        let floor = Floor {
            device_bytes: Floor::used_again(4.0 * 4.0 * (EXPERTS * LENGTH) as f64, steps as f64),
            download_bytes: (SCALARS * size_of::<f32>()) as f64 * computations,
            syncs: 1.0,
            dispatches: steps as f64,
            ..Floor::default()
        };
        Case::new(id, Params { steps }).items(steps, "steps").efforts(efforts).floor(floor)
    };
    let cases = [
        case(claims::CASE, 20, &Effort::ALL),
        case("s100", 100, &[Effort::Standard, Effort::Thorough]),
        case("s5000", 5000, &[Effort::Thorough]),
    ];
    define(cases).claims(claims::claims()).build()
}

fn define(cases: impl IntoIterator<Item = Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow = variant(
        SLOW,
        Role::Slow,
        "computes the metrics at every step; three reads of 4 bytes, and a wait for each",
    );
    let documented = variant(DOCUMENTED, Role::Documented, "computes and reads them at every tenth step");
    let shipped = variant(
        SHIPPED,
        Role::Other,
        "the source's program after the change: as documented, and six more reads at every step, with a wait for each",
    )
    .reference(SLOW);
    let optimized = variant(
        OPTIMIZED,
        Role::Optimized,
        "computes them at every tenth step, copies them in the same submit, and takes them ten steps later",
    )
    .caveat("The metrics of a step arrive ten steps late.");
    let mut builder = Workload::builder("step-metrics", 1, "Expensive metrics of a training step")
        .source("003", "1.3")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(VALUES, "values delivered"))
        .metric(MetricDef::count(COMPUTATIONS, "computations of the metrics"))
        .variant_with(slow, |params, setup| Loop::new(params, setup, |gpu| Items::new(gpu, ALWAYS)))
        .variant_with(documented, |params, setup| Loop::new(params, setup, |gpu| Items::new(gpu, AS_DUE)))
        .variant_with(shipped, |params, setup| Loop::new(params, setup, |gpu| Items::new(gpu, AS_SHIPPED)))
        .variant_with(optimized, |params, setup| Loop::new(params, setup, Late::new));
    for variant in [SLOW, DOCUMENTED, SHIPPED, OPTIMIZED] {
        builder = builder.memory(variant, |_| training::memory_bytes());
    }
    builder
}
