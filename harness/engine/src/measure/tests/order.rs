//! Order of requests, and their inputs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use perfharness_contract::Check;
use perfharness_contract::protocol::CheckReply;
use perfharness_verdict::Lead;

use super::super::mock::right;
use super::*;

fn three_sides() -> Scenario {
    Scenario::of([Script::steady(MS), Script::steady(2.0 * MS), Script::steady(3.0 * MS)])
}

#[test]
fn a_launch_follows_the_protocol() {
    let scenario = Scenario::of([Script::steady(MS)]).launches(1).run();
    let ops = scenario.ops(0, 0);
    // Two checks before timing; four placements of three warm-up batches, one for the later ones, and two blocks. A short
    // sample ends the warm-up of the first.
    let first = "launch prepare check check".to_owned() + &" sample".repeat(3 + 1 + 4);
    let later = " prepare".to_owned() + &" sample".repeat(1 + 4);
    assert_eq!(ops.join(" "), first + &later.repeat(3) + " check sample finish");
}

#[test]
fn two_launches_are_checked_before_timing_and_all_of_them_after() {
    let scenario = Scenario::of([Script::steady(MS), Script::steady(MS)]).run();
    let checks = |launch, when_fresh| {
        let own = scenario.transcript().into_iter().filter(move |e| (e.worker, e.launch) == (1, launch));
        own.filter(|entry| is_check(&entry.step, when_fresh)).count()
    };
    assert_eq!([0, 1, 2, 3, 7].map(|launch| checks(launch, true)), [2, 1, 0, 0, 0]);
    assert!((0..8).all(|launch| checks(launch, false) == 1));
    // Nobody else touched the buffers, so that the warm-up does.
    let first = scenario.transcript().into_iter().filter(|e| (e.worker, e.launch) == (1, 5));
    assert_eq!(first.map(|entry| entry.op()).take(3).collect::<Vec<_>>(), ["launch", "prepare", "sample"]);
}

#[test]
fn a_result_that_gets_wrong_in_a_late_launch_is_found() {
    let launch_of = |round| round / place(1, 0).round(0, 0);
    let wrong = Script::steady(MS).check(move |round, index, _| match launch_of(round) {
        5 => CheckReply { check: Check::wrong("it is late"), ..right(round, index) },
        _ => right(round, index),
    });
    let scenario = Scenario::of([Script::steady(MS), wrong]).run();
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok, OutcomeKind::WrongResult]);
    assert_eq!(scenario.outcome(1).reason.as_deref(), Some("after timing: it is late"));
    assert_eq!(scenario.times_launched(1), 6);
}

#[test]
fn a_block_is_a_round_and_its_reverse() {
    let scenario = three_sides().run();
    let timed = scenario.timed();
    let blocks = blocks(&timed);
    assert_eq!(blocks.len(), 8 * 4 * 2);
    for block in blocks {
        let (first, second) = block.split_at(3);
        assert!(first.iter().all(|s| s.round == first[0].round));
        assert!(second.iter().all(|s| s.round == first[0].round + 1));
        let sides = |round: &[&SampleEvent]| round.iter().map(|s| s.side).collect::<Vec<_>>();
        let positions = |round: &[&SampleEvent]| round.iter().map(|s| s.position).collect::<Vec<_>>();
        assert_eq!(sides(first), sides(second).into_iter().rev().collect::<Vec<_>>());
        assert_eq!(sides(first).into_iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!((positions(first), positions(second)), (vec![0, 1, 2], vec![0, 1, 2]));
    }
}

#[test]
fn samples_are_asked_for_in_the_order_of_the_events() {
    let scenario = three_sides().run();
    let rounds: BTreeSet<u64> = scenario.timed().iter().map(|s| s.round).collect();
    let asked: Vec<(usize, u64)> = scenario
        .transcript()
        .iter()
        .filter_map(|entry| Some((entry.worker, entry.sample()?.round)))
        .filter(|(_, round)| rounds.contains(round))
        .collect();
    let told: Vec<(usize, u64)> = scenario.timed().iter().map(|s| (s.side, s.round)).collect();
    assert_eq!(asked, told);
}

#[test]
fn all_sides_are_given_the_same_rounds_and_no_round_twice() {
    let scenario = three_sides().run();
    let rounds_of =
        |side| scenario.timed().iter().filter(|s| s.side == side).map(|s| s.round).collect::<Vec<_>>();
    let rounds = rounds_of(0);
    assert_eq!((rounds_of(1), rounds_of(2)), (rounds.clone(), rounds.clone()));
    assert_eq!(rounds.iter().collect::<BTreeSet<_>>().len(), rounds.len());
    let asked = scenario.sample_requests(0).len();
    let all: BTreeSet<u64> = scenario.sample_requests(0).iter().map(|s| s.round).collect();
    // Only the metered sample has one round for all launches.
    assert_eq!(all.len(), asked - 3);
}

#[test]
fn every_order_of_three_sides_comes_up() {
    let scenario = three_sides().run();
    let timed = scenario.timed();
    let orders: BTreeSet<Vec<usize>> =
        blocks(&timed).iter().map(|block| block[..3].iter().map(|s| s.side).collect()).collect();
    assert_eq!(orders.len(), 6);
}

#[test]
fn each_side_goes_first_about_as_often() {
    let scenario = three_sides().run();
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for sample in scenario.timed().iter().filter(|s| s.position == 0) {
        *first.entry(sample.side).or_default() += 1;
    }
    // 64 blocks, two rounds each: 42.7 of 128 each, with a standard deviation of about 5.
    assert!(first.values().all(|count| (22..=64).contains(count)), "{first:?}");
}

#[test]
fn workers_are_started_in_changing_orders() {
    let scenario = three_sides().run();
    let mut starts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for entry in scenario.transcript().iter().filter(|e| e.step == Step::Launched) {
        starts.entry(entry.launch).or_default().push(entry.worker);
    }
    assert_eq!(starts.len(), 8);
    assert!(starts.into_values().collect::<BTreeSet<_>>().len() > 2);
}

/// Returns the workers of the requests that `is_wanted` selects, by launch.
fn turns(scenario: &Scenario, is_wanted: impl Fn(&Step) -> bool) -> Vec<Vec<usize>> {
    let mut turns: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for entry in scenario.transcript().iter().filter(|entry| is_wanted(&entry.step)) {
        turns.entry(entry.launch).or_default().push(entry.worker);
    }
    turns.into_values().collect()
}

#[test]
fn every_second_launch_does_everything_in_reverse() {
    let scenario = three_sides().run();
    let is_metered = |step: &Step| matches!(step, Step::Asked(Request::Sample(s)) if s.mode == Mode::Metered);
    let placed = |step: &Step, wanted: u32| matches!(step, Step::Asked(Request::Prepare { placement, .. }) if *placement == wanted);
    let wanted: [&dyn Fn(&Step) -> bool; 8] = [
        &|step| *step == Step::Launched,
        &|step| placed(step, 0),
        &|step| placed(step, 1),
        &|step| placed(step, 2),
        &|step| placed(step, 3),
        &|step| is_check(step, false),
        &is_metered,
        &|step| *step == Step::Finished,
    ];
    for (number, is_wanted) in wanted.into_iter().enumerate() {
        let turns = turns(&scenario, is_wanted);
        // Four launches are metered.
        let launches = if number == 6 { 4 } else { 8 };
        assert_eq!((turns.len(), turns[0].len()), (launches, 3), "step {number}");
        for pair in turns.chunks(2) {
            let reverse: Vec<usize> = pair[1].iter().rev().copied().collect();
            assert_eq!(pair[0], reverse, "step {number}");
        }
    }
    for block in blocks(&scenario.timed()) {
        let s = block[0];
        let sides = |placement: PlacementRounds, block| {
            let at = scenario.timed().into_iter().filter(move |s| s.round == placement.round(block, 0));
            at.map(|s| s.side).collect::<Vec<_>>()
        };
        let here = sides(place(s.launch, s.placement), s.block);
        let reverse: Vec<usize> = here.iter().rev().copied().collect();
        assert_eq!(here.len(), 3);
        assert_eq!(sides(place(s.launch ^ 1, s.placement), s.block), reverse);
        assert_eq!(sides(place(s.launch, s.placement ^ 1), s.block), reverse);
        assert_eq!(sides(place(s.launch, s.placement), s.block ^ 1), reverse);
    }
}

#[test]
fn a_side_that_fails_does_not_change_the_order_of_the_others() {
    let fails = Script::steady(MS).failing(Fault::Ends(OutcomeKind::Crashed), |launch, _| launch == 1);
    let scenario = Scenario::of([Script::steady(MS), fails, Script::steady(MS)]).run();
    let starts: Vec<Vec<usize>> = turns(&scenario, |step| *step == Step::Launched)
        .into_iter()
        .map(|launch| launch.into_iter().filter(|worker| *worker != 1).collect())
        .collect();
    assert!(starts.chunks(2).all(|pair| pair[0][0] == pair[1][1] && pair[0].len() == 2), "{starts:?}");
}

#[test]
fn launches_of_one_placement_change_places_only_between_launches() {
    // So tight a budget leaves one placement and one block.
    let sides = [Script::steady(30.0 * MS), Script::steady(30.0 * MS)];
    let scenario = Scenario::of(sides).budget(Duration::from_secs(5)).run();
    let allocations = allocations(&scenario);
    assert!(
        allocations.iter().all(|(placements, _)| *placements == 1 || placements % 2 == 0),
        "{allocations:?}"
    );
    let starts = turns(&scenario, |step| *step == Step::Launched);
    assert!(starts.chunks_exact(2).all(|pair| pair[0][0] == pair[1][1]), "{starts:?}");
}

#[test]
fn a_launch_says_who_came_first() {
    let scenario = three_sides().run();
    let starts = turns(&scenario, |step| *step == Step::Launched);
    for (candidate, reference) in [(1, 0), (2, 0), (0, 2)] {
        let paired = scenario.case().paired(candidate, reference);
        let leads: Vec<Lead> = paired.launches.iter().map(|launch| launch.lead).collect();
        let due = |order: &Vec<usize>| match order.iter().find(|side| [candidate, reference].contains(*side))
        {
            Some(first) if *first == candidate => Lead::Candidate,
            _ => Lead::Reference,
        };
        assert_eq!(leads, starts.iter().map(due).collect::<Vec<_>>());
        assert_eq!(leads.iter().filter(|lead| **lead == Lead::Candidate).count(), 4);
    }
}

#[test]
fn sides_that_take_turns_have_no_lead_and_those_in_several_parts_that_of_the_shared_one() {
    let turns = three_sides().memory(&[40, 40, 40]).run();
    assert!(turns.case().paired(1, 0).launches.iter().all(|launch| launch.lead == Lead::Unknown));
    let pairwise = three_sides().memory(&[10, 20, 30]).run();
    for candidate in [1, 2] {
        let launches = pairwise.case().paired(candidate, 0).launches;
        let leads = |lead| launches.iter().filter(|launch| launch.lead == lead).count();
        assert_eq!((leads(Lead::Candidate), leads(Lead::Reference)), (4, 4));
    }
}

#[test]
fn a_side_that_is_slower_when_it_comes_first_is_not_slower_in_the_estimate() {
    let leads: Rc<RefCell<BTreeMap<u32, usize>>> = Rc::default();
    let script = |side: usize| {
        let leads = Rc::clone(&leads);
        Script::new(move |m| {
            let first = *leads.borrow_mut().entry(m.launch).or_insert(side);
            if first == side { 1.5 * MS } else { MS }
        })
    };
    let scenario = Scenario::of([script(0), script(1)]).run();
    let values = perfharness_verdict::launch_values(&scenario.case().paired(1, 0)).unwrap();
    assert!(values.iter().all(|value| (value.abs() - 1.5_f64.ln()).abs() < 1e-9), "{values:?}");
    assert!(scenario.estimate(1, 0).theta.abs() < 1e-12);
}

#[test]
fn one_seed_always_asks_the_same() {
    assert_eq!(three_sides().seed(7).run().transcript(), three_sides().seed(7).run().transcript());
}

#[test]
fn another_seed_draws_other_orders() {
    let order = |seed| three_sides().seed(seed).run().timed().iter().map(|s| s.side).collect::<Vec<_>>();
    assert_ne!(order(7), order(8));
}

#[test]
fn cases_draw_orders_of_their_own() {
    let sides = || vec![Script::steady(MS), Script::steady(MS), Script::steady(MS)];
    let scenario = Scenario::cases([sides(), sides()]).run();
    let order = |case| scenario.timed().iter().filter(|s| s.case == case).map(|s| s.side).collect::<Vec<_>>();
    assert_ne!(order(0), order(1));
}

#[test]
fn samples_are_placed_on_the_clock_of_the_harness() {
    let starts: Rc<RefCell<BTreeSet<u64>>> = Rc::default();
    let noting = || {
        let starts = Rc::clone(&starts);
        Script::new(move |m| {
            starts.borrow_mut().insert(m.now_ns as u64);
            MS
        })
    };
    let scenario = Scenario::of([noting(), noting()]).launches(1).run();
    let told: Vec<u64> = scenario.timed().iter().map(|s| s.start_ns.unwrap()).collect();
    assert!(told.is_sorted());
    assert!(told.iter().all(|start| starts.borrow().contains(start)));
}
