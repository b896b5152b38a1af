//! Claims of the document about this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric::DEVICE_PEAK;

use super::JOINT;
use super::held::ROTATED_PEAK;
use crate::SLOW;

const SECTION: &str = "003, 1.1";
const FOUR: &str = "For 4 experts: ~75% memory reduction during geometric training";
const FOUR_EXPERTS: [&str; 4] = ["n64-x4", "n64-x4-v2048", "n4096-x4", "n4096-x4-v2048"];
/// The cases of the document's size. With 64 rows, the weights are most of the memory.
const FULL_SIZE: [&str; 3] = ["n4096-x4", "n4096-x8", "n4096-x4-v2048"];
const NO_HEAD: [&str; 2] = ["n64-x4", "n4096-x4"];

pub(super) fn claims() -> Vec<ClaimDef> {
    let saved = |id, source, statement, metric, at_least, at_most| {
        ClaimDef::new(id, source, statement, metric, Promise::Reduction { at_least, at_most })
    };
    let open = |id, source, statement, metric, reason: &str| {
        ClaimDef::new(id, source, statement, metric, Promise::NotMeasurable { reason: reason.into() })
    };
    vec![
        open(
            "constant-memory",
            SECTION,
            "Memory reduction: O(num_experts) → O(1)",
            ROTATED_PEAK,
            "An order of growth is not a number. `rotated-peak` is the same for 4 and for 8 experts.",
        ),
        saved("rotated-inputs", SECTION, FOUR, ROTATED_PEAK, 0.75, None)
            .cases(&FOUR_EXPERTS)
            .note("Counts rotated inputs alone: one instead of four."),
        saved("rotated-inputs-in-training", SECTION, FOUR, ROTATED_PEAK, 0.75, None)
            .between(SLOW, JOINT)
            .cases(&NO_HEAD)
            .note(
                "One backward pass after all experts needs all rotated inputs, so a framework keeps them. The \
                 generator saves memory only if each expert has its own backward pass.",
            ),
        saved("training-memory", SECTION, FOUR, DEVICE_PEAK, 0.75, None).cases(&["n4096-x4", "n4096-x4-v2048"]).note(
            "The peak also has the batch, the output of a layer, weights and, with a head, the logits of all \
             experts, each row of which is 16 times as long as a row of the batch.",
        ),
        saved(
            "peak-memory",
            "003, Memory Usage",
            "Geometric Training: 50-75% reduction in peak memory",
            DEVICE_PEAK,
            0.5,
            Some(0.75),
        )
        .cases(&FULL_SIZE)
        .note("The peak of the experts' forward passes alone."),
        ClaimDef::new(
            "faster-steps",
            "003, Training Speed",
            "Geometric Steps: 20-40% faster due to streaming + caching",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.2, at_most: Some(1.4) },
        )
        .on_gpu()
        .note("Streaming alone; the workload `masks` has the caching."),
        open(
            "no-fallback",
            SECTION,
            "Eliminates memory pressure that was forcing CPU fallback",
            DEVICE_PEAK,
            "The pressure depends on everything else on the author's machine.",
        ),
        open(
            "memory-efficient",
            "003, M3 MacBook Optimizations",
            "Ghost training (4 experts + 4 ghosts) now memory-efficient",
            DEVICE_PEAK,
            "The document gives no number. `device-peak` of `n4096-x8` is that of eight experts.",
        ),
    ]
}
