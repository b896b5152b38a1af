//! Stochastic forward passes of a vision encoder over images on disk: document 002.
//!
//! Dropout stays on while the same images go through the encoder T times, in K trials. The results are the mean and the
//! variance of each image's features. The document's program loads every image again in each of the T x K passes.

mod claims;
mod dims;
mod documented;
mod encoder;
mod folder;
mod host_sums;
mod kernels;
mod kit;
mod masks;
mod moments;
mod optimized;
mod params;
mod photographs;
mod pixels;
mod plan;
mod reference;
mod slow;
mod storage;
mod tensor;
#[cfg(test)]
mod tests;
mod trials;
mod vit;
mod weights;

use perfharness_contract::{
    Case, Direction, Effort, Failure, Floor, MetricDef, Portability, Role, Scope, Setup, Tolerance,
    VariantDef, Workload,
};
use perfharness_gpu::{Gpu, gpu_meter, metric};

use encoder::{FORWARDS, Kernels};
use kit::{COMPILE_TIME, Kit};
use params::Params;
use pixels::{DECODES, RESIZES};
use storage::Storage;
use trials::{BATCHES, IMAGES, SKIPPED, Trials, Variant};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";
const FUSED: &str = "fused";
const HALF: &str = "optimized-f16";
const UNIFIED: &str = "unified";
const ONE_BY_ONE: &str = "one-by-one";
const PREFIX_ONCE: &str = "prefix-once";

/// The case with an encoder of ViT-B/32's size.
const VIT_CASE: &str = "px224-n20-vit";

/// Images in a batch, unless the case is about the batch size.
const BATCH: usize = 64;
/// Device memory that may be used: that of the document's card.
const BUDGET: u64 = 16 << 30;

/// Counts that depend on the number of batches, and therefore on the largest binding of the device. Bytes and counts
/// per image do not.
const OF_BATCHES: [&str; 5] =
    [metric::DISPATCHES, metric::SUBMITS, metric::SYNCS, metric::UPLOAD_COPIES, metric::DOWNLOAD_COPIES];

/// Efforts for the variants beside the three main ones: with six variants, a quick run would end after one launch.
const LONGER: &[Effort] = &[Effort::Standard, Effort::Thorough];

/// Allowed deviation of float32 on the device from float64. The largest deviation seen is 1.5e-6, on a software
/// adapter; WGSL allows `exp`, division and square root many times the error that they have there.
const SINGLE: Tolerance = Tolerance::Relative(5e-5);
/// As above, for pixels, weights and tokens that are stored in float16. The largest deviation seen is 1.4e-3; a single
/// stale pass of 64 moves a result by at least 2.4e-3.
const STORED_IN_HALF: Tolerance = Tolerance::Relative(2e-3);

/// Returns the workload `mc-passes`.
pub fn workload() -> Workload {
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "opens, decodes, resizes, normalises and uploads every image in every pass, reads features back",
    );
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "loads every image once into a tensor on the device, reads features back in every pass",
    );
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "sums up on the device too, and reads one snapshot for each number of passes",
    );
    let fused = VariantDef::new(FUSED, Role::Other, "as `optimized`, with the encoder in one kernel")
        .reference(OPTIMIZED)
        .efforts(LONGER);
    let half = VariantDef::new(
        HALF,
        Role::Other,
        "as `optimized`, with pixels, weights and tokens in half precision",
    )
    .reference(OPTIMIZED)
    .efforts(LONGER)
    .caveat("Features differ from those in single precision in the third to fourth digit.");
    let unified = VariantDef::new(
        UNIFIED,
        Role::Other,
        "as `optimized`, with pixels written into the memory that the GPU reads",
    )
    .reference(OPTIMIZED)
    .efforts(LONGER)
    .needs("an adapter that shares the memory of the CPU");
    let prefix_once = VariantDef::new(
        PREFIX_ONCE,
        Role::Other,
        "as `optimized`, with patches embedded once for all passes, because no dropout precedes that",
    )
    .reference(OPTIMIZED)
    .efforts(LONGER)
    .caveat("It keeps the tokens of all images, some kilobytes each, outside of the memory budget.");
    let one_by_one = VariantDef::new(ONE_BY_ONE, Role::Other, "as `optimized`, with batches of one image")
        .reference(OPTIMIZED)
        .efforts(&[Effort::Thorough]);
    Workload::builder("mc-passes", 1, "Stochastic forward passes of a vision encoder over images on disk")
        .source("002", "")
        .source("001", "Suboptimal Batch Sizes, Missing Mixed Precision Training")
        .cases(cases())
        .meter(gpu_meter().within_machine_class(&OF_BATCHES))
        .metrics(metrics())
        .path_setting(
            IMAGES,
            "a folder of images to use instead of those that are made from three photographs",
        )
        .claims(claims::claims())
        .variant_with(slow.needs("gpu"), |params, setup| place(params, setup, SINGLE, slow::Slow::new))
        .variant_with(documented.needs("gpu"), |params, setup| {
            place(params, setup, SINGLE, documented::Documented::new)
        })
        .variant_with(optimized.needs("gpu"), |params, setup| {
            place(params, setup, SINGLE, |kit| optimized::Optimized::new(kit, Storage::Single, Kernels::Four))
        })
        .variant_with(fused.needs("gpu"), |params, setup| {
            place(params, setup, SINGLE, |kit| {
                optimized::Optimized::new(kit, Storage::Single, Kernels::Fused)
            })
        })
        .variant_with(half.needs("gpu"), |params, setup| {
            place(params, setup, STORED_IN_HALF, |kit| {
                optimized::Optimized::new(kit, Storage::Half, Kernels::Four)
            })
        })
        .variant_with(unified.needs("gpu"), |params, setup| {
            place(params, setup, SINGLE, optimized::Optimized::unified)
        })
        .variant_with(prefix_once.needs("gpu"), |params, setup| {
            place(params, setup, SINGLE, |kit| {
                optimized::Optimized::new(kit, Storage::Single, Kernels::PrefixOnce)
            })
        })
        .variant_with(one_by_one.needs("gpu"), |params, setup| {
            let params = Params { batch: 1, ..params.clone() };
            place(&params, setup, SINGLE, |kit| {
                optimized::Optimized::new(kit, Storage::Single, Kernels::Four)
            })
        })
        .skip(VIT_CASE, FUSED, "a workgroup cannot hold the tokens of the large encoder")
        .skip(VIT_CASE, HALF, "the large encoder exists in single precision only")
        .skip(VIT_CASE, PREFIX_ONCE, "the embedding is 3 % of the large encoder")
        .memory(SLOW, |params| params.memory_bytes(0))
        .memory(DOCUMENTED, |params| params.memory_bytes(params.pixel_bytes))
        .memory(OPTIMIZED, |params| params.memory_bytes(params.pixel_bytes))
        .memory(FUSED, |params| params.memory_bytes(params.pixel_bytes))
        .memory(HALF, |params| params.memory_bytes(params.pixel_bytes / 2))
        .memory(UNIFIED, |params| params.memory_bytes(params.pixel_bytes))
        .memory(PREFIX_ONCE, |params| params.memory_bytes(params.pixel_bytes))
        .memory(ONE_BY_ONE, |params| params.memory_bytes(params.pixel_bytes))
        .build()
}

fn place<V: Variant>(
    params: &Params,
    setup: &Setup,
    tolerance: Tolerance,
    variant: impl FnOnce(&Kit) -> Result<V, Failure>,
) -> Result<Trials<V>, Failure> {
    Trials::new(Gpu::open(setup)?, params, setup, tolerance, variant)
}

/// Floor of a case. Every image is uploaded, read and embedded once; the rest of the encoder runs in each pass; each
/// snapshot returns moments. The passes do not depend on each other, and the host can compute the next ones while it
/// waits for a snapshot, so there is one dispatch, and one wait at the end. Decoding is not included, because no ceiling of the machine covers it.
fn floor(params: &Params) -> Floor {
    let pixels = params.pixel_bytes as f64;
    let rounds = params.all_passes() as f64;
    let snapshots = moments::snapshots(params.passes).len() as f64 * params.trials as f64;
    let (all, prefix) = params.operations();
    Floor {
        device_bytes: pixels,
        upload_bytes: pixels,
        download_bytes: 4096.0 * params.images as f64 * snapshots,
        operations: params.images as f64 * (prefix + (all - prefix) * rounds),
        syncs: 1.0,
        dispatches: 1.0,
        ..Floor::default()
    }
}

fn cases() -> Vec<Case<Params>> {
    use Effort::{Standard, Thorough};
    let case = |id: &str, params: Params, efforts: &[Effort]| {
        let forwards = params.forwards();
        let floor = floor(&params);
        Case::new(id, params).items(forwards, "forward passes").efforts(efforts).floor(floor)
    };
    let of = |size, images, passes, trials| Params::new(size, images, passes, trials, BATCH, BUDGET);
    let batch = |batch| Params::new(224, 500, 4, 1, batch, BUDGET);
    vec![
        case("px224-n20", of(224, 20, 8, 1), &Effort::ALL),
        case("px384-n20", of(384, 20, 8, 1), &[Standard, Thorough]),
        case("px224-n1-exp0", of(224, 1, 64, 10).in_separate_runs(), &[Standard, Thorough]),
        case("px224-n1-k10", of(224, 1, 64, 10), &[Standard, Thorough]),
        case("px224-n500-b1", batch(1), &[Thorough]),
        case("px224-n500-b8", batch(8), &[Thorough]),
        case("px224-n500-b64", batch(64), &[Thorough]),
        case("px224-n500-b500", batch(500), &[Thorough]),
        case("px224-n64-16mb", Params::new(224, 64, 16, 1, BATCH, 16 << 20), &[Thorough]),
        case("px224-n500-k10", of(224, 500, 64, 10), &[Thorough]),
        case("px224-n500-exp0", of(224, 500, 64, 10).in_separate_runs(), &[Thorough]),
        case(VIT_CASE, of(224, 20, 16, 1).with_encoder(vit::Size::BASE), &[Thorough]),
        case("px384-n500-k10", of(384, 500, 64, 10), &[Thorough]),
    ]
}

fn metrics() -> Vec<MetricDef> {
    let told = |id, title| MetricDef { direction: Direction::Neutral, ..MetricDef::count(id, title) };
    vec![
        MetricDef::work(FORWARDS, "images through the encoder"),
        MetricDef::count(DECODES, "images decoded"),
        MetricDef::count(RESIZES, "images resized"),
        told(SKIPPED, "files skipped"),
        MetricDef { scope: Scope::Sample, ..MetricDef::time(COMPILE_TIME, "pipelines made in") },
        // The number follows from the limits of the device.
        MetricDef { portability: Portability::MachineClass, ..told(BATCHES, "batches of images") },
    ]
}
