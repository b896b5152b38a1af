//! Claims of the document about this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise};
use perfharness_gpu::metric::SYNCS;

use super::{COMPUTATIONS, SHIPPED};
use crate::SLOW;

/// The case that the claims are judged by; every effort measures it.
pub(super) const CASE: &str = "s20";

const SECTION: &str = "003, 1.3";
const OVERHEAD: &str = "90% reduction in metric computation overhead";

pub(super) fn claims() -> Vec<ClaimDef> {
    let tenth = |id, source, statement, metric| {
        let promise = Promise::Reduction { at_least: 0.9, at_most: None };
        ClaimDef::new(id, source, statement, metric, promise).cases(&[CASE])
    };
    let open = |id, source, statement, metric, reason: &str| {
        let promise = Promise::NotMeasurable { reason: reason.into() };
        ClaimDef::new(id, source, statement, metric, promise).cases(&[CASE])
    };
    vec![
        tenth("fewer-computations", SECTION, OVERHEAD, COMPUTATIONS)
            .note("Counts computations. Their time is a part of the step's, and differs from device to device."),
        tenth(
            "fewer-operations",
            "003, Training Speed",
            "Metric Computation: 90% reduction in expensive operations",
            COMPUTATIONS,
        ),
        tenth("fewer-syncs", SECTION, OVERHEAD, SYNCS)
            .note("Each computation is followed by three reads, with a sync each."),
        tenth("fewer-syncs-as-shipped", SECTION, OVERHEAD, SYNCS).between(SLOW, SHIPPED).note(
            "The source's program reads six other numbers at every step, before the change and after it; they \
             outweigh the three that it saves. `slow` does not read them.",
        ),
        open(
            "when-needed",
            SECTION,
            "Architecture metrics (HGNN, Ghost) computed only when needed",
            COMPUTATIONS,
            "The document gives no number. Every tenth step is not a need but a rate.",
        ),
        open(
            "all-metrics-tracked",
            "003, Performance Monitoring",
            "All metrics still tracked and logged",
            COMPUTATIONS,
            "It contradicts section 1.3: nine of ten values are not computed. Every variant delivers the tenth.",
        ),
        open(
            "less-overhead",
            "003, Ghost Training Specific",
            "Expert specialization tracking maintained with less overhead",
            COMPUTATIONS,
            "The document gives no number here; `fewer-computations` has the one of section 1.3.",
        ),
    ]
}
