//! Promises of document 004: phase-amplitude coupling.

use crate::sentence::{Sentence, judged};

pub(crate) const SENTENCES: &[Sentence] = &[
    judged(
        10,
        "Previous achievement: 100x+ speedup (documented in IMPORTANT-FAIR-COMPARISON-WITH-TENSORPAC.md)",
        &["pac/previous-speed-up"],
    ),
    judged(11, "Current performance: 0.5-0.6x speed (2x SLOWER than TensorPAC)", &["pac/regression"]),
    judged(12, "Regression factor: ~200x performance loss", &["pac/regression-factor"]),
    judged(16, "Memory Operations (42% of CUDA time)", &["pac/copies", "pac/copies-saved"]),
    judged(
        17,
        "Excessive device-to-device copies (aten::copy_: 42.34%)",
        &["pac/copies", "pac/copies-saved"],
    ),
    judged(18, "Memory bandwidth saturation from poor access patterns", &["pac/bandwidth"]),
    judged(19, "Unnecessary tensor cloning in StaticBandPassFilter", &["pac/no-clones"]),
    judged(22, "Creates massive one_hot tensors (23GB for medium-size data)", &["pac/one-hot-size"]),
    judged(23, "Over-vectorization causing OOM errors", &["pac/large-memory"]),
    judged(24, "Should use scatter/gather operations instead", &["pac/no-one-hot"]),
    judged(27, "Trying to process all phase-amplitude pairs simultaneously", &["pac/chunked"]),
    judged(28, "Creates intermediate tensors too large for GPU memory", &["pac/large-memory"]),
    judged(29, "Missing chunked processing for memory efficiency", &["pac/chunked"]),
    judged(32, "Long initialization times (2+ minutes)", &["pac/compile-time"]),
    judged(33, "Should be disabled by default until optimized", &["pac/compile-time"]),
    judged(38, "Check git history for when 100x speedup was achieved", &["pac/previous-speed-up"]),
    judged(42, "Remove unnecessary clone() operations", &["pac/no-clones"]),
    judged(43, "Rewrite ModulationIndex without one_hot encoding", &["pac/no-one-hot"]),
    judged(44, "Implement proper chunked processing", &["pac/chunked"]),
    judged(45, "Disable torch.compile by default", &["pac/compile-time"]),
    judged(48, "Use in-place operations where possible", &["pac/fewer-intermediates"]),
    judged(49, "Reduce intermediate tensor creation", &["pac/fewer-intermediates"]),
    judged(50, "Implement memory pooling", &["pac/pooled"]),
    judged(
        54,
        "20-30% reduction in memory usage (FAILED - using MORE memory)",
        &[
            "pac/less-memory",
            "pac/less-memory-optimized",
            "pac/less-memory-on-gpu",
            "pac/less-memory-optimized-on-gpu",
        ],
    ),
    judged(
        55,
        "15-25% speedup on typical workloads (FAILED - 2x SLOWER)",
        &["pac/faster", "pac/faster-optimized", "pac/faster-on-gpu", "pac/faster-optimized-on-gpu"],
    ),
    judged(56, "Better multi-GPU scaling efficiency (Not tested due to OOM)", &["pac/multi-gpu"]),
    judged(57, "No regression in accuracy (Only metric achieved)", &["pac/accuracy"]),
    judged(63, "Remove memory-intensive operations", &["pac/no-one-hot"]),
    judged(64, "Restore baseline 100x speedup", &["pac/previous-speed-up"]),
    judged(67, "torch.compile support (causing issues, disable by default)", &["pac/compile-time"]),
    judged(
        68,
        "Reduce obvious reshape operations (completed but insufficient)",
        &["pac/fewer-intermediates"],
    ),
    judged(
        69,
        "Lazy surrogate statistics (needs memory optimization first)",
        &["pac-surrogates/lazy-statistics"],
    ),
    judged(77, "Small (1ch, 1s): gPAC 0.021s vs TensorPAC 0.013s = 0.6x", &["pac/small-time"]),
    judged(78, "Medium (8ch, 4s): gPAC 0.632s vs TensorPAC 0.300s = 0.5x", &["pac/medium-time"]),
    judged(79, "Large (16ch, 60s): OOM error (23GB allocation attempted)", &["pac/large-memory"]),
    judged(
        84,
        "The performance optimizations in Phase 1 have not addressed the fundamental regression. The current \
         implementation is significantly slower than both TensorPAC and previous gPAC versions. Priority \
         must shift to recovering the documented 100x speedup before pursuing further optimizations.",
        &["pac/regression", "pac/previous-speed-up"],
    ),
];
