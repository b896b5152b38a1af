//! Layouts: what their comparison shows, and which one a launch takes.

use std::collections::BTreeMap;

use perfharness_contract::{Number, OutcomeKind};
use perfharness_record::{ComparedLayouts, Origin, SideLayouts, Stage};
use perfharness_verdict::{Allocation, LayoutChoice, judge_layouts};

use super::state::{CaseState, RunState, SampleRow};
use crate::plan::{CasePlan, Plan};

/// What a launch of the comparison consists of: little, because it has many sides.
pub(super) const ALLOCATION: Allocation = Allocation { placements: 1, blocks: 3 };
/// Share of the time of a run that the comparisons may take; those that are left then are given up.
pub(super) const BUDGET_SHARE: f64 = 0.3;

/// Returns the layout of a side in a launch.
///
/// Two launches in a row share it, because the order of the second is the reverse of that of the first.
pub(super) fn layout_of(
    plan: &Plan,
    state: &RunState,
    case_plan: &CasePlan,
    side: usize,
    launch: u32,
) -> u32 {
    let side = &case_plan.sides[side];
    if let Some(layout) = side.layout {
        return layout;
    }
    let Some(compared) =
        plan.layouts_of(&side.benchmark).map(|case| compared(&plan.cases[case], &state.cases[case]))
    else {
        return 0;
    };
    let kept = match side.origin {
        // Both sides of a planted case are the judged code.
        Origin::Base if case_plan.design.stage != Stage::Planted => compared.base.kept,
        Origin::Base | Origin::Head => compared.head.kept,
    };
    let pair = (launch - case_plan.design.stage.first_launch()) as usize / 2;
    kept.get(pair % kept.len().max(1)).copied().unwrap_or(0)
}

/// Returns the log-ratio between the builds of a benchmark up to which layout explains a change. `None` if its layouts are
/// not compared.
pub(super) fn explained(plan: &Plan, state: &RunState, case_plan: &CasePlan) -> Option<f64> {
    let case = case_plan.sides.first().and_then(|side| plan.layouts_of(&side.benchmark))?;
    Some(compared(&plan.cases[case], &state.cases[case]).explained)
}

/// Returns the findings of a case that compares layouts. Without any launch, all layouts are kept.
pub fn compared(case_plan: &CasePlan, case: &CaseState) -> ComparedLayouts {
    let levels = levels(case);
    let launches = levels.values().map(BTreeMap::len).max().unwrap_or(0) as u32;
    let is_of = |origin: Origin| move |(_, side): &(usize, &perfharness_record::Side)| side.origin == origin;
    let rows = |origin: Origin| -> Vec<Vec<f64>> {
        let sides = case_plan.sides.iter().enumerate().filter(is_of(origin));
        let row = |side| levels.get(&side).map(|by_launch| by_launch.values().copied().collect());
        sides.map(|(side, _)| row(side).unwrap_or_default()).collect()
    };
    let (base, head) = (rows(Origin::Base), rows(Origin::Head));
    let judged = judge_layouts([&base, &head]);
    let fastest = |row: &[f64]| row.iter().copied().reduce(f64::min);
    let [of_base, of_head] = judged.choices;
    let side = |rows: &[Vec<f64>], choice: LayoutChoice| {
        // A layout that fails is left to the pair, if all do.
        let all = || (0..rows.len()).collect();
        let kept = if choice.kept.is_empty() { all() } else { choice.kept };
        SideLayouts {
            ns: rows.iter().map(|row| fastest(row).map(|level| Number(level.exp()))).collect(),
            kept: kept.into_iter().map(|number| number as u32).collect(),
            spread: choice.spread,
        }
    };
    ComparedLayouts {
        base: side(&base, of_base),
        head: side(&head, of_head),
        explained: judged.explained,
        launches,
        seconds: case.spent_ns() as f64 / 1e9,
    }
}

/// Returns the log-levels of the sides that did not fail, by launch, from the fastest sample of each: what else the machine
/// does only ever adds time, and the code has the same order in every sample. Launches in which a side has no sample are left
/// out.
fn levels(case: &CaseState) -> BTreeMap<usize, BTreeMap<u32, f64>> {
    let works = |side: &usize| case.sides[*side].outcome.as_ref().is_none_or(|o| o.kind == OutcomeKind::Ok);
    let sides: Vec<usize> = (0..case.sides.len()).filter(works).collect();
    let mut fastest: BTreeMap<u32, BTreeMap<usize, f64>> = BTreeMap::new();
    for SampleRow { sample, .. } in case.samples.iter().filter(|row| works(&row.sample.side)) {
        let level = sample.iteration_ns().max(1e-3).ln();
        let launch = fastest.entry(sample.launch).or_default();
        launch.entry(sample.side).and_modify(|least| *least = least.min(level)).or_insert(level);
    }
    fastest.retain(|_, launch| launch.len() == sides.len());
    let mut by_side: BTreeMap<usize, BTreeMap<u32, f64>> = BTreeMap::new();
    for (launch, levels) in fastest {
        for (side, level) in levels {
            by_side.entry(side).or_default().insert(launch, level);
        }
    }
    by_side
}
