//! Runs that are interrupted and resumed.

use std::collections::BTreeSet;

use perfharness_contract::Number;
use perfharness_record::{Contamination, Pairing, RunEnd};
use perfharness_verdict::SEQUENTIAL_LOOKS;
use rstest::rstest;

use super::*;

/// Returns an event as a journal reads it back.
fn through_the_journal(event: &Event) -> Event {
    let line = serde_json::to_string(event).unwrap();
    assert!(!line.contains('\n'));
    serde_json::from_str(&line).unwrap()
}

fn replayed(scenario: &Scenario, events: &[Event]) -> RunState {
    let mut state = RunState::new(scenario.plan.cases.iter().map(|case| case.sides.len()));
    for event in events {
        state.apply(event);
    }
    state
}

/// Returns launch, part, placement, block, round and side of all samples that were kept.
type Key = (usize, u32, u32, u32, u32, u64, usize);

fn kept(state: &RunState) -> Vec<Key> {
    let key = |s: &SampleEvent| (s.case, s.launch, s.part, s.placement, s.block, s.round, s.side);
    state.cases.iter().flat_map(|case| &case.samples).map(|row| key(&row.sample)).collect()
}

fn is_unique(keys: &[Key]) -> bool {
    keys.iter().collect::<BTreeSet<_>>().len() == keys.len()
}

fn together() -> Scenario {
    Scenario::of([Script::steady(MS), Script::steady(2.0 * MS)]).launches(3)
}

fn pairwise() -> Scenario {
    Scenario::of([Script::steady(MS), Script::steady(2.0 * MS), Script::steady(3.0 * MS)])
        .memory(&[10, 20, 30])
        .launches(2)
}

fn alternating() -> Scenario {
    Scenario::of([Script::steady(MS), Script::steady(2.0 * MS)]).memory(&[40, 40]).launches(3)
}

fn failing() -> Scenario {
    let breaks = |kind, placement, block| {
        let wanted =
            move |step: &Step| (0..9).any(|launch| is_sample(step, place(launch, placement), block, 0));
        Script::steady(MS).failing(Fault::Ends(kind), move |_, step| wanted(step))
    };
    let sides =
        vec![Script::steady(MS), breaks(OutcomeKind::Crashed, 1, 0), breaks(OutcomeKind::TimedOut, 0, 1)];
    Scenario::cases([sides, vec![Script::steady(MS)]]).launches(2)
}

#[rstest]
#[case::together(together)]
#[case::pairwise(pairwise)]
#[case::alternating(alternating)]
#[case::failing(failing)]
fn a_run_that_is_stopped_anywhere_goes_on_where_it_was(#[case] scenario: fn() -> Scenario) {
    let whole = scenario().run();
    let planned = whole.plan.design.looks().max_launches();
    let per_block = whole.plan.cases.iter().map(|case| case.sides.len() * 2).max().unwrap();
    for requests in 0.. {
        let mut stopped = scenario();
        stopped.executor.interrupt_after(requests, false);
        if stopped.go() == RunEnd::Complete {
            assert!(requests > 100, "the loop saw the whole run");
            break;
        }
        assert_eq!(replayed(&stopped, &stopped.events), stopped.state);
        let before = kept(&stopped.state);
        let lost = stopped.timed().len() - before.len();
        assert!(lost < per_block, "{lost} samples are lost at request {requests}");

        stopped.executor.go_on();
        let resumed = stopped.run();
        let after = kept(&resumed.state);
        assert_eq!(after[..before.len()], before, "what was measured stays");
        assert!(is_unique(&after), "a block is measured again after request {requests}");
        for (case, as_whole) in resumed.state.cases.iter().zip(&whole.state.cases) {
            assert_eq!(case.end, as_whole.end);
            let mut launches = BTreeSet::new();
            for (side, state) in case.sides.iter().enumerate() {
                assert_eq!(state.outcome, as_whole.sides[side].outcome);
                if state.outcome == Some(Outcome::ok()) {
                    launches.insert(case.levels(side, |s| Some(s.iteration_ns())).len());
                }
            }
            // If parts take turns, the interrupted launch may contain some sides only, which have one launch more.
            let parts = usize::from(case.pairing != Some(Pairing::Together));
            assert_eq!(launches.first(), Some(&planned));
            assert!(launches.last() <= Some(&(planned + parts)));
            assert!(case.launches.len() <= as_whole.launches.len() + 1);
        }
    }
}

#[test]
fn a_harness_that_is_killed_between_any_two_events_goes_on_from_its_journal() {
    let whole = together().run();
    let journal: Vec<Event> = whole.events.iter().map(through_the_journal).collect();
    for length in 0..journal.len() {
        let mut resumed = together();
        resumed.state = replayed(&whole, &journal[..length]);
        let before = kept(&resumed.state);
        let resumed = resumed.run();
        assert_eq!(resumed.end(), whole.end(), "killed after event {length}");
        assert_eq!(resumed.kinds(), whole.kinds());
        let after = kept(&resumed.state);
        assert_eq!(after[..before.len()], before);
        assert!(is_unique(&after));
        assert!(resumed.launches_of(0) <= 4);
    }
}

#[test]
fn a_precise_case_stays_ended_however_its_journal_ends() {
    let whole = together().sequential().run();
    assert_eq!(whole.end(), Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[0].launches }));
    let decided = whole.events.iter().position(|e| matches!(e, Event::OutcomeSet { .. })).unwrap();
    for length in decided..=whole.events.len() {
        let mut resumed = together().sequential();
        resumed.state = replayed(&whole, &whole.events[..length]);
        let resumed = resumed.run();
        assert!(resumed.transcript().is_empty());
        assert_eq!((resumed.end(), resumed.kinds()), (whole.end(), whole.kinds()));
    }
}

#[test]
fn a_run_may_be_stopped_again_and_again() {
    let mut scenario = together().launches(8);
    let mut stops = 0;
    loop {
        scenario.executor.interrupt_after(100, false);
        if scenario.go() == RunEnd::Complete {
            break;
        }
        stops += 1;
        assert!(stops < 50, "it gets no further");
    }
    assert!(stops > 3, "{stops}");
    assert!(is_unique(&kept(&scenario.state)));
    assert_eq!(replayed(&scenario, &scenario.events), scenario.state);
    assert_eq!(scenario.launches_of(0), 8);
}

#[test]
fn samples_of_a_launch_that_was_cut_off_count_as_time_spent() {
    let mut scenario = together();
    scenario.executor.interrupt_after(60, false);
    assert_eq!(scenario.go(), RunEnd::Interrupted);
    let kept: u64 = scenario.case().samples.iter().map(|row| row.sample.wall_ns).sum();
    assert!(kept > 0);
    assert_eq!(scenario.state.spent_ns(), kept);
}

#[test]
fn a_run_that_goes_on_is_not_tuned_again() {
    let mut scenario = together();
    scenario.executor.interrupt_after(60, false);
    assert_eq!(scenario.go(), RunEnd::Interrupted);
    scenario.executor.go_on();
    let scenario = scenario.run();
    let tuned = scenario.events.iter().filter(|e| matches!(e, Event::Tuned { .. })).count();
    assert_eq!(tuned, 2);
}

#[test]
fn a_complete_run_is_not_measured_again() {
    let mut scenario = together().run();
    let (asked, events) = (scenario.transcript().len(), scenario.events.len());
    assert_eq!(scenario.go(), RunEnd::Complete);
    assert_eq!((scenario.transcript().len(), scenario.events.len()), (asked, events));
}

#[test]
fn a_stop_during_a_request_that_is_answered_comes_before_the_next_one() {
    for requests in 0..100 {
        let mut stopped = together();
        stopped.executor.interrupt_after(requests, true);
        assert_eq!(stopped.go(), RunEnd::Interrupted);
        let asked = stopped.transcript().iter().filter(|e| e.step != Step::Finished).count();
        assert_eq!(asked, requests + 1);
    }
}

/// Stops a run before the first request of a kind, and resumes it.
fn cut_off_before(wanted: impl Fn(&Entry) -> bool, scenario: fn() -> Scenario) -> Scenario {
    let whole = scenario().run().transcript();
    let requests = whole.iter().position(wanted).unwrap();
    let mut scenario = scenario();
    scenario.executor.interrupt_after(requests, false);
    assert_eq!(scenario.go(), RunEnd::Interrupted);
    scenario.executor.go_on();
    scenario.run()
}

fn expensive() -> Scenario {
    Scenario::of([Script::steady(150.0 * MS), Script::steady(200.0 * MS)]).launches(3)
}

#[test]
fn long_iterations_are_metered_in_two_launches_though_the_first_was_cut_off() {
    let is_metered = |entry: &Entry| entry.sample().is_some_and(|s| s.mode == Mode::Metered);
    let scenario = cut_off_before(is_metered, expensive);
    for side in &scenario.case().sides {
        let launches: Vec<u32> = side.metered.iter().map(|row| row.launch).collect();
        assert_eq!(launches, [1, 2]);
    }
}

#[test]
fn each_side_is_checked_twice_in_one_process_though_the_first_was_cut_off() {
    let scenario = cut_off_before(|entry| is_check(&entry.step, true), expensive);
    for side in &scenario.case().sides {
        let second = side.checks.iter().filter(|row| row.stage == CheckStage::Before && row.index == 1);
        assert_eq!(second.count(), 1);
    }
}

#[test]
fn nothing_is_concluded_before_a_launch_was_checked_after_timing() {
    let scenario = cut_off_before(|entry| is_check(&entry.step, false), || together().launches(1));
    assert_eq!(scenario.launches_of(0), 2, "the launch that was cut off had all its blocks");
    for side in &scenario.case().sides {
        assert_eq!(side.checks.iter().filter(|row| row.stage == CheckStage::After).count(), 1);
    }
}

#[test]
fn every_kind_of_event_survives_the_journal() {
    let steals = place(1, 0).round(0, 0);
    let disturbed = Script::new(|m| MS * (1.0 + 0.1 * noise((m.launch, m.round))))
        .disturbed(move |m| (m.round == steals).then_some(Contamination::Throttle))
        .cpu_share(0.3)
        .metered(|_| {
            let absent = Reading::Absent { absent: "no \"counter\"\nhere".into() };
            let of = |id: &str, reading| (id.to_owned(), reading);
            [
                of("none", absent),
                of("nan", Reading::Value(Number(f64::INFINITY))),
                of("third", Reading::Value(Number(1.0 / 3.0))),
            ]
            .into()
        });
    let skip = |side: &mut Side| side.skip = Some("it is skipped".into());
    let breaks = Script::steady(MS)
        .failing(Fault::Ends(OutcomeKind::Crashed), |_, step| is_sample(step, place(2, 1), 0, 1));
    let scenario = Scenario::of([disturbed, breaks, Script::steady(MS)]).side(2, skip).run();
    let journal: Vec<Event> = scenario.events.iter().map(through_the_journal).collect();
    assert_eq!(journal, scenario.events);
    assert_eq!(replayed(&scenario, &journal), scenario.state);
    let mut kinds = BTreeSet::new();
    for event in &scenario.events {
        let value = serde_json::to_value(event).unwrap();
        kinds.insert(value["event"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}
