//! What documents 002 and 001 say of this hot path, in their own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use crate::kit::COMPILE_TIME;
use crate::pixels::DECODES;
use crate::{DOCUMENTED, FUSED, HALF, ONE_BY_ONE, OPTIMIZED, SLOW, UNIFIED};

/// The cases with as many passes and trials as the document's program.
const SOURCE_CASES: [&str; 3] = ["px224-n1-k10", "px224-n500-k10", "px384-n500-k10"];
/// The cases with as many images as the document's program, in batches.
const BATCH_CASES: [&str; 2] = ["px224-n500-b64", "px224-n500-b500"];

/// The statements, in the order of the documents.
pub(crate) fn claims() -> Vec<ClaimDef> {
    let mut claims = of_the_passes();
    claims.extend(of_the_whole_experiment());
    claims.extend(of_training());
    claims
}

/// One of document 002.
fn claim(id: &str, section: &str, statement: &str, metric: &str, promise: Promise) -> ClaimDef {
    ClaimDef::new(id, &format!("002, {section}"), statement, metric, promise)
}

fn open(reason: &str) -> Promise {
    Promise::NotMeasurable { reason: reason.into() }
}

fn factor(at_least: f64, at_most: f64) -> Promise {
    Promise::Factor { at_least, at_most: Some(at_most) }
}

fn reduction(at_least: f64) -> Promise {
    Promise::Reduction { at_least, at_most: None }
}

/// What document 002 says of passes and what they are made of.
fn of_the_passes() -> Vec<ClaimDef> {
    vec![
        claim(
            "gpu-idle",
            "Summary",
            "The GPU sits idle 95%+ of the time",
            metric::GPU_BUSY_SHARE,
            open(
                "It says how `slow` is by itself, and compares it with nothing. What the GPU's share is here, \
                 `gpu-busy-share` of `slow` tells.",
            ),
        ),
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
        .cases(&SOURCE_CASES)
        .on_gpu()
        .note(
            "An iteration decodes every image once, so that a case of T x K passes cannot win more than T x K. The \
             factor depends on what loading costs beside the forward pass.",
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
            "Pixels, weights and tokens are stored in half precision and summed in single: portable shaders have \
             no matrix units, which is where the document's factor comes from. Of 640 passes, loading once is a \
             small part.",
        ),
        claim(
            "inference-mode",
            "Optimization 3",
            "inference_mode instead of no_grad: expected speedup ~5-10%",
            standard::WALL_TIME,
            open("Nothing here records operations for a backward pass, so there is nothing to switch off."),
        ),
        claim(
            "one-batch",
            "Optimization 4",
            "With the full 500-image dataset fitting in one batch, there's zero batch loop overhead",
            standard::WALL_TIME,
            open(
                "It compares batch sizes, which are cases and not variants. The cases `px224-n500-b1` to `-b500` \
                 have equal work; submits, syncs and dispatches of `documented` fall with the batch size, and the \
                 times show where that ceases to matter.",
            ),
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
        .note("One kernel by hand in place of four. Of 640 passes, loading once is a small part."),
        claim(
            "unified-memory",
            "M3 Ultra, Key advantages",
            "no CPU-GPU transfer penalty: tensor.to('mps') is essentially a no-op pointer change",
            metric::UPLOAD_BYTES,
            reduction(0.99),
        )
        .between(OPTIMIZED, UNIFIED)
        .note(
            "No pixel is copied to the device; what is left are the keys of the masks, a word for each pass, for which \
             a hundredth is allowed. Taking the buffer back before it is written again is a sync of its own.",
        ),
        claim(
            "progress",
            "Implementation Priority",
            "Enable progress bars: zero cost",
            standard::WALL_TIME,
            open("No variant prints while it is measured."),
        ),
        claim(
            "readback-every-pass",
            "Why it's slow",
            "Result moved back to CPU for accumulation",
            metric::SYNCS,
            open("The document keeps it so and promises nothing. What it costs is `documented` against `optimized`."),
        )
        .between(DOCUMENTED, OPTIMIZED),
        claim(
            "forward-is-fast",
            "Why it's slow",
            "The GPU forward pass takes microseconds per batch relative to the I/O + preprocessing overhead",
            metric::GPU_BUSY,
            open(
                "It says how `slow` is by itself. `gpu-busy` of `slow` is what its forward passes take, and its wall \
                 time what they take together with loading.",
            ),
        ),
        claim(
            "io-eliminated",
            "Implementation Priority",
            "Precompute pixel tensors: single change eliminates 99.8% of I/O",
            metric::UPLOAD_BYTES,
            reduction(0.998),
        )
        .cases(&SOURCE_CASES)
        .note("Of what goes to the device. What is read from files falls with `decodes`, see `redundant-loads`."),
        claim(
            "first-call",
            "Optimization 5",
            "First call has compilation cost (~30s), then subsequent calls are faster",
            COMPILE_TIME,
            open(
                "It is a cost and no promise. What the kernels of `fused` cost, where the driver does not find them in \
                 a cache on disk, `compile-time` tells; it is paid while a placement is prepared, before anything is \
                 timed.",
            ),
        )
        .between(OPTIMIZED, FUSED),
        claim(
            "recommended-batches",
            "Optimization 4",
            "Recommended batch_size: 256-500 (entire dataset) on 16 GB, 500-5000 (entire dataset) on 128 GB",
            standard::WALL_TIME,
            open(
                "It names sizes and no gain. The cases `px224-n500-b1` to `-b500` have equal work, and their times \
                 show where larger batches cease to help.",
            ),
        ),
    ]
}

/// What document 002 says of its whole experiment: three encoders, runs with 4, 16 and 64 passes, ten trials. The steps
/// of its table are factors, of which the same hold for a part of the work.
fn of_the_whole_experiment() -> Vec<ClaimDef> {
    const SECTION: &str = "Expected total Exp 0 time with optimizations";
    vec![
        claim(
            "exp0-loads",
            "Scale of waste",
            "Full Exp 0 (3 models x 3 T-values x K=10): ~1.26M images loaded from disk, ~1.26M of them redundant",
            DECODES,
            open(
                "It adds up separate runs with 4, 16 and 64 passes, 84 passes in all. Here one run of 64 keeps a snapshot \
                 at 4 and 16, so that 20 of them are not done at all; `redundant-loads` is the share within a run.",
            ),
        ),
        claim(
            "exp0-precomputed",
            SECTION,
            "Current ~6-8 hours, with precomputed pixels ~20-40 min",
            standard::WALL_TIME,
            factor(9.0, 24.0),
        )
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note("6 hours against 40 minutes, to 8 hours against 20."),
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
        .note("25 minutes against 18, 12 against 8. In the document it comes on top of half precision."),
        claim(
            "exp0-batches",
            SECTION,
            "~8-18 min, with batch size 256 ~6-15 min",
            standard::WALL_TIME,
            open(
                "It does not say from which batch size, and compares batch sizes, which are cases and not variants: \
                 `px224-n500-b64` against `-b500`.",
            ),
        ),
        claim(
            "whole-run",
            "Summary",
            "transform a 6-8 hour Exp 0 run into a 10-15 minute one",
            standard::WALL_TIME,
            factor(24.0, 48.0),
        )
        .between(SLOW, OPTIMIZED)
        .on_gpu()
        .cases(&SOURCE_CASES)
        .note(
            "6 hours against 15 minutes, to 8 hours against 10. The document gets there with half precision and \
             compilation as well; `optimized` has neither.",
        ),
        claim(
            "unified-machine",
            "Expected M3 Ultra performance",
            "Exp 0 full: ~8-15 min on RTX 5000 Ada, ~15-30 min on M3 Ultra",
            standard::WALL_TIME,
            open("It compares two machines, and absolute times are compared within a machine class only."),
        ),
    ]
}

/// What document 001 says of the same means in a training loop.
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
        .note("The document trains; here batches go forward only. Loading, which both do alike, is in the times."),
        claim(
            "mixed-precision",
            "Missing Mixed Precision Training",
            "2-3x speedup possible with AMP",
            factor(2.0, 3.0),
        )
        .between(OPTIMIZED, HALF)
        .cases(&SOURCE_CASES)
        .note("The document trains; here passes go forward only, and without matrix units: see `half-precision`."),
    ]
}
