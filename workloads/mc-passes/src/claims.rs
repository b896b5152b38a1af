//! Claims of documents 002 and 001 about this hot path, in their own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use crate::kit::COMPILE_TIME;
use crate::pixels::DECODES;
use crate::{DOCUMENTED, FUSED, HALF, ONE_BY_ONE, OPTIMIZED, SLOW, UNIFIED, VIT_CASE};

/// Cases with the same numbers of passes and trials as the document's program.
const SOURCE_CASES: [&str; 3] = ["px224-n1-k10", "px224-n500-k10", "px384-n500-k10"];
/// Cases with separate runs for each of the document's numbers of passes.
const SEPARATE_RUNS: [&str; 2] = ["px224-n1-exp0", "px224-n500-exp0"];
/// Cases with the same number of images as the document's program, in batches.
const BATCH_CASES: [&str; 2] = ["px224-n500-b64", "px224-n500-b500"];

/// Returns the claims, in the order of the documents.
pub(crate) fn claims() -> Vec<ClaimDef> {
    let mut claims = of_the_passes();
    claims.extend(of_the_memory());
    claims.extend(of_the_whole_experiment());
    claims.extend(of_training());
    claims
}

/// Creates a claim of document 002.
fn claim(id: &str, section: &str, statement: &str, metric: &str, promise: Promise) -> ClaimDef {
    ClaimDef::new(id, &format!("002, {section}"), statement, metric, promise)
}

/// Creates a claim of document 002 that no measurement can decide.
fn open(id: &str, section: &str, statement: &str, metric: &str, reason: &str) -> ClaimDef {
    claim(id, section, statement, metric, Promise::NotMeasurable { reason: reason.into() })
}

fn factor(at_least: f64, at_most: f64) -> Promise {
    Promise::Factor { at_least, at_most: Some(at_most) }
}

fn reduction(at_least: f64) -> Promise {
    Promise::Reduction { at_least, at_most: None }
}

/// Claims of document 002 about passes and their parts.
fn of_the_passes() -> Vec<ClaimDef> {
    vec![
        claim(
            "gpu-idle",
            "Summary",
            "The GPU sits idle 95%+ of the time",
            metric::GPU_BUSY_SHARE,
            Promise::Level { at_least: None, at_most: Some(0.05) },
        )
        .of(SLOW)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("Idle for 95 % of the time is busy for at most 5 %."),
        claim(
            "redundant-loads",
            "Scale of waste",
            "320,000 images loaded from disk, 319,500 (99.8%) of them redundant",
            DECODES,
            reduction(0.998),
        )
        .cases(&SOURCE_CASES)
        .note("640 passes load every image 640 times. The share does not depend on the number of images."),
        claim(
            "precomputed-pixels",
            "Optimization 1",
            "Precompute pixel tensors: expected speedup 10-50x",
            standard::WALL_TIME,
            factor(10.0, 50.0),
        )
        .cases(&[&SOURCE_CASES[..], &[VIT_CASE]].concat())
        .on_gpu()
        .note(
            "An iteration decodes every image once, so a case of T x K passes gains at most a factor of T x K. The \
             factor depends on the cost of loading relative to the forward pass, which is that of the document's \
             encoder in `px224-n20-vit` only.",
        ),
        claim(
            "half-precision",
            "Optimization 2",
            "Mixed precision: expected speedup 1.5-2x on forward pass",
            standard::WALL_TIME,
            factor(1.5, 2.0),
        )
        .between(OPTIMIZED, HALF)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note(
            "Pixels, weights and tokens are stored in half precision and summed in single precision: portable \
             shaders cannot use matrix units, from which the document's factor comes. Loading once is a small \
             part of 640 passes.",
        ),
        open(
            "inference-mode",
            "Optimization 3",
            "inference_mode instead of no_grad: expected speedup ~5-10%",
            standard::WALL_TIME,
            "Nothing here records operations for a backward pass, so there is nothing to switch off.",
        ),
        open(
            "one-batch",
            "Optimization 4",
            "With the full 500-image dataset fitting in one batch, there's zero batch loop overhead",
            standard::WALL_TIME,
            "It compares batch sizes, which are cases and not variants. The cases `px224-n500-b1` to `-b500` \
             have equal work; submits, syncs and dispatches of `documented` fall with the batch size, and the \
             times show where this stops mattering.",
        ),
        claim(
            "fusion",
            "Optimization 5",
            "torch.compile fuses operations, reduces kernel launch overhead: expected speedup 1.2-2x on forward pass",
            standard::WALL_TIME,
            factor(1.2, 2.0),
        )
        .between(OPTIMIZED, FUSED)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("One hand-written kernel replaces four. Loading once is a small part of 640 passes."),
        claim(
            "unified-memory",
            "M3 Ultra, Key advantages",
            "no CPU-GPU transfer penalty: tensor.to('mps') is essentially a no-op pointer change",
            metric::UPLOAD_BYTES,
            reduction(0.99),
        )
        .between(OPTIMIZED, UNIFIED)
        .note(
            "No pixel is copied to the device. Only the keys of the masks remain, one word per pass, for which the \
             threshold allows a hundredth. Mapping the buffer before it is written again is an additional sync.",
        ),
        open(
            "progress",
            "Implementation Priority",
            "Enable progress bars: zero cost",
            standard::WALL_TIME,
            "No variant prints while it is measured.",
        ),
        open(
            "readback-every-pass",
            "Why it's slow",
            "Result moved back to CPU for accumulation",
            metric::SYNCS,
            "The document keeps it and promises nothing. `documented` against `optimized` shows its cost.",
        )
        .between(DOCUMENTED, OPTIMIZED),
        open(
            "forward-is-fast",
            "Why it's slow",
            "The GPU forward pass takes microseconds per batch relative to the I/O + preprocessing overhead",
            metric::GPU_BUSY,
            "It describes `slow` alone. `gpu-busy` of `slow` is the time of its forward passes, and its wall time \
             includes loading.",
        ),
        claim(
            "io-eliminated",
            "Implementation Priority",
            "Precompute pixel tensors: single change eliminates 99.8% of I/O",
            metric::UPLOAD_BYTES,
            reduction(0.998),
        )
        .cases(&SOURCE_CASES)
        .note(
            "The document means reads from the disk, which the system's file cache hides here: reads fall with \
             `decodes`, see `redundant-loads`. This counts the bytes that go to the device.",
        ),
        open(
            "first-call",
            "Optimization 5",
            "First call has compilation cost (~30s), then subsequent calls are faster",
            COMPILE_TIME,
            "It is a cost and not a promise. `compile-time` shows the cost of the kernels of `fused` if the driver \
             does not find them in a cache on disk; it is paid while a placement is prepared, before anything is \
             timed.",
        )
        .between(OPTIMIZED, FUSED),
        open(
            "recommended-batches",
            "Optimization 4",
            "Recommended batch_size: 256-500 (entire dataset) on 16 GB, 500-5000 (entire dataset) on 128 GB",
            standard::WALL_TIME,
            "It names sizes but no gain. The cases `px224-n500-b1` to `-b500` have equal work, and their times \
             show where larger batches stop helping.",
        ),
    ]
}

/// Claims of document 002 about the sizes of tensors. `documented` uploads the tensor once, and 4 bytes for the key of each
/// pass and trial.
fn of_the_memory() -> Vec<ClaimDef> {
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
            "500 imgs, CLIP (224px): 500 x 3 x 224 x 224 x 4 = 300 MB",
            [295e6, 305e6],
            &["px224-n500-k10", "px224-n500-b64", "px224-n500-b500"],
        )
        .note("The product is 301 MB, which the document rounds to tens of megabytes."),
        size(
            "pixels-500-siglip",
            "500 imgs, SigLIP2-so400m (384px): 500 x 3 x 384 x 384 x 4 = 885 MB",
            [884.5e6, 885.5e6],
            &["px384-n500-k10"],
        )
        .note("The product is 884.7 MB."),
        larger("pixels-5000-clip", "5000 imgs, CLIP (224px): 3.0 GB; fits 16GB VRAM", ARITHMETIC),
        larger(
            "pixels-5000-siglip",
            "5000 imgs, SigLIP2-so400m (384px): 8.8 GB; 16GB VRAM: tight (with model)",
            ARITHMETIC,
        ),
        larger(
            "pixels-10000-siglip",
            "10000 imgs, SigLIP2-so400m (384px): 17.6 GB; does not fit 16GB VRAM",
            "It is arithmetic, and no case has so many images. 10000 x 3 x 384 x 384 x 4 bytes are 17.7 GB, not 17.6.",
        ),
    ]
}

/// Claims of document 002 about its whole experiment: three encoders, runs with 4, 16 and 64 passes, ten trials. The
/// steps of its table are factors, which apply to a part of the work as well.
fn of_the_whole_experiment() -> Vec<ClaimDef> {
    const SECTION: &str = "Expected total Exp 0 time with optimizations";
    vec![
        claim(
            "exp0-loads",
            "Scale of waste",
            "Full Exp 0 (3 models x 3 T-values x K=10): ~1.26M images loaded from disk, ~1.26M of them redundant",
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
            "Current ~6-8 hours, with precomputed pixels ~20-40 min",
            standard::WALL_TIME,
            factor(12.0, 18.0),
        )
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("8 hours against 40 minutes, and 6 hours against 20."),
        claim(
            "exp0-half",
            SECTION,
            "~20-40 min, with AMP fp16 ~12-25 min",
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
            "~12-25 min, with torch.compile ~8-18 min",
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
            "~8-18 min, with batch size 256 ~6-15 min",
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
            "Exp 0 full: ~8-15 min on RTX 5000 Ada, ~15-30 min on M3 Ultra",
            standard::WALL_TIME,
            "It compares two machines, and absolute times are compared within a machine class only.",
        ),
    ]
}

/// Claims of document 001 about the same means in a training loop.
fn of_training() -> Vec<ClaimDef> {
    let claim = |id: &str, section: &str, statement: &str, promise| {
        ClaimDef::new(id, &format!("001, {section}"), statement, standard::WALL_TIME, promise).on_gpu()
    };
    vec![
        claim(
            "batch-of-one",
            "Suboptimal Batch Sizes",
            "Default batch size of 1 severely underutilizes GPUs; increasing batch sizes: 2-4x speedup",
            factor(2.0, 4.0),
        )
        .between(ONE_BY_ONE, OPTIMIZED)
        .cases(&BATCH_CASES)
        .note(
            "The document trains; here batches only go forward. Its loop handles one batch after the other; \
             `one-by-one` puts all batches of a pass into one submit, which is milder. Loading, equal in both, is in \
             the times.",
        ),
        claim(
            "mixed-precision",
            "Missing Mixed Precision Training",
            "2-3x speedup possible with AMP",
            factor(2.0, 3.0),
        )
        .between(OPTIMIZED, HALF)
        .cases(&SOURCE_CASES)
        .note(
            "The document trains; here passes only go forward, without matrix units: see `half-precision`.",
        ),
        ClaimDef::new(
            "gpu-utilization",
            "001, Monitoring Recommendations",
            "GPU utilization (target: >80%)",
            metric::GPU_BUSY_SHARE,
            Promise::Level { at_least: Some(0.8), at_most: None },
        )
        .of(OPTIMIZED)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note(
            "A target of the document for training; here passes only go forward. Loading, which keeps the GPU waiting, \
             is in the time.",
        ),
    ]
}
