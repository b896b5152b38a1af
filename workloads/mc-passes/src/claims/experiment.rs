//! Claims of document 002 about its whole experiment, and about the memory that it needs.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use super::{SOURCE_CASES, claim, factor, open, reduction};
use crate::pixels::DECODES;
use crate::{DOCUMENTED, FUSED, HALF, OPTIMIZED, SLOW};

/// Cases with separate runs for each of the document's numbers of passes.
const SEPARATE_RUNS: [&str; 2] = ["px224-n1-exp0", "px224-n500-exp0"];

/// Claims of document 002 about the sizes of tensors. `documented` uploads the tensor once, and 4 bytes for the key of each
/// pass and trial.
pub(super) fn of_the_memory() -> Vec<ClaimDef> {
    const SECTION: &str = "Memory requirements";
    const ARITHMETIC: &str = "It is arithmetic, N x 3 x H x W x 4 bytes, and no case has so many images. The bytes of \
                              500 images are measured, and grow with their number.";
    let size = |id, statement, [at_least, at_most]: [f64; 2], cases: &[&str]| {
        let promise = Promise::Level { at_least: Some(at_least), at_most: Some(at_most) };
        claim(id, SECTION, statement, metric::UPLOAD_BYTES, promise).of(DOCUMENTED).cases(cases)
    };
    let larger = |id, statement, reason| open(id, SECTION, statement, metric::UPLOAD_BYTES, reason);
    vec![
        size(
            "pixels-500-clip",
            "500 imgs … CLIP (224px) … 500 × 3 × 224 × 224 × 4 = 300 MB",
            [295e6, 305e6],
            &["px224-n500-k10", "px224-n500-b64", "px224-n500-b500"],
        )
        .note("The product is 301 MB, which the document rounds to tens of megabytes."),
        size(
            "pixels-500-siglip",
            "500 imgs … SigLIP2-so400m (384px) … 500 × 3 × 384 × 384 × 4 = 885 MB",
            [884.5e6, 885.5e6],
            &["px384-n500-k10"],
        )
        .note("The product is 884.7 MB."),
        larger("pixels-5000-clip", "Fits 16GB VRAM? … 5000 imgs … CLIP (224px) … 3.0 GB … Yes", ARITHMETIC),
        larger(
            "pixels-5000-siglip",
            "Fits 16GB VRAM? … 5000 imgs … SigLIP2-so400m (384px) … 8.8 GB … Tight (with model)",
            ARITHMETIC,
        ),
        larger(
            "pixels-10000-siglip",
            "Fits 16GB VRAM? … 10000 imgs … SigLIP2-so400m (384px) … 17.6 GB … No (offload to CPU)",
            "It is arithmetic, and no case has so many images. 10000 x 3 x 384 x 384 x 4 bytes are 17.7 GB, not 17.6.",
        ),
    ]
}

/// Claims of document 002 about its whole experiment: three encoders, runs with 4, 16 and 64 passes, ten trials. The
/// steps of its table are factors, which apply to a part of the work as well.
pub(super) fn of_the_whole_experiment() -> Vec<ClaimDef> {
    const SECTION: &str = "Expected total Exp 0 time with optimizations";
    vec![
        claim(
            "exp0-loads",
            "Scale of waste",
            "Images loaded from disk … Redundant loads … Full Exp 0 (3 models × 3 T-values × K=10) … ~1.26M … ~1.26M",
            DECODES,
            reduction(0.998),
        )
        .cases(&SEPARATE_RUNS)
        .note(
            "Separate runs with 4, 16 and 64 passes are 84 passes, 840 with ten trials: 420,000 loads of 500 images for \
             each of the three models. The document states no share; the threshold is that of `redundant-loads`. Of 840 \
             loads of an image 839 are redundant, 99.88 %.",
        ),
        claim(
            "exp0-precomputed",
            SECTION,
            "Current (PIL reload every pass) … ~6-8 hours … + Precompute pixels … ~20-40 min",
            standard::WALL_TIME,
            factor(12.0, 18.0),
        )
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("8 hours against 40 minutes, and 6 hours against 20."),
        claim(
            "exp0-half",
            SECTION,
            "+ Precompute pixels … ~20-40 min … + AMP fp16 … ~12-25 min",
            standard::WALL_TIME,
            factor(1.6, 1.67),
        )
        .between(OPTIMIZED, HALF)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("40 minutes against 25, 20 against 12."),
        claim(
            "exp0-compiled",
            SECTION,
            "+ AMP fp16 … ~12-25 min … + torch.compile … ~8-18 min",
            standard::WALL_TIME,
            factor(1.38, 1.5),
        )
        .between(OPTIMIZED, FUSED)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("25 minutes against 18, 12 against 8. In the document it is added to half precision."),
        open(
            "exp0-batches",
            SECTION,
            "+ torch.compile … ~8-18 min … + Batch size 256 … ~6-15 min",
            standard::WALL_TIME,
            "It does not name the first batch size, and it compares batch sizes, which are cases and not variants: \
             `px224-n500-b64` against `-b500`.",
        ),
        claim(
            "whole-run",
            "Summary",
            "transform a 6-8 hour Exp 0 run into a 10-15 minute one",
            standard::WALL_TIME,
            factor(32.0, 36.0),
        )
        .between(SLOW, OPTIMIZED)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note(
            "8 hours against 15 minutes, and 6 hours against 10. The document also uses half precision and \
             compilation; `optimized` has neither.",
        ),
        open(
            "unified-machine",
            "Expected M3 Ultra performance",
            "RTX 5000 Ada (optimized) … M3 Ultra (optimized) … Exp 0 full … ~8-15 min … ~15-30 min",
            standard::WALL_TIME,
            "It compares two machines, and absolute times are compared within a machine class only.",
        ),
    ]
}
