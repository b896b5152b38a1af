//! Claims of the document about this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};
use perfharness_gpu::metric::SYNCS;

use crate::{DOCUMENTED, LAZY_ONLY, S50, SHIPPED, SLOW};

/// Number of iterations of the case [`S50`] in the document's epoch of 5000 batches.
const EPOCH: f64 = 100.0;
/// Share of an iteration of the case [`S50`] that one step takes.
const STEP: f64 = 1.0 / 50.0;
/// Syncs of `slow` in 50 steps.
const SYNCS_OF_SLOW: f64 = 150.0;
/// Those that are left without one display.
const SYNCS_SAVED: f64 = SYNCS_OF_SLOW - 3.0;

const MS: f64 = 1e6;
const SECOND: f64 = 1e9;

const LAZY: &str = "000, 2";
const DEFERRED: &str = "000, 3";

const COST: &str = "The cost of a sync depends on the device; the claim on syncs counts how many are saved.";
const BOTH: &str = "Sections 2 and 3 describe two halves of one change: section 2 keeps the scalars on the device, \
                    and section 3 reads them for display, here at every 50th step.";
const ALONE: &str =
    "Of section 2 alone: until section 3 defers it, one read of all three scalars stays in each step.";
const STILL_SIX: &str = "The source's program still reads at every step after the change: three scalars for running \
                         totals and three for display.";

pub(crate) fn claims() -> Vec<ClaimDef> {
    let claim = |id, source, statement, metric, promise| {
        ClaimDef::new(id, source, statement, metric, promise).between(SLOW, DOCUMENTED).cases(&[S50])
    };
    let saving = |at_least, at_most, iterations| Promise::Saving { at_least, at_most, iterations };
    let a_step = "-3 × (5-10ms GPU sync) per batch";
    let an_epoch = "40 seconds saved per epoch";
    let arithmetic = "3 × (5-10 ms) × 5000 batches are 75 to 150 s, not the 40 s that the document states.";
    let fewer_syncs = || saving(SYNCS_SAVED, None, 1.0);
    vec![
        claim("fewer-syncs", LAZY, a_step, SYNCS, fewer_syncs())
            .note(format!("Counted over 50 steps: 3 syncs each are 150, of which the display keeps 3. {BOTH}")),
        claim("fewer-syncs-lazy-only", LAZY, a_step, SYNCS, saving(SYNCS_OF_SLOW, None, 1.0))
            .between(SLOW, LAZY_ONLY)
            .note(format!("Counted over 50 steps. {ALONE}")),
        claim("fewer-syncs-as-shipped", LAZY, a_step, SYNCS, fewer_syncs())
            .between(SLOW, SHIPPED)
            .note(format!("Counted over 50 steps. {STILL_SIX}")),
        claim(
            "shorter-steps",
            LAZY,
            a_step,
            standard::WALL_TIME,
            saving(15.0 * MS, Some(30.0 * MS), STEP),
        )
        .between(SLOW, LAZY_ONLY)
        .on_gpu()
        .note(format!("{ALONE} {COST}")),
        claim("lazy-metrics", LAZY, an_epoch, standard::WALL_TIME, saving(40.0 * SECOND, None, EPOCH))
            .between(SLOW, LAZY_ONLY)
            .on_gpu()
            .note(format!("{ALONE} {arithmetic} {COST}")),
        claim("lazy-metrics-as-shipped", LAZY, an_epoch, standard::WALL_TIME, saving(40.0 * SECOND, None, EPOCH))
            .between(SLOW, SHIPPED)
            .on_gpu()
            .note(STILL_SIX),
        claim(
            "deferred-extraction",
            DEFERRED,
            "CPU sync moved to non-critical path → 5-8 seconds saved per epoch",
            standard::WALL_TIME,
            saving(5.0 * SECOND, Some(8.0 * SECOND), EPOCH),
        )
        .between(LAZY_ONLY, DOCUMENTED)
        .on_gpu()
        .note(format!("Of section 3 alone: from a read at every step to one at every 50th. {COST}")),
        claim(
            "minutes-saved",
            "000, Performance Impact Summary",
            "Total … 2-5 minutes per epoch!",
            standard::WALL_TIME,
            Promise::NotMeasurable {
                reason: "A sum over this workload and the remapping of labels. The summary's own 105-163 s are 1.8 \
                         to 2.7 minutes."
                    .into(),
            },
        ),
    ]
}
