//! Layouts in which benchmarks were measured, or why in one only.

use perfharness_record::{LayoutFacts, LayoutRecord, Origin, Stage};

use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;

use crate::measure::{RunState, compared};
use crate::plan::{CasePlan, Catalog, Plan, WorkerState, needs_gpu};

/// Returns the layouts of the benchmarks whose times are compared with a base.
pub(super) fn layout_records(
    plan: &Plan,
    catalog: &Catalog,
    state: &RunState,
    workers: &[&WorkerState],
) -> Vec<LayoutRecord> {
    let is_pair = |case: &&CasePlan| {
        case.design.terms.is_some() && case.sides.iter().any(|side| side.origin == Origin::Base)
    };
    let pairs = plan.cases.iter().filter(|case| case.design.stage == Stage::First).filter(is_pair);
    let record = |pair: &CasePlan| {
        let benchmark = pair.sides.first()?.benchmark.clone();
        let layouts = match plan.layouts_of(&benchmark) {
            Some(case) => LayoutFacts::Compared(compared(&plan.cases[case], &state.cases[case])),
            None => LayoutFacts::Absent { absent: reason(plan, pair, catalog, workers) },
        };
        Some(LayoutRecord { benchmark, layouts })
    };
    pairs.filter_map(record).collect()
}

/// Returns the reason why the programs of a pair have one layout, as a clause.
fn reason(plan: &Plan, pair: &CasePlan, catalog: &Catalog, workers: &[&WorkerState]) -> String {
    if needs_gpu(catalog, pair) {
        return "the time is that of a GPU".into();
    }
    if plan.design_of(pair).looks().max_launches() < MIN_LAUNCHES_TO_DECIDE {
        return format!("fewer than {MIN_LAUNCHES_TO_DECIDE} launches judge no time");
    }
    let of = |worker: &WorkerState| worker.command.one_layout.clone();
    let told = pair.sides.iter().find_map(|side| of(workers.get(side.worker)?));
    told.unwrap_or_else(|| "this program did not build both sides".into())
}
