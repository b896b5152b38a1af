//! What document 002 says of this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use crate::pixels::DECODES;
use crate::{DOCUMENTED, FUSED, HALF, OPTIMIZED, SLOW, UNIFIED};

/// The cases with as many passes and trials as the document's program.
const SOURCE_CASES: [&str; 3] = ["px224-n1-k10", "px224-n500-k10", "px384-n500-k10"];

/// The statements, in the order of the document.
pub(crate) fn claims() -> Vec<ClaimDef> {
    let factor = |at_least, at_most| Promise::Factor { at_least, at_most: Some(at_most) };
    let reduction = |at_least| Promise::Reduction { at_least, at_most: None };
    let open = |reason: &str| Promise::NotMeasurable { reason: reason.into() };
    let claim = |id: &str, section: &str, statement: &str, metric: &str, promise| {
        ClaimDef::new(id, &format!("002, {section}"), statement, metric, promise)
    };
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
            "readback-every-pass",
            "Why it's slow",
            "Result moved back to CPU for accumulation",
            metric::SYNCS,
            open("The document keeps it so and promises nothing. What it costs is `documented` against `optimized`."),
        )
        .between(DOCUMENTED, OPTIMIZED),
    ]
}
