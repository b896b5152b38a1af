//! Claims of the document, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};

use super::measured::{COPIED_BYTES, TENSOR_BYTES};
use super::{DOCUMENTED, OPTIMIZED, OPTIMIZED_CPU, SLOW};

pub(super) fn claims() -> Vec<ClaimDef> {
    let undecided = |id, source, statement, metric, reason: &str| {
        ClaimDef::new(id, source, statement, metric, Promise::NotMeasurable { reason: reason.into() })
    };
    let metrics = "004, Updated Success Metrics";
    let causes = "004, Root Causes Identified";
    let evidence = "004, Testing Evidence";
    let of_tensorpac = |id, statement| {
        undecided(
            id,
            evidence,
            statement,
            standard::WALL_TIME,
            "The document gives no bands, and TensorPAC is not run here. The example `pac` computes the same file \
             as TensorPAC, so that both can be timed side by side.",
        )
    };
    let less_memory = |id, candidate| {
        ClaimDef::new(
            id,
            metrics,
            "20-30% reduction in memory usage (FAILED - using MORE memory)",
            standard::PEAK_RSS,
            Promise::Reduction { at_least: 0.2, at_most: Some(0.3) },
        )
        .between(SLOW, candidate)
        .cases(&["medium-10x10", "medium-16x16"])
        .note(
            "A target of the document, which its own program missed. Covers the whole process, with the pool of inputs \
             and the float64 reference of the checks.",
        )
    };
    let faster = |id, candidate| {
        ClaimDef::new(
            id,
            metrics,
            "15-25% speedup on typical workloads (FAILED - 2x SLOWER)",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.15, at_most: Some(1.25) },
        )
        .between(SLOW, candidate)
        .cases(&["small-10x10", "medium-10x10", "medium-16x16"])
        .note("A target of the document, which its own program missed; it concerns a GPU, and these run on the CPU.")
    };
    vec![
        undecided(
            "copies",
            causes,
            "Excessive device-to-device copies (aten::copy_: 42.34%)",
            COPIED_BYTES,
            "The share refers to the device time of another program. The bytes that `slow` copies between its stages \
             are counted here.",
        ),
        undecided(
            "one-hot-size",
            causes,
            "Creates massive one_hot tensors (23GB for medium-size data)",
            TENSOR_BYTES,
            "The document gives neither sampling rate nor bands: 23 GB are 650 pairs of 16 channels of 60 s at \
             512 Hz. 16 x 16 bands take 9.1 GB and 30 x 30 take 31.9 GB; in both cases `slow` has to end as \
             out-of-memory, which is its declared outcome.",
        ),
        undecided(
            "previous-speed-up",
            "004, Current Status vs Expected Performance",
            "Previous achievement: 100x+ speedup",
            standard::WALL_TIME,
            "It is a speed-up over TensorPAC, which is not run here, and its source retracted it later. The example \
             `pac` of this crate computes a file, so that both can be measured side by side.",
        ),
        undecided(
            "regression",
            "004, Current Status vs Expected Performance",
            "Current performance: 0.5-0.6x speed (2x SLOWER than TensorPAC)",
            standard::WALL_TIME,
            "TensorPAC is not run here, and `slow` is not the program that was slower.",
        ),
        undecided(
            "regression-factor",
            "004, Current Status vs Expected Performance",
            "Regression factor: ~200x performance loss",
            standard::WALL_TIME,
            "It is the quotient of 100x and 0.5x, both over TensorPAC, which is not run here, and the source \
             retracted the 100x.",
        ),
        of_tensorpac("small-time", "Small (1ch, 1s): gPAC 0.021s vs TensorPAC 0.013s = 0.6x"),
        of_tensorpac("medium-time", "Medium (8ch, 4s): gPAC 0.632s vs TensorPAC 0.300s = 0.5x"),
        undecided(
            "large-memory",
            evidence,
            "Large (16ch, 60s): OOM error (23GB allocation attempted)",
            TENSOR_BYTES,
            "It is a declared outcome here: on large-16x16 and large-30x30 `slow` ends as out-of-memory and states \
             the requested size and its budget. The document does not state its number of bands.",
        ),
        less_memory("less-memory", DOCUMENTED),
        less_memory("less-memory-optimized", OPTIMIZED_CPU),
        faster("faster", DOCUMENTED),
        faster("faster-optimized", OPTIMIZED_CPU),
        faster("faster-on-gpu", OPTIMIZED).on_gpu().note(
            "A target of the document, which its own program missed. `slow` runs on one CPU thread here.",
        ),
        undecided(
            "accuracy",
            metrics,
            "No regression in accuracy (Only metric achieved)",
            standard::WALL_TIME,
            "Accuracy is a condition here and not a claim: a variant with wrong indexes has no time.",
        ),
        undecided(
            "multi-gpu",
            metrics,
            "Better multi-GPU scaling efficiency (Not tested due to OOM)",
            standard::WALL_TIME,
            "One device is used here, and the document did not test it either.",
        ),
        undecided(
            "compile-time",
            causes,
            "Long initialization times (2+ minutes)",
            standard::WALL_TIME,
            "It is the time that torch.compile takes, which is not used here.",
        ),
    ]
}
