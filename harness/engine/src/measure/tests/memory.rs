//! Sides and placements that are too big to be alive together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use perfharness_contract::Digest;
use perfharness_contract::protocol::CheckReply;
use perfharness_record::Pairing;
use rstest::rstest;

use super::super::mock::right;
use super::*;

/// Returns the workers that were alive at the same time as another.
fn neighbours(scenario: &Scenario) -> BTreeSet<Vec<usize>> {
    let (mut alive, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for entry in scenario.transcript() {
        if entry.step == Step::Finished {
            alive.remove(&entry.worker);
        } else {
            alive.insert(entry.worker);
            seen.insert(alive.iter().copied().collect());
        }
    }
    seen.retain(|group: &Vec<usize>| group.len() > 1);
    seen
}

fn three(times: [f64; 3]) -> [Script; 3] {
    times.map(Script::steady)
}

#[test]
fn sides_that_fit_are_alive_together() {
    let scenario = Scenario::of(three([MS, MS, MS])).memory(&[10, 20, 20]).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Together));
    assert!(neighbours(&scenario).contains(&vec![0, 1, 2]));
}

/// Everything is ten times as slow while every second process of the side `clocked` is alive; the iterations of side
/// `i` take `times[i]` ms in addition.
fn machine_with_two_speeds(clocked: usize, times: [f64; 3]) -> Vec<Script> {
    let speed = Rc::new(Cell::new(1.0));
    let script = |(side, time): (usize, f64)| {
        let speed = Rc::clone(&speed);
        Script::new(move |m| {
            if side == clocked {
                speed.set(if m.launch % 2 == 0 { 1.0 } else { 10.0 });
            }
            time * speed.get() * MS
        })
    };
    times.into_iter().enumerate().map(script).collect()
}

#[test]
fn the_reference_is_measured_with_each_candidate_where_only_two_fit() {
    let sides = machine_with_two_speeds(0, [1.0, 2.0, 3.0]);
    let scenario = Scenario::of(sides).memory(&[10, 20, 30]).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Pairwise));
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    assert_eq!(neighbours(&scenario), [vec![0, 1], vec![0, 2]].into());
    assert_eq!([0, 1, 2].map(|worker| scenario.times_launched(worker)), [16, 8, 8]);
    for (candidate, ratio) in [(1, 2.0_f64), (2, 3.0)] {
        let found = scenario.estimate(candidate, 0);
        assert!((found.theta - ratio.ln()).abs() < 1e-12, "{found:?}");
        assert_eq!((found.launches, found.rounds, found.empty_placements), (8, 128, 0));
    }
}

#[test]
fn a_candidate_that_is_itself_a_reference_is_compared_where_both_were_alive() {
    let on_the_second = |side: &mut Side| side.reference = Some(1);
    let sides = machine_with_two_speeds(1, [1.0, 2.0, 6.0]);
    let scenario = Scenario::of(sides).memory(&[10, 20, 25]).side(2, on_the_second).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Pairwise));
    assert_eq!(neighbours(&scenario), [vec![0, 1], vec![1, 2]].into());
    for (candidate, reference, ratio) in [(1, 0, 2.0_f64), (2, 1, 3.0)] {
        let found = scenario.estimate(candidate, reference);
        assert!((found.theta - ratio.ln()).abs() < 1e-12, "{found:?}");
        assert_eq!((found.launches, found.rounds, found.empty_placements), (8, 128, 0));
    }
}

#[test]
fn placements_of_different_parts_are_different_placements() {
    let scenario = Scenario::of(three([MS, MS, MS])).memory(&[10, 20, 30]).launches(1).run();
    let placements = |side| scenario.case().levels(side, |s| Some(s.iteration_ns()))[0].len();
    assert_eq!([0, 1, 2].map(placements), [8, 4, 4]);
}

#[test]
fn sides_take_turns_where_no_two_fit() {
    let scenario = Scenario::of(three([MS, 2.0 * MS, 3.0 * MS])).memory(&[10, 30, 45]).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Alternating));
    assert!(neighbours(&scenario).is_empty());
    assert_eq!([0, 1, 2].map(|worker| scenario.times_launched(worker)), [8, 8, 8]);
    for (candidate, ratio) in [(1, 2.0_f64), (2, 3.0)] {
        let paired = scenario.case().paired(candidate, 0);
        assert!(paired.launches.iter().all(|l| l.placements.len() == 1 && l.placements[0].blocks.len() == 1));
        assert_eq!(paired.launches.len(), 8);
        assert!((scenario.estimate(candidate, 0).theta - ratio.ln()).abs() < 1e-12);
    }
}

#[test]
fn sides_that_take_turns_do_so_in_both_orders() {
    let scenario = Scenario::of(three([MS, MS, MS])).memory(&[40, 40, 40]).run();
    let mut orders: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for entry in scenario.transcript().iter().filter(|e| e.step == Step::Launched) {
        orders.entry(entry.launch).or_default().push(entry.worker);
    }
    let orders: Vec<Vec<usize>> = orders.into_values().collect();
    for launches in orders.chunks(2) {
        assert_eq!(launches[0], launches[1].iter().rev().copied().collect::<Vec<_>>());
    }
    assert!(orders.into_iter().collect::<BTreeSet<_>>().len() > 2);
}

#[test]
fn a_drift_does_not_favour_the_side_whose_turn_is_first() {
    let drifting = || Script::new(|m| MS * (m.now_ns / 1e9));
    let scenario = Scenario::of([drifting(), drifting()]).memory(&[40, 40]).run();
    let found = scenario.estimate(1, 0);
    assert!(found.interval.unwrap().contains(0.0), "{found:?}");
}

#[test]
fn sides_that_take_turns_must_see_the_same_input_and_do_the_same_work() {
    let other_input = |round, index, _| {
        let reply: CheckReply = right(round, index);
        CheckReply { check: reply.check.with_input(Digest::of(b"its own")), ..reply }
    };
    let less_work = Script::steady(MS).metered(|_| readings("records", 8));
    let full_work = || Script::steady(MS).metered(|_| readings("records", 10));
    let scenario = Scenario::of([full_work(), full_work().check(other_input), less_work, full_work()])
        .memory(&[40, 40, 40, 40])
        .metric(MetricDef::work("records", "records"))
        .run();
    let (ok, wrong) = (OutcomeKind::Ok, OutcomeKind::WrongResult);
    assert_eq!(scenario.kinds(), [ok, wrong, wrong, ok]);
    assert!(scenario.outcome(1).reason.unwrap().contains("digest of its input differs from that of `slow`"));
    assert!(scenario.outcome(2).reason.unwrap().contains("records 8 against 10"));
    assert_eq!((scenario.times_launched(1), scenario.times_launched(2)), (1, 1));
}

#[test]
fn memory_of_a_side_that_is_skipped_does_not_part_the_others() {
    let too_big = |side: &mut Side| side.skip = Some("it needs 90 bytes".into());
    let scenario = Scenario::of(three([MS, MS, MS])).memory(&[10, 10, 90]).side(2, too_big).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Together));
}

#[test]
fn a_reference_that_failed_beside_one_candidate_is_not_started_for_the_next() {
    let breaks = Script::steady(MS).failing(Fault::Ends(OutcomeKind::Crashed), |launch, step| {
        launch == 0 && is_sample(step, place(0, 1), 0, 1)
    });
    let scenario = Scenario::of([breaks, Script::steady(MS), Script::steady(MS)]).memory(&[10, 20, 30]).run();
    let (ok, crashed) = (OutcomeKind::Ok, OutcomeKind::Crashed);
    assert_eq!(scenario.kinds(), [crashed, ok, ok]);
    assert_eq!([0, 1, 2].map(|worker| scenario.times_launched(worker)), [1, 8, 8]);
    assert_eq!([1, 2].map(|side| scenario.launches_of(side)), [8, 8]);
}

#[test]
fn older_placements_are_held_while_memory_allows() {
    let scenario = Scenario::of([Script::steady(MS).placement_bytes(10)]).memory(&[10]).run();
    assert!(!scenario.ops(0, 0).contains(&"release"));
}

#[test]
fn older_placements_are_let_go_where_the_next_would_not_fit_beside_them() {
    // Two placements at a time would be 44 of the 40 bytes that may be held.
    let big = || Script::steady(MS).placement_bytes(11);
    let scenario = Scenario::of([big(), big()]).memory(&[11, 11]).run();
    for worker in [0, 1] {
        let placing: Vec<&str> =
            scenario.ops(worker, 3).into_iter().filter(|op| ["prepare", "release"].contains(op)).collect();
        assert_eq!(placing.join(" "), "prepare release prepare release prepare release prepare");
    }
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok; 2]);
}

#[rstest]
fn what_was_let_go_is_not_checked(#[values(1, 2, 3)] seed: u64, #[values(1, 11)] placement_bytes: u64) {
    // The second side fails in the first block of the second placement, and the time is over then. Where it goes first,
    // all that the other left is in the first placement, because such long iterations are not warmed up again.
    let slow = || Script::steady(3000.0 * MS).costs(0, 2_000_000_000).placement_bytes(placement_bytes);
    let breaks =
        slow().failing(Fault::Ends(OutcomeKind::Crashed), |_, step| is_sample(step, place(0, 1), 0, 0));
    let budget = Duration::from_secs(47);
    let scenario = Scenario::of([slow(), breaks]).launches(1).budget(budget).seed(seed);
    let scenario = scenario.memory(&[11, 11]).run();
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok, OutcomeKind::Crashed]);
    let let_go = scenario.ops(0, 0).contains(&"release");
    assert_eq!(let_go, placement_bytes == 11);
    let checks = &scenario.case().sides[0].checks;
    assert!(
        let_go || checks.iter().any(|row| row.stage == CheckStage::After),
        "what is still there is checked"
    );
}

#[test]
fn what_a_process_used_is_kept() {
    let scenario = Scenario::of([Script::steady(MS).placement_bytes(50)]).run();
    let side = &scenario.case().sides[0];
    assert_eq!(side.hello.as_ref().unwrap().worker, "mock 0");
    assert_eq!(side.usage.iter().map(|row| row.launch).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert!(side.usage.iter().all(|row| row.peak_rss_bytes == Some(200) && row.cpu_ns == Some(7_000_000)));
}
