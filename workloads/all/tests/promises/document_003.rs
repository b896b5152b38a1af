//! Promises of document 003: training of experts on rotated data.

use crate::sentence::{EQUAL_RESULTS, Sentence, judged, not_judged};

/// Reason for sentences about parts of the program without a hot path.
const WHOLE_PROGRAM: &str = "A statement about other parts of the program than its hot paths.";

pub(crate) const SENTENCES: &[Sentence] = &[
    judged(11, "Memory reduction: O(num_experts) → O(1)", &["rotation/constant-memory"]),
    judged(
        12,
        "For 4 experts: ~75% memory reduction during geometric training",
        &["rotation/rotated-inputs", "rotation/rotated-inputs-in-training", "rotation/training-memory"],
    ),
    judged(13, "Eliminates memory pressure that was forcing CPU fallback", &["rotation/no-fallback"]),
    judged(17, "Cache causal mask and key_padding_mask (same for all experts)", &["masks/same-for-all"]),
    judged(19, "Avoids recomputing masks for each of 4+ experts", &["masks/fewer-masks"]),
    judged(20, "~20-30% speedup in expert forward passes", &["masks/faster-forwards"]),
    judged(
        24,
        "Only compute expensive metrics every 10 steps instead of every step",
        &["step-metrics/fewer-computations"],
    ),
    judged(
        26,
        "90% reduction in metric computation overhead",
        &[
            "step-metrics/fewer-computations",
            "step-metrics/fewer-syncs",
            "step-metrics/fewer-syncs-as-shipped",
        ],
    ),
    judged(27, "Architecture metrics (HGNN, Ghost) computed only when needed", &["step-metrics/when-needed"]),
    judged(33, "Buffer 50 log entries before writing to disk", &["json-logging/fewer-file-operations"]),
    judged(
        35,
        "98% reduction in file I/O operations",
        &["json-logging/fewer-file-operations", "json-logging/fewer-file-operations-as-shipped"],
    ),
    judged(36, "Eliminates JSON serialization bottleneck", &["json-logging/no-serialization-bottleneck"]),
    judged(
        37,
        "Faster training steps due to reduced I/O blocking",
        &["json-logging/faster-steps", "json-logging/faster-steps-as-shipped"],
    ),
    judged(
        41,
        "Expert loads & ghost activations logged every 5th step instead of every step",
        &["json-logging/fewer-conversions"],
    ),
    judged(43, "80% reduction in expensive metric extraction", &["json-logging/fewer-conversions"]),
    judged(44, "Reduced tensor→numpy conversion overhead", &["json-logging/less-conversion-overhead"]),
    not_judged(
        50,
        "Cleaner code and consistent serialization",
        "Cleanness is not a quantity of a program. Checks compare every field of every record with its \
         number.",
    ),
    judged(51, "Reduced function call overhead", &["json-logging/less-call-overhead"]),
    judged(57, "Keep only last 1000 steps in metrics history", &["history/constant-memory"]),
    judged(59, "Prevents memory leaks during long training runs", &["history/no-leak"]),
    judged(60, "Constant memory usage instead of growing indefinitely", &["history/constant-memory"]),
    judged(61, "Critical for your M3's unified memory", &["history/unified-memory"]),
    judged(66, "Geometric Training: 50-75% reduction in peak memory", &["rotation/peak-memory"]),
    judged(
        67,
        "General Training: 30-40% reduction due to batched logging",
        &["json-logging/less-memory", "json-logging/less-memory-as-shipped"],
    ),
    judged(68, "Long Runs: Prevents memory leak growth", &["history/long-runs"]),
    judged(
        71,
        "Geometric Steps: 20-40% faster due to streaming + caching",
        &["rotation/faster-steps", "masks/faster-steps"],
    ),
    judged(
        72,
        "I/O Overhead: 60-80% reduction in disk operations",
        &["json-logging/fewer-disk-operations", "json-logging/fewer-disk-operations-as-shipped"],
    ),
    judged(
        73,
        "Metric Computation: 90% reduction in expensive operations",
        &["step-metrics/fewer-operations"],
    ),
    judged(76, "Should now stay on MPS instead of CPU fallback", &["rotation/no-fallback"]),
    judged(77, "Memory pressure eliminated that was causing device migration", &["rotation/no-fallback"]),
    not_judged(82, "All training modes (standard/geometric) work unchanged", EQUAL_RESULTS),
    not_judged(83, "All architectures (GNN/HGNN/Orthogonal/Ghost) maintained", WHOLE_PROGRAM),
    judged(84, "All logging data/analysis compatibility preserved", &["json-logging/all-metrics-logged"]),
    not_judged(85, "All checkpointing/resuming works identically", WHOLE_PROGRAM),
    not_judged(86, "All hyperparameters function the same", WHOLE_PROGRAM),
    judged(
        89,
        "All metrics still tracked and logged",
        &[
            "json-logging/all-metrics-logged",
            "step-metrics/all-metrics-tracked",
            "history/all-metrics-tracked",
        ],
    ),
    judged(90, "Analysis plots remain identical", &["json-logging/all-metrics-logged"]),
    not_judged(91, "Training curves unaffected by optimizations", EQUAL_RESULTS),
    judged(96, "Memory pressure relief prevents CPU fallback", &["rotation/no-fallback"]),
    judged(97, "MPS device utilization now maintained throughout training", &["rotation/no-fallback"]),
    judged(98, "Unified memory efficiency through streaming and batching", &["rotation/memory-efficient"]),
    judged(99, "Ghost training (4 experts + 4 ghosts) now memory-efficient", &["rotation/memory-efficient"]),
    judged(102, "Saturation monitoring optimized but fully functional", &["step-metrics/less-overhead"]),
    not_judged(
        103,
        "Ghost activation threshold now accessible via UI",
        "It adds a control to a user interface, and promises nothing about a hot path.",
    ),
    judged(
        104,
        "Expert specialization tracking maintained with less overhead",
        &["step-metrics/less-overhead"],
    ),
    judged(115, "Training stays on MPS device", &["rotation/no-fallback"]),
    judged(
        116,
        "Faster step completion times",
        &["rotation/faster-steps", "masks/faster-steps", "json-logging/faster-steps"],
    ),
    judged(117, "Lower memory usage peaks", &["rotation/peak-memory"]),
    not_judged(118, "Same loss curves and model performance", EQUAL_RESULTS),
    judged(119, "No CPU fallback during geometric training", &["rotation/no-fallback"]),
    not_judged(
        123,
        "maintain 100% functional compatibility while delivering significant performance improvements",
        EQUAL_RESULTS,
    ),
    judged(
        125,
        "Your 4 experts + 4 ghosts training should now run smoothly on MPS with the memory and performance \
         optimizations in place!",
        &["rotation/memory-efficient", "rotation/no-fallback"],
    ),
];
