//! Layouts: a comparison of all of them, and launches in the fast ones.

use std::collections::BTreeSet;

use perfharness_record::{ComparedLayouts, Stage};

use super::*;
use crate::measure::compared;
use crate::plan::MOST_LAYOUT_LAUNCHES;

const LAYOUTS: u32 = 4;

/// A worker that is slower by a fifth in some layouts.
fn slow_in(layouts: &'static [u32], work: f64) -> Script {
    Script::new(move |moment| {
        let jitter = 1.0 + 1e-3 * f64::from((moment.launch * 7 + moment.layout * 3) % 5);
        MS * work * jitter * if layouts.contains(&moment.layout) { 1.2 } else { 1.0 }
    })
}

/// A pair behind a comparison of its layouts; the base is the first.
fn with_layouts(base: Script, head: Script) -> Scenario {
    let mut scenario = Scenario::of([base, head]).versions().launches(8);
    let pair = scenario.plan.cases[0].clone();
    let in_each = |side: &Side| {
        let side = Side { reference: None, ..side.clone() };
        (0..LAYOUTS).map(move |layout| Side { layout: Some(layout), ..side.clone() })
    };
    let design = CaseDesign {
        looks: Some(LookPlan::Fixed { launches: MOST_LAYOUT_LAUNCHES }),
        stage: Stage::Layouts,
        ..CaseDesign::default()
    };
    let sides = pair.sides.iter().flat_map(in_each).collect();
    scenario.plan.cases.insert(0, CasePlan { sides, design, ..pair });
    scenario.state = RunState::new(scenario.plan.cases.iter().map(|case| case.sides.len()));
    scenario
}

fn found(scenario: &Scenario) -> ComparedLayouts {
    compared(&scenario.plan.cases[0], &scenario.state.cases[0])
}

/// Returns the layouts of base and head in each launch of the pair.
fn used(scenario: &Scenario) -> Vec<[u32; 2]> {
    scenario.state.cases[1].launches.iter().map(|row| [row.layouts[&0], row.layouts[&1]]).collect()
}

#[test]
fn launches_are_spread_over_the_fast_layouts_of_each_side() {
    let scenario = with_layouts(slow_in(&[0], 1.0), slow_in(&[0, 1, 3], 1.0)).run();
    let found = found(&scenario);
    assert_eq!((found.launches, found.base.kept, found.head.kept), (3, vec![1, 2, 3], vec![2]));
    assert!((found.base.spread - 1.2_f64.ln()).abs() < 0.01, "{}", found.base.spread);
    assert_eq!(found.base.ns.iter().flatten().count(), LAYOUTS as usize);
    // Two launches of opposite orders share a layout.
    assert_eq!(used(&scenario), [[1, 2], [1, 2], [2, 2], [2, 2], [3, 2], [3, 2], [1, 2], [1, 2]]);
    // The programs as built differ by nothing, and one layout of each by a fifth; the fast ones are the same.
    let effect = estimate(&scenario.state.cases[1].paired(1, 0), 0.99).unwrap().theta;
    assert!(effect.abs() < 0.01, "{effect}");
}

#[test]
fn the_comparison_comes_first_and_is_short() {
    let scenario = with_layouts(slow_in(&[], 1.0), slow_in(&[], 1.05)).run();
    let cases: Vec<usize> = scenario.timed().iter().map(|sample| sample.case).collect();
    assert!(cases.is_sorted() && cases.contains(&1));
    let of_comparison: Vec<(u32, u32)> = allocations(&scenario).into_iter().take(3).collect();
    assert_eq!(of_comparison, [(1, 3); 3]);
    assert!(scenario.metered().iter().all(|sample| sample.case == 1));
    let launches: BTreeSet<u32> = scenario.state.cases[0].launches.iter().map(|row| row.launch).collect();
    assert!(launches.iter().all(|launch| *launch >= Stage::Layouts.first_launch()));
    // What all layouts of the head need more is work.
    let found = found(&scenario);
    assert_eq!((found.explained, found.base.spread, found.head.spread), (0.0, 0.0, 0.0));
    assert_eq!(found.head.kept, [0, 1, 2, 3]);
}

#[test]
fn a_side_that_drew_only_slow_layouts_is_explained_by_the_other() {
    let scenario = with_layouts(slow_in(&[1, 2], 1.0), slow_in(&[0, 1, 2, 3], 1.0)).run();
    let found = found(&scenario);
    assert!(found.explained >= 1.2_f64.ln() && found.explained < 0.25, "{}", found.explained);
    assert_eq!(found.launches, MOST_LAYOUT_LAUNCHES, "what excuses a change is looked at longer");
}

#[test]
fn processes_that_are_slow_from_start_to_end_are_no_slow_layouts() {
    // In the first three launches, the slow processes are those of two layouts of the base and of all of the head.
    let slow = |process: u32, slow_layouts: &'static [u32], layout| {
        // Each layout has a process in each launch.
        let launch = process / LAYOUTS;
        if launch < 3 { slow_layouts.contains(&layout) } else { (launch + layout).is_multiple_of(2) }
    };
    let script = |slow_layouts: &'static [u32]| {
        Script::new(move |moment| {
            let jitter = 1.0 + 1e-3 * f64::from((moment.launch * 7 + moment.layout * 3) % 5);
            let is_slow = slow(moment.launch, slow_layouts, moment.layout);
            MS * jitter * if is_slow { 1.2 } else { 1.0 }
        })
    };
    let scenario = with_layouts(script(&[1, 2]), script(&[0, 1, 2, 3])).run();
    let found = found(&scenario);
    assert_eq!((found.explained, found.launches), (0.0, MOST_LAYOUT_LAUNCHES));
}

#[test]
fn a_layout_that_fails_is_left_out() {
    let crashes = slow_in(&[], 1.0).failing(Fault::Ends(OutcomeKind::Crashed), |launch, step| {
        launch == 2 && matches!(step, Step::Asked(Request::Prepare { .. }))
    });
    let scenario = with_layouts(slow_in(&[], 1.0), crashes).run();
    let failed = (0..8).filter(|side| scenario.state.cases[0].sides[*side].outcome.is_some()).count();
    let found = found(&scenario);
    assert_eq!((failed, found.launches, found.base.kept.len(), found.head.kept.len()), (1, 3, 4, 3));
    // It is no outcome of the benchmark.
    assert!(scenario.state.cases[1].sides.iter().all(|side| side.outcome == Some(Outcome::ok())));
}

#[test]
fn without_memory_or_time_for_a_comparison_all_layouts_take_turns() {
    let all = [[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 2], [3, 3], [3, 3]];
    let mut scenario = with_layouts(slow_in(&[0], 1.0), slow_in(&[0], 1.0));
    scenario.executor.total_memory = 100;
    for side in scenario.plan.cases.iter_mut().flat_map(|case| &mut case.sides) {
        side.memory_bytes = Some(10);
    }
    let scenario = scenario.run();
    assert_eq!((found(&scenario).launches, used(&scenario)), (0, all.to_vec()));
    // A comparison ends where it takes more than its share of the time; pairs are measured all the same.
    let scenario =
        with_layouts(slow_in(&[0], 1.0), slow_in(&[0], 1.0)).budget(Duration::from_millis(700)).run();
    assert_eq!(found(&scenario).launches, 1);
    assert!(scenario.state.cases[1].launches.len() >= 2);
}

#[test]
fn a_run_that_is_resumed_takes_the_same_layouts() {
    let scenario = || with_layouts(slow_in(&[0], 1.0), slow_in(&[0, 1, 3], 1.0));
    let whole = scenario().run();
    for requests in (50..).step_by(90) {
        let mut stopped = scenario();
        stopped.executor.interrupt_after(requests, false);
        if stopped.go() == RunEnd::Complete {
            assert!(requests > 300, "{requests}");
            break;
        }
        let mut state = RunState::new([8, 2]);
        stopped.events.iter().for_each(|event| state.apply(event));
        assert_eq!(state, stopped.state);
        let mut resumed = scenario();
        resumed.state = state;
        let resumed = resumed.run();
        assert_eq!(found(&resumed).head.kept, found(&whole).head.kept, "after {requests} requests");
        let layouts = |scenario: &Scenario| -> BTreeSet<[u32; 2]> { used(scenario).into_iter().collect() };
        assert_eq!(layouts(&resumed), layouts(&whole), "after {requests} requests");
    }
}
