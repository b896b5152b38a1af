//! Claims of the document about this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};

use super::MASK_BUILDS;

const SECTION: &str = "003, 1.2";

pub(super) fn claims() -> Vec<ClaimDef> {
    let faster = |id, source, statement, at_most| {
        let promise = Promise::Factor { at_least: 1.2, at_most: Some(at_most) };
        ClaimDef::new(id, source, statement, standard::WALL_TIME, promise).on_gpu()
    };
    vec![
        ClaimDef::new(
            "fewer-masks",
            SECTION,
            "Avoids recomputing masks for each of 4+ experts",
            MASK_BUILDS,
            Promise::Reduction { at_least: 0.75, at_most: None },
        )
        .note("One mask for a batch instead of one for each of four experts."),
        faster("faster-forwards", SECTION, "~20-30% speedup in expert forward passes", 1.3).note(
            "A forward pass is one attention head. The layers of a real expert, which have no mask, would make the \
             share of the masks smaller.",
        ),
        faster(
            "faster-steps",
            "003, Training Speed",
            "Geometric Steps: 20-40% faster due to streaming + caching",
            1.4,
        )
        .note("Caching alone; the workload `rotation` has the streaming."),
        ClaimDef::new(
            "same-for-all",
            SECTION,
            "Cache causal mask and key_padding_mask (same for all experts)",
            MASK_BUILDS,
            Promise::NotMeasurable {
                reason: "A statement about results, which a check decides: the masks are the same for all experts of \
                         one batch, and `shipped`, which keeps them for the next batch, is wrong."
                    .into(),
            },
        ),
    ]
}
