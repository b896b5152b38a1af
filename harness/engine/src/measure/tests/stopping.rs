//! End of a case, and allocation of its launches.

use perfharness_verdict::SEQUENTIAL_LOOKS;

use super::*;

/// Launches of the last look.
const LAST: usize = SEQUENTIAL_LOOKS[SEQUENTIAL_LOOKS.len() - 1].launches;

/// Creates two sides whose launches differ by this much.
fn noisy(share: f64) -> [Script; 2] {
    let script = |side: u32| Script::new(move |m| MS * (1.0 + share * noise((side, m.launch))));
    [script(0), script(1)]
}

#[test]
fn a_fixed_design_has_exactly_its_launches() {
    let scenario = Scenario::of([Script::steady(MS), Script::steady(MS)]).run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    assert_eq!((scenario.times_launched(0), scenario.times_launched(1)), (8, 8));
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok; 2]);
}

#[test]
fn precise_data_end_a_sequential_design_at_the_first_look() {
    let scenario = Scenario::of(noisy(0.0)).sequential().run();
    assert_eq!(scenario.end(), Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[0].launches }));
}

#[test]
fn less_precise_data_end_it_at_the_second_look() {
    let scenario = Scenario::of(noisy(0.02)).sequential().run();
    assert_eq!(scenario.end(), Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[1].launches }));
}

#[test]
fn noisy_data_end_it_at_the_last_look() {
    let scenario = Scenario::of(noisy(0.2)).sequential().run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: LAST }));
    assert_eq!(scenario.times_launched(0), LAST);
}

#[test]
fn without_a_comparison_the_precision_of_the_level_decides() {
    let [alone, _] = noisy(0.0);
    assert_eq!(
        Scenario::of([alone]).sequential().run().end(),
        Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[0].launches })
    );
    let [alone, _] = noisy(0.2);
    assert_eq!(Scenario::of([alone]).sequential().run().end(), Some(CaseEnd::LastLook { launches: LAST }));
}

#[test]
fn the_least_precise_of_several_comparisons_decides() {
    let [reference, _] = noisy(0.0);
    let [same, _] = noisy(0.0);
    let [_, restless] = noisy(0.2);
    let scenario = Scenario::of([reference, same, restless]).sequential().run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: LAST }));
}

#[test]
fn plenty_of_time_and_restless_placements_give_more_placements() {
    let restless = |side: u32| Script::new(move |m| MS * (1.0 + 0.1 * noise((side, m.launch, m.placement))));
    // Starting a process is expensive, so that more placements in each are worth their time.
    let sides = [0, 1].map(|side| restless(side).costs(500_000_000, 1_000_000));
    let scenario = Scenario::of(sides).run();
    let allocations = allocations(&scenario);
    assert_eq!(allocations[..2], [(4, 2), (4, 2)]);
    assert!(allocations[2..].iter().all(|(placements, _)| (5..=8).contains(placements)), "{allocations:?}");
}

#[test]
fn a_tight_budget_makes_launches_smaller_and_keeps_their_number() {
    let sides = || [Script::steady(30.0 * MS), Script::steady(30.0 * MS)];
    let free = Scenario::of(sides()).run();
    let spent = free.state.spent_ns();
    let budget = Duration::from_nanos(spent * 6 / 10);
    let scenario = Scenario::of(sides()).budget(budget).run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    let allocations = allocations(&scenario);
    assert_eq!(allocations[0], (4, 2));
    // What is left at the end is the last one's.
    assert!(allocations[1..7].iter().all(|(placements, blocks)| (2..8).contains(&(placements * blocks))));
    assert!(scenario.state.spent_ns() <= budget.as_nanos() as u64);
}

#[test]
fn a_budget_that_does_not_last_for_all_launches_ends_it_between_looks() {
    let sides = [Script::steady(30.0 * MS), Script::steady(30.0 * MS)];
    let budget = Duration::from_secs(3);
    let scenario = Scenario::of(sides).budget(budget).run();
    let Some(CaseEnd::Budget { launches }) = scenario.end() else { panic!("{:?}", scenario.end()) };
    assert!((2..8).contains(&launches), "{launches}");
    assert_eq!(allocations(&scenario).last(), Some(&(1, 2)), "no launch rests on a single block");
    assert!(scenario.state.spent_ns() <= budget.as_nanos() as u64);
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok; 2]);
}

#[test]
fn the_first_launch_takes_no_more_than_its_share_of_the_budget() {
    // The full allocation would take 13 seconds and leave too little for the others.
    let sides = [Script::steady(300.0 * MS), Script::steady(300.0 * MS)];
    let scenario = Scenario::of(sides).budget(Duration::from_secs(40)).run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
}

#[test]
fn one_launch_with_a_block_is_made_whatever_the_budget() {
    for budget in [0, 1, 1_000] {
        let sides = [Script::steady(3000.0 * MS), Script::steady(3000.0 * MS)];
        let scenario = Scenario::of(sides).budget(Duration::from_nanos(budget)).run();
        assert_eq!(scenario.end(), Some(CaseEnd::Budget { launches: 1 }));
        assert_eq!(scenario.case().blocks, 1);
        assert_eq!((scenario.counted(0).len(), scenario.counted(1).len()), (2, 2));
        assert_eq!(scenario.kinds(), [OutcomeKind::Ok; 2]);
    }
}

#[test]
fn every_case_gets_a_block_whatever_the_budget() {
    let case = || vec![Script::steady(MS), Script::steady(MS)];
    let scenario = Scenario::cases([case(), case(), case()]).budget(Duration::ZERO).run();
    assert!(scenario.state.cases.iter().all(|case| case.blocks == 1));
}

#[test]
fn what_a_quick_case_leaves_goes_to_later_ones() {
    let budget = Duration::from_secs(20);
    let quick = || vec![Script::steady(MS), Script::steady(MS)];
    let slow = || noisy(0.2).map(|script| script.costs(200_000_000, 50_000_000)).to_vec();
    let scenario = Scenario::cases([quick(), slow(), slow()]).sequential().budget(budget).run();
    let spent: Vec<f64> = scenario.state.cases.iter().map(|case| case.spent_ns() as f64 / 1e9).collect();
    assert_eq!(
        scenario.state.cases[0].end,
        Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[0].launches })
    );
    let shared = (budget.as_secs_f64() - spent[0]) / 2.0;
    assert!(spent[0] < budget.as_secs_f64() / 6.0, "{spent:?}");
    assert!(spent[1..].iter().all(|spent| (0.9 * shared..1.1 * shared).contains(spent)), "{spent:?}");
    assert!(spent.iter().sum::<f64>() <= budget.as_secs_f64(), "{spent:?}");
}

/// Returns the cases of the launches, in order of time, each with the number of its launches in a row.
fn visits(scenario: &Scenario) -> Vec<(usize, usize)> {
    let mut visits: Vec<(usize, usize)> = Vec::new();
    for event in &scenario.events {
        let Event::LaunchStarted { case, .. } = event else { continue };
        match visits.last_mut() {
            Some((last, launches)) if last == case => *launches += 1,
            _ => visits.push((*case, 1)),
        }
    }
    visits
}

fn in_turns() -> Scenario {
    let case = |share| noisy(share).to_vec();
    Scenario::cases([case(0.2), case(0.0), case(0.2)]).sequential()
}

#[test]
fn all_cases_are_looked_at_once_before_any_goes_on() {
    let scenario = in_turns().run();
    let looks: Vec<usize> = SEQUENTIAL_LOOKS.iter().map(|look| look.launches).collect();
    let mut due = vec![(0, looks[0]), (1, looks[0])];
    // The last case of a look is the first of the next one, where it is the only one or the first that is open.
    due.push((2, looks[0]));
    for pair in looks.windows(2) {
        due.extend([(0, pair[1] - pair[0]), (2, pair[1] - pair[0])]);
    }
    assert_eq!(visits(&scenario), due);
    let ended: Vec<usize> = scenario
        .events
        .iter()
        .filter_map(|event| match event {
            Event::CaseFinished { case, .. } => Some(*case),
            _ => None,
        })
        .collect();
    assert_eq!(ended, [1, 0, 2], "a case ends at its look, and not when its turn comes again");
    let begun = scenario.events.iter().filter(|e| matches!(e, Event::CaseStarted { .. })).count();
    assert_eq!(begun, 3);
}

#[test]
fn a_resumed_run_takes_the_same_turns() {
    let whole = in_turns().run();
    let cases = |scenario: &Scenario| visits(scenario).into_iter().map(|(case, _)| case).collect::<Vec<_>>();
    let requests = whole.transcript().iter().filter(|entry| entry.step != Step::Finished).count();
    for tenth in 0..10 {
        let mut stopped = in_turns();
        stopped.executor.interrupt_after(requests * tenth / 10, false);
        assert_eq!(stopped.go(), RunEnd::Interrupted);
        stopped.executor.go_on();
        assert_eq!(cases(&stopped.run()), cases(&whole), "stopped after {tenth} tenths");
    }
}

#[test]
fn the_budget_is_used_while_a_case_is_open() {
    let case = || noisy(0.5).map(|script| script.costs(100_000_000, 10_000_000)).to_vec();
    let steady = || noisy(0.0).to_vec();
    let budget = Duration::from_secs(40);
    let scenario = Scenario::cases([case(), steady(), case(), steady()]).sequential().budget(budget).run();
    let spent = scenario.state.spent_ns() as f64 / budget.as_nanos() as f64;
    let ends: Vec<_> = scenario.state.cases.iter().map(|case| case.end.clone().unwrap()).collect();
    for case in [0, 2] {
        let launches = ends[case].launches().unwrap();
        assert!(
            launches == LAST || ((0.98..=1.0).contains(&spent) && ends[case] == CaseEnd::Budget { launches })
        );
    }
    assert!(ends.iter().skip(1).step_by(2).all(|end| matches!(end, CaseEnd::Precise { .. })), "{ends:?}");
}

#[test]
fn a_case_that_its_share_is_too_short_for_goes_on_once_the_others_have_ended() {
    // A launch of the first case takes over 4 s, and a third of the budget does not last for two.
    let slow = noisy(0.2).map(|script| script.costs(2_000_000_000, 10_000_000)).to_vec();
    let quick = || noisy(0.0).to_vec();
    let scenario =
        Scenario::cases([slow, quick(), quick()]).sequential().budget(Duration::from_secs(14)).run();
    assert_eq!(scenario.end(), Some(CaseEnd::Budget { launches: 2 }));
    let first = SEQUENTIAL_LOOKS[0].launches;
    assert_eq!(visits(&scenario), [(0, 1), (1, first), (2, first), (0, 1)]);
    assert!(
        scenario.state.cases[1..].iter().all(|case| case.end == Some(CaseEnd::Precise { launches: first }))
    );
}

#[test]
fn the_budget_counts_every_part_of_a_launch() {
    // Three parts a launch, because only one side fits in memory.
    let sides = || [0, 1, 2].map(|_| Script::steady(30.0 * MS));
    let free = Scenario::of(sides()).memory(&[40, 40, 40]).run();
    let budget = Duration::from_nanos(free.state.spent_ns() * 6 / 10);
    let scenario = Scenario::of(sides()).memory(&[40, 40, 40]).budget(budget).run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    assert!(scenario.state.spent_ns() <= budget.as_nanos() as u64);
}

#[test]
fn a_case_whose_sides_are_all_skipped_takes_no_time() {
    let skipped = |side: &mut Side| side.skip = Some("it needs a GPU".into());
    let scenario = Scenario::of([Script::steady(MS)]).side(0, skipped).run();
    assert_eq!(scenario.end(), Some(CaseEnd::NothingLeft));
    assert!(scenario.transcript().is_empty());
}

#[test]
fn a_case_that_cannot_run_takes_no_share_of_the_budget() {
    let case = || noisy(0.2).map(|script| script.costs(200_000_000, 50_000_000)).to_vec();
    let mut scenario = Scenario::cases([case(), case()]).sequential().budget(Duration::from_secs(10));
    for side in &mut scenario.plan.cases[1].sides {
        side.skip = Some("it needs a GPU".into());
    }
    let scenario = scenario.run();
    let spent = scenario.state.cases[0].spent_ns() as f64 / 1e9;
    assert!((8.0..=10.0).contains(&spent), "{spent}");
}
