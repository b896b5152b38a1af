//! Claims of document 001 about the same means in a training loop.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use super::{SOURCE_CASES, factor};
use crate::{HALF, ONE_BY_ONE, OPTIMIZED};

/// Cases with the same number of images as document 002's program, in batches.
const BATCH_CASES: [&str; 2] = ["px224-n500-b64", "px224-n500-b500"];

/// Returns the claims, most of them in the order of the document.
pub(super) fn of_training() -> Vec<ClaimDef> {
    let claim = |id: &str, section: &str, statement: &str, promise| {
        ClaimDef::new(id, &format!("001, {section}"), statement, standard::WALL_TIME, promise).on_gpu()
    };
    let open = |id: &str, section: &str, statement: &str, metric: &str, reason: &str| {
        let promise = Promise::NotMeasurable { reason: reason.into() };
        ClaimDef::new(id, &format!("001, {section}"), statement, metric, promise)
    };
    vec![
        open(
            "training-time",
            "Estimated Performance Gains",
            "Current: ~24 hours for full training … After Quick Wins: ~8-12 hours (2-3x speedup) … With All \
             Optimizations: ~4-6 hours (4-6x speedup)",
            standard::WALL_TIME,
            "No workload trains. `batch-of-one` and `mixed-precision` judge two of the quick wins. The document's \
             own factors disagree: the three of its conclusion, 1.2-1.3, 2-4 and 2-3, multiply to 4.8 to 15.6.",
        ),
        open(
            "tenth-utilized",
            "Suboptimal Batch Sizes",
            "4x H100 GPUs running at ~10% utilization",
            metric::GPU_BUSY_SHARE,
            "It describes a program that trains on four devices and handles one batch after the other. `one-by-one` \
             puts all batches of a pass into one submit; `gpu-busy-share` shows its share.",
        ),
        open(
            "training-batches",
            "Suboptimal Batch Sizes",
            "For 4x H100 (80GB each): batch_size=256-512 … effective_batch=1024 … Change default from 1 to 64-128",
            standard::WALL_TIME,
            "It names sizes but no gain, and no workload trains. The times of `px224-n500-b1` to `-b500` show where \
             larger batches stop helping.",
        ),
        claim(
            "batch-of-one",
            "Suboptimal Batch Sizes",
            "Default batch size of 1 severely underutilizes GPUs … Increasing batch sizes (2-4x speedup)",
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
