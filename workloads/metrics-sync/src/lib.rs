//! The three scalars of a training loop on their way from the device to the host: document 000, sections 2 and 3.
//!
//! The document keeps loss, nll and kl on the device and reads them when they are displayed, which saves waits: a step
//! that reads three scalars one by one waits for the device three times. The number of syncs is therefore the decisive
//! metric, and the time of a sync depends on the device.

mod batch;
mod claims;
mod delivery;
mod documented;
mod history;
mod item;
mod lazy_only;
mod optimized;
mod shipped;
mod slow;
#[cfg(test)]
mod tests;
mod training;

use perfharness_contract::{Case, Effort, Floor, MetricDef, Role, VariantDef, Workload, WorkloadBuilder};
use perfharness_gpu::gpu_meter;

use delivery::{Loop, Params, VALUES, memory_bytes};
use documented::Documented;
use lazy_only::LazyOnly;
use optimized::Optimized;
use shipped::Shipped;
use slow::Slow;

const SLOW: &str = "slow";
const LAZY_ONLY: &str = "lazy-only";
const DOCUMENTED: &str = "documented";
const SHIPPED: &str = "shipped";
const OPTIMIZED: &str = "optimized";

/// The case that the claims are judged by; every effort measures it.
const S50: &str = "s50";

/// Returns the workload `metrics-sync`.
pub fn workload() -> Workload {
    let case = |id, steps| {
        // The three scalars of each step are read, and the steps depend on each other. The host reads those of earlier
        // steps while the device computes later ones, so only the last read is a wait.
        let floor = Floor {
            download_bytes: 12.0 * steps as f64,
            syncs: 1.0,
            dispatches: steps as f64,
            ..Floor::default()
        };
        Case::new(id, Params { steps }).items(steps, "steps").floor(floor)
    };
    let cases = vec![
        case(S50, 50),
        case("s500", 500).efforts(&[Effort::Standard, Effort::Thorough]),
        case("s5000", 5000).efforts(&[Effort::Standard, Effort::Thorough]),
    ];
    define(cases).claims(claims::claims()).build()
}

fn define(cases: Vec<Case<Params>>) -> WorkloadBuilder<Params> {
    let variant = |id, role, summary| VariantDef::new(id, role, summary).needs("gpu");
    let slow = variant(SLOW, Role::Slow, "reads three scalars after each step, and waits for each");
    let lazy_only = variant(
        LAZY_ONLY,
        Role::Other,
        "section 2 alone: keeps them on the device; after each step one read of all three, and a wait",
    )
    .reference(SLOW);
    let documented = variant(
        DOCUMENTED,
        Role::Documented,
        "sections 2 and 3: keeps them on the device; at every 50th step three reads, and a wait for each",
    )
    .caveat("A NaN loss is noticed up to 49 steps late.");
    let shipped = variant(
        SHIPPED,
        Role::Other,
        "the source's program after its fix: six reads after each step, and a wait for each",
    )
    .reference(SLOW);
    let optimized = variant(
        OPTIMIZED,
        Role::Optimized,
        "one copy of all three in every 50th step, taken when the next 50 are submitted",
    )
    .caveat("A NaN loss is noticed up to 99 steps late.");
    let mut builder =
        Workload::builder("metrics-sync", 2, "The three scalars of a training loop on the device")
            .source("000", "2")
            .source("000", "3")
            .cases(cases)
            .meter(gpu_meter())
            .metric(MetricDef::work(VALUES, "values delivered"))
            .variant_with(slow, Loop::<Slow>::new)
            .variant_with(lazy_only, Loop::<LazyOnly>::new)
            .variant_with(documented, Loop::<Documented>::new)
            .variant_with(shipped, Loop::<Shipped>::new)
            .variant_with(optimized, Loop::<Optimized>::new);
    for variant in [SLOW, LAZY_ONLY, DOCUMENTED, SHIPPED, OPTIMIZED] {
        builder = builder.memory(variant, memory_bytes);
    }
    builder
}
