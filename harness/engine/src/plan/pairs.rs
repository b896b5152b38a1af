//! Two builds against each other: a case of two sides for each benchmark.

use perfharness_record::{LookPlan, Origin, Side};
use perfharness_verdict::judge::{RowTerms, time_counts};

use super::{CaseDesign, CasePlan, Catalog, Selection};

/// Launches of what has no base, or whose time counts for nothing: enough to see whether its counts vary.
const LAUNCHES_TO_COUNT: u32 = 2;

/// A case for each benchmark: the base's side and ours, where both have it by the same definition. Workers of the base are
/// numbered behind ours, of which there are `heads`; a change beyond `delta`, a log-ratio, matters.
pub fn pairs(
    catalog: &Catalog,
    head: &Selection,
    base: &Selection,
    heads: usize,
    delta: f64,
) -> Vec<CasePlan> {
    let counterpart = |case: &CasePlan, side: &Side| {
        let same = base.cases.iter().find(|other| {
            other.workload == case.workload && other.case == case.case && other.version == case.version
        })?;
        let found = same.sides.iter().find(|other| other.benchmark == side.benchmark)?;
        Some(Side { origin: Origin::Base, worker: heads + found.worker, reference: None, ..found.clone() })
            .filter(|found| found.skip.is_none())
    };
    let mut pairs = Vec::new();
    for case in &head.cases {
        let roles =
            catalog.definition(case.workload.as_str()).map(|d| d.variants.as_slice()).unwrap_or_default();
        for side in &case.sides {
            let counts =
                roles.iter().find(|v| v.id == side.benchmark.variant).is_none_or(|v| time_counts(v.role));
            let before = counterpart(case, side).filter(|_| side.skip.is_none());
            let counts_only = !counts || before.is_none();
            let reference = before.is_some().then_some(0);
            let ours = Side { origin: Origin::Head, reference, ..side.clone() };
            pairs.push(CasePlan {
                sides: before.into_iter().chain([ours]).collect(),
                design: CaseDesign {
                    looks: counts_only.then_some(LookPlan::Fixed { launches: LAUNCHES_TO_COUNT }),
                    terms: Some(RowTerms {
                        threshold: delta,
                        must_see: 0.25_f64.ln_1p(),
                        calibrated: None,
                        layout_spread: 0.0,
                    }),
                    ..CaseDesign::default()
                },
                ..case.clone()
            });
        }
    }
    pairs
}
