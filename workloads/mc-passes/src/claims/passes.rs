//! Claims of document 002 about passes and their parts.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use super::{SOURCE_CASES, claim, factor, open, reduction};
use crate::kit::COMPILE_TIME;
use crate::pixels::DECODES;
use crate::{DOCUMENTED, FUSED, HALF, OPTIMIZED, SLOW, UNIFIED, VIT_CASE};

/// Returns the claims, most of them in the order of the document.
pub(super) fn of_the_passes() -> Vec<ClaimDef> {
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
            "Images loaded from disk … Redundant loads … 320,000 … 319,500 (99.8%)",
            DECODES,
            reduction(0.998),
        )
        .cases(&SOURCE_CASES)
        .note("640 passes load every image 640 times. The share does not depend on the number of images."),
        claim(
            "precomputed-pixels",
            "Optimization 1",
            "Precompute pixel tensors … Expected speedup: 10-50x",
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
            "Mixed precision … Expected speedup: 1.5-2x on forward pass",
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
            "torch.inference_mode() instead of torch.no_grad() … Expected speedup: ~5-10%",
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
            "Expected speedup: 1.2-2x on forward pass … Fuses operations, reduces kernel launch overhead",
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
            "no CPU↔GPU transfer penalty … tensor.to('mps') is essentially a no-op pointer change",
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
            "Enable progress bars — Zero cost",
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
            "Precompute pixel tensors — Biggest win. Single change eliminates 99.8% of I/O",
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
            "Recommended batch_size … RTX 5000 Ada (16GB) … 256-500 (entire dataset) … M3 Ultra (128GB) … 500-5000 (entire dataset)",
            standard::WALL_TIME,
            "It names sizes but no gain. The cases `px224-n500-b1` to `-b500` have equal work, and their times \
             show where larger batches stop helping.",
        ),
        open(
            "memory-freed",
            "Optimization 4",
            "memory is freed from PIL/preprocessing overhead",
            standard::HEAP_PEAK,
            "The document gives no number. `heap-peak` and `device-peak` show the memory of both forms.",
        ),
        open(
            "tight-memory",
            "Additional CUDA optimizations",
            "if VRAM is tight: … Keep pixel tensor on CPU, transfer batches",
            metric::DEVICE_PEAK,
            "It is a way out, and promises no gain. The case `px224-n64-16mb` has a smaller budget than pixels; \
             `device-peak` shows whether the budget holds.",
        ),
    ]
}
