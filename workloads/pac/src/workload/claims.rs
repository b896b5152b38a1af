//! Claims of the document, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric;

use super::measured::{CHUNKS, TENSOR_BYTES};
use super::{DOCUMENTED, DOCUMENTED_GPU, OPTIMIZED, OPTIMIZED_CPU, SLOW, SLOW_GPU, UNCLONED_GPU};

/// Cases of quick and standard effort; the others take minutes, or too much memory for the slow variants.
const FITTING: [&str; 3] = ["small-10x10", "medium-10x10", "medium-16x16"];

/// Part of a note: the candidate is not what the document describes.
const OURS: &str = "A target of the document, applied to a variant that is ours.";
/// Part of a note: the document says so itself.
const MISSED: &str = "A target of the document, which its own program missed.";

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
    let all_saved = || Promise::Reduction { at_least: 1.0, at_most: None };
    let on_device = |id, source, statement, metric, promise| {
        ClaimDef::new(id, source, statement, metric, promise)
            .between(SLOW_GPU, DOCUMENTED_GPU)
            .cases(&FITTING)
    };
    let less_memory = |id, metric, reference, candidate| {
        let statement = "20-30% reduction in memory usage (FAILED - using MORE memory)";
        ClaimDef::new(
            id,
            metrics,
            statement,
            metric,
            Promise::Reduction { at_least: 0.2, at_most: Some(0.3) },
        )
        .between(reference, candidate)
    };
    let faster = |id, reference, candidate| {
        let statement = "15-25% speedup on typical workloads (FAILED - 2x SLOWER)";
        let promise = Promise::Factor { at_least: 1.15, at_most: Some(1.25) };
        ClaimDef::new(id, metrics, statement, standard::WALL_TIME, promise)
            .between(reference, candidate)
            .cases(&FITTING)
    };
    let of_process =
        "Covers the whole process, with the pool of inputs and the float64 reference of the checks.";
    let on_cpu = "The target concerns a GPU, and these variants run on the CPU.";
    vec![
        ClaimDef::new(
            "copies",
            causes,
            "Excessive device-to-device copies (aten::copy_: 42.34%)",
            metric::COPY_SHARE,
            Promise::Level { at_least: Some(0.4234), at_most: None },
        )
        .of(SLOW_GPU)
        .cases(&["medium-10x10", "medium-16x16"])
        .on_gpu()
        .note(
            "The document's operation also copies where a kernel of ours moves values, e.g. where it flips: those are not \
             among the copies.",
        ),
        ClaimDef::new(
            "copies-saved",
            causes,
            "Excessive device-to-device copies (aten::copy_: 42.34%)",
            metric::GPU_BUSY,
            Promise::Reduction { at_least: 0.4234, at_most: None },
        )
        .between(SLOW_GPU, UNCLONED_GPU)
        .cases(&["medium-10x10", "medium-16x16"])
        .on_gpu()
        .note(
            "Copies that take 42.34 % of the device time save as much if they are left out. The two variants differ in \
             nothing else. The document's operation also copies where a kernel of ours moves values, e.g. where it flips.",
        ),
        on_device(
            "no-clones",
            "004, Immediate Actions Required",
            "Remove unnecessary clone() operations",
            metric::DEVICE_COPIES,
            all_saved(),
        )
        .note("All clones are unnecessary: both variants compute the same without them."),
        on_device(
            "no-one-hot",
            causes,
            "Should use scatter/gather operations instead",
            TENSOR_BYTES,
            all_saved(),
        ),
        on_device(
            "pooled",
            "004, Immediate Actions Required",
            "Implement memory pooling",
            metric::BUFFER_CREATES,
            all_saved(),
        )
        .note("A full pool creates nothing: the first iterations fill it, and are not counted."),
        undecided(
            "fewer-intermediates",
            "004, Immediate Actions Required",
            "Use in-place operations where possible … Reduce intermediate tensor creation",
            metric::BUFFER_CREATES,
            "The document gives no number. Buffers created and the peak of device memory show the effect.",
        ),
        undecided(
            "chunked",
            causes,
            "Missing chunked processing for memory efficiency",
            CHUNKS,
            "The document gives no size of a chunk. The peak of device memory shows the effect.",
        ),
        undecided(
            "bandwidth",
            causes,
            "Memory bandwidth saturation from poor access patterns",
            metric::GPU_BUSY,
            "The document gives no number, and no counter of the device's memory is read here.",
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
        less_memory("less-memory", standard::PEAK_RSS, SLOW, DOCUMENTED)
            .cases(&["medium-10x10", "medium-16x16"])
            .note(format!("{MISSED} {on_cpu} {of_process}")),
        less_memory("less-memory-optimized", standard::PEAK_RSS, SLOW, OPTIMIZED_CPU)
            .cases(&["medium-10x10", "medium-16x16"])
            .note(format!("{OURS} {on_cpu} {of_process}")),
        less_memory("less-memory-on-gpu", metric::DEVICE_PEAK, SLOW_GPU, DOCUMENTED_GPU).cases(&FITTING).note(MISSED),
        less_memory("less-memory-optimized-on-gpu", metric::DEVICE_PEAK, SLOW_GPU, OPTIMIZED)
            .cases(&FITTING)
            .note(OURS),
        faster("faster", SLOW, DOCUMENTED).note(format!("{MISSED} {on_cpu}")),
        faster("faster-optimized", SLOW, OPTIMIZED_CPU).note(format!("{OURS} {on_cpu}")),
        faster("faster-on-gpu", SLOW_GPU, DOCUMENTED_GPU).on_gpu().note(MISSED),
        faster("faster-optimized-on-gpu", SLOW_GPU, OPTIMIZED).on_gpu().note(OURS),
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
