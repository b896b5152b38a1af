//! Class labels on the device, replaced by their dense ranks: document 000, section 1.
//!
//! A training step receives labels such as `7, -3, 7, 90` and needs `1, 0, 1, 2`, the result of
//! `unique(return_inverse)`. Labels are any i32 values. The document finds the classes on the
//! device and leaves the labels there, but its loop over the classes makes the host wait for their number, and makes one
//! pass over all labels for each class.

mod documented;
mod kernels;
mod labels;
mod optimized;
mod remap;
mod slow;
#[cfg(test)]
mod tests;
mod unique;

use perfharness_contract::{
    Case, ClaimDef, Effort, Floor, MetricDef, Promise, Role, VariantDef, Workload, standard,
};
use perfharness_gpu::{Gpu, gpu_meter, metric};

use labels::{Labels, Params, Values};
use remap::{LABELS, Remap};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";
/// The size that the source uses.
const SOURCE_CASE: &str = "b64";
/// Number of steps in an epoch, according to the document.
const EPOCH: f64 = 5000.0;

/// Returns the workload `label-remap`.
pub fn workload() -> Workload {
    use Effort::{Quick, Standard, Thorough};
    let case = |id: &str, n, classes, values, efforts: &[Effort]| {
        // Every label is read and every rank written, and the host does not wait for them.
        let floor = Floor { device_bytes: 8.0 * n as f64, dispatches: 1.0, ..Floor::default() };
        Case::new(id, Params { n, classes, values }).items(n, "labels").efforts(efforts).floor(floor)
    };
    let any = Values::Any;
    let cases = [
        case(SOURCE_CASE, 64, 3, Values::Source, &Effort::ALL),
        case("n4096", 4096, 6, any, &[Standard, Thorough]),
        case("n4096-c1000", 4096, 1000, any, &[Thorough]),
        case("n65536", 65_536, 6, any, &[Quick, Standard, Thorough]),
        case("n65536-c1000", 65_536, 1000, any, &[Standard, Thorough]),
        case("n1048576", 1 << 20, 6, any, &[Standard, Thorough]),
        case("n1048576-c1000", 1 << 20, 1000, any, &[Thorough]),
    ];
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "reads the labels back, builds a sorted set and a map, looks up every label, uploads",
    );
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "sorts the labels on the device, reads the number of classes, then one masked pass over all labels for each",
    )
    .caveat("Its work grows with the number of classes times the number of labels.");
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "stays on the device: different labels collected in a set, sorted, and searched; no wait, no copy to the host",
    )
    .caveat("With more than 2048 classes one workgroup sorts all labels, which is far from what the device can do.");
    Workload::builder("label-remap", 2, "Class labels on the device, replaced by their dense ranks")
        .source("000", "1")
        .cases(cases)
        .meter(gpu_meter())
        .metric(MetricDef::work(LABELS, "labels replaced"))
        .claims(claims())
        .variant_with(slow.needs("gpu"), |params, setup| {
            Remap::new(&Gpu::open(setup)?, params, setup, slow::Slow::new)
        })
        .variant_with(documented.needs("gpu"), |params, setup| {
            Remap::new(&Gpu::open(setup)?, params, setup, documented::Documented::new)
        })
        .variant_with(optimized.needs("gpu"), |params, setup| {
            Remap::new(&Gpu::open(setup)?, params, setup, optimized::Optimized::new)
        })
        .memory(SLOW, |params| Labels::bytes(params) + 4 * params.bytes())
        .memory(DOCUMENTED, |params| Labels::bytes(params) + 3 * params.bytes())
        .memory(OPTIMIZED, |params| Labels::bytes(params) + 3 * params.bytes())
        .build()
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    const SECONDS: f64 = 1e9;
    const MILLISECONDS: f64 = 1e6;
    vec![
        ClaimDef::new(
            "saved-per-batch",
            "000, 1",
            "-12-23ms per batch",
            standard::WALL_TIME,
            Promise::Saving {
                at_least: 12.0 * MILLISECONDS,
                at_most: Some(23.0 * MILLISECONDS),
                iterations: 1.0,
            },
        )
        .cases(&[SOURCE_CASE])
        .on_gpu()
        .note(
            "Of 64 labels with 3 classes, the program's own size. An iteration is the remapping of one batch, \
             without the rest of the step, whose work the read-back would also have waited for.",
        ),
        ClaimDef::new(
            "saved-per-epoch",
            "000, 1",
            "60-115 seconds saved per epoch (5000 batches)",
            standard::WALL_TIME,
            Promise::Saving { at_least: 60.0 * SECONDS, at_most: Some(115.0 * SECONDS), iterations: EPOCH },
        )
        .cases(&[SOURCE_CASE])
        .on_gpu()
        .note("The saving of one batch, 5000 times."),
        ClaimDef::new(
            "faster-batches",
            "000, 1",
            "CPU round-trip: 13-25ms per batch … GPU-side only: ~1-2ms per batch",
            standard::WALL_TIME,
            Promise::Factor { at_least: 6.5, at_most: Some(25.0) },
        )
        .cases(&[SOURCE_CASE])
        .on_gpu()
        .note("13 ms against 2 ms, to 25 ms against 1 ms."),
        ClaimDef::new(
            "gpu-side-only",
            "000, 1",
            "GPU-side only",
            metric::SYNCS,
            Promise::Reduction { at_least: 1.0, at_most: None },
        )
        .note(
            "Syncs are counted. The labels stay on the device, but the host must know how many classes there are \
             before it can loop over them: it reads 4 bytes, and waits for them as long as for the labels.",
        ),
        ClaimDef::new(
            "loop-is-negligible",
            "000, Notes",
            "If number of unique labels is small (typically 3-6), overhead is negligible",
            standard::WALL_TIME,
            Promise::NotMeasurable {
                reason: "The document gives no number. What the loop costs is the difference between \
                         `documented` and `optimized`, with few classes and with 1000."
                    .into(),
            },
        ),
    ]
}
