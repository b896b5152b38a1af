//! Two builds against each other: a case of two sides for each benchmark.

use perfharness_contract::{BenchmarkId, MetricDef, VariantDef, standard};
use perfharness_record::compare::GatePolicy;
use perfharness_record::{LookPlan, Origin, Side};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;
use perfharness_verdict::judge::{Adapter, RowTerms, Subject, time_counts};

use super::{CaseDesign, CasePlan, Catalog, Selection};

/// Launches of what has no base, or whose time counts for nothing: enough to see whether its counts vary.
const LAUNCHES_TO_COUNT: u32 = 2;

/// Launches of a time that says little: that of a GPU's work on a software adapter. Enough for any verdict.
const LAUNCHES_ON_SOFTWARE: u32 = MIN_LAUNCHES_TO_DECIDE as u32;

/// The need of a variant that computes on a GPU.
const GPU: &str = "gpu";

/// Everything that the terms of a pair follow from, except for the pair.
#[derive(Clone, Copy, Debug)]
pub struct Judging<'a> {
    /// The changes that matter.
    pub policy: &'a GatePolicy,
    /// The device that computes for a GPU.
    pub adapter: Adapter,
}

impl Judging<'_> {
    /// The terms by which the gate judges the wall time of a pair.
    fn terms(&self, side: &Side, variant: &VariantDef) -> RowTerms {
        let wall = MetricDef::time(standard::WALL_TIME, "");
        let uses_gpu = is_for_gpu(variant);
        let subject = Subject {
            benchmark: &side.benchmark,
            metric: &wall,
            role: variant.role,
            uses_gpu,
            reference_uses_gpu: uses_gpu,
            adapter: self.adapter,
        };
        self.policy.terms(&subject, None, 0.0)
    }
}

/// Whether a benchmark of a case computes on a GPU.
pub fn needs_gpu(catalog: &Catalog, case: &CasePlan) -> bool {
    case.sides.iter().filter_map(|side| variant(catalog, side)).any(is_for_gpu)
}

/// Returns the benchmarks of these cases that compute on a GPU, each once.
pub fn on_gpu(catalog: &Catalog, cases: &[CasePlan]) -> Vec<BenchmarkId> {
    let sides = cases.iter().flat_map(|case| &case.sides);
    let mut ids: Vec<BenchmarkId> = sides
        .filter(|side| variant(catalog, side).is_some_and(is_for_gpu))
        .map(|side| side.benchmark.clone())
        .collect();
    ids.dedup();
    ids
}

/// Whether a variant computes on a GPU.
fn is_for_gpu(variant: &VariantDef) -> bool {
    variant.needs.iter().any(|need| need == GPU)
}

/// Whether a benchmark of a selection computes on a GPU.
pub fn any_needs_gpu(catalog: &Catalog, selection: &Selection) -> bool {
    selection.cases.iter().any(|case| needs_gpu(catalog, case))
}

/// The definition of the variant of a side.
fn variant<'c>(catalog: &'c Catalog, side: &Side) -> Option<&'c VariantDef> {
    catalog.definition(side.benchmark.workload.as_str())?.variant(&side.benchmark.variant)
}

/// A case for each benchmark: the base's side and ours, where both have it by the same definition, with the terms that it
/// is judged by. Workers of the base are numbered behind ours, of which there are `heads`.
pub fn pairs(
    catalog: &Catalog,
    head: &Selection,
    base: &Selection,
    heads: usize,
    judging: Judging<'_>,
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
        for side in &case.sides {
            let variant = variant(catalog, side);
            let counts = variant.is_none_or(|variant| time_counts(variant.role));
            let before = counterpart(case, side).filter(|_| side.skip.is_none());
            let counts_only = !counts || before.is_none();
            let on_software = variant.is_some_and(is_for_gpu) && judging.adapter != Adapter::Hardware;
            let launches = if counts_only {
                Some(LAUNCHES_TO_COUNT)
            } else {
                on_software.then_some(LAUNCHES_ON_SOFTWARE)
            };
            let reference = before.is_some().then_some(0);
            let ours = Side { origin: Origin::Head, reference, ..side.clone() };
            pairs.push(CasePlan {
                sides: before.into_iter().chain([ours]).collect(),
                design: CaseDesign {
                    looks: launches.map(|launches| LookPlan::Fixed { launches }),
                    terms: variant.filter(|_| !counts_only).map(|variant| judging.terms(side, variant)),
                    ..CaseDesign::default()
                },
                ..case.clone()
            });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Effort;
    use serde_json::json;

    use super::*;
    use crate::plan::select;

    #[test]
    fn each_pair_has_the_terms_of_its_own_row() {
        let definition = serde_json::from_value(json!({
            "id": "sort", "version": 1, "cases": [{"id": "n10"}],
            "variants": [{"id": "slow", "role": "slow"}, {"id": "fast"}, {"id": "own"}, {"id": "gpu", "needs": ["gpu"]}]
        }));
        let mut catalog = Catalog::default();
        assert_eq!(catalog.add(0, vec![definition.unwrap()]), Vec::<String>::new());
        let selection = select(&catalog, &["all".parse().unwrap()], Effort::Standard).unwrap();
        assert!(any_needs_gpu(&catalog, &selection));
        let policy = json!({
            "time": 0.05, "must-see": 0.4,
            "limit": [{"benchmark": "sort/*/own", "metric": "wall-time", "threshold": 0.2, "must-see": 0.3}]
        });
        let policy: GatePolicy = serde_json::from_value(policy).unwrap();
        let terms = |adapter| -> Vec<(f64, f64)> {
            let cases = pairs(&catalog, &selection, &selection, 1, Judging { policy: &policy, adapter });
            let terms = cases.iter().filter_map(|case| case.design.terms);
            terms.map(|terms| (terms.threshold, terms.must_see)).collect()
        };
        let of = |threshold: f64, must_see: f64| (threshold.ln_1p(), must_see.ln_1p());
        let (default, own) = (of(0.05, 0.4), of(0.2, 0.3));
        // What is kept slow on purpose is measured for its counts.
        assert_eq!(terms(Adapter::Software), [default, own, of(0.5, 0.4)]);
        assert_eq!(terms(Adapter::Hardware), [default, own, default]);
        let launches = |adapter| -> Vec<Option<LookPlan>> {
            let cases = pairs(&catalog, &selection, &selection, 1, Judging { policy: &policy, adapter });
            cases.iter().map(|case| case.design.looks).collect()
        };
        let fixed = |launches| Some(LookPlan::Fixed { launches });
        assert_eq!(launches(Adapter::Software), [fixed(2), None, None, fixed(8)]);
        assert_eq!(launches(Adapter::Hardware), [fixed(2), None, None, None]);
    }
}
