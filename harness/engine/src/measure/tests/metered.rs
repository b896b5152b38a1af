//! Metered samples.

use std::cell::Cell;

use perfharness_record::Pairing;

use super::super::order::METERED_ROUND;
use super::*;

fn metered_launches(scenario: &Scenario, side: usize) -> Vec<u32> {
    scenario.case().sides[side].metered.iter().map(|row| row.launch).collect()
}

fn counting() -> Script {
    Script::steady(MS).metered(|s| readings("writes", 5 * s.iterations))
}

/// Creates a worker whose counts differ between launches.
fn restless(iteration_ns: f64) -> Script {
    let launches = Cell::new(0);
    Script::steady(iteration_ns).metered(move |s| {
        launches.set(launches.get() + 1);
        readings("writes", 5 * s.iterations + launches.get() % 2)
    })
}

#[test]
fn a_launch_ends_with_a_metered_sample_of_each_side_until_four_agree() {
    let scenario = Scenario::of([counting(), restless(MS)]).run();
    assert_eq!(metered_launches(&scenario, 0), [0, 1, 2, 3]);
    assert_eq!(metered_launches(&scenario, 1), (0..8).collect::<Vec<_>>());
    let scenario = Scenario::of([counting(), counting()]).run();
    assert!(scenario.metered().iter().all(|s| s.round == METERED_ROUND && s.iterations == 2));
    assert!(scenario.metered().iter().all(|s| s.placement == 3 && s.readings == readings("writes", 10)));
    // Metered samples come last, on the latest placement.
    let scenario = Scenario::of([counting()]).launches(1).run();
    let requests = scenario.sample_requests(0);
    let last = requests.iter().rfind(|s| s.mode == Mode::Timed).unwrap();
    let metered = requests.last().unwrap();
    assert_eq!((metered.mode, metered.lead_in, metered.handle), (Mode::Metered, 0, last.handle));
}

#[test]
fn the_time_of_metered_samples_counts_for_nothing() {
    let slow_meters = Script::new(|m| if m.round == METERED_ROUND { 1000.0 * MS } else { MS });
    let scenario = Scenario::of([slow_meters, Script::steady(MS)]).run();
    assert_eq!(scenario.estimate(1, 0).theta, 0.0);
    assert_eq!(scenario.counted(0).len(), 128);
}

#[test]
fn long_iterations_are_metered_in_two_launches_only() {
    let scenario = Scenario::of([restless(101.0 * MS), restless(99.0 * MS)]).run();
    assert_eq!(metered_launches(&scenario, 0), [0, 1]);
    assert_eq!(metered_launches(&scenario, 1).len(), 8);
}

#[test]
fn a_worker_without_meters_is_never_asked_for_them() {
    // The mock refuses modes that it does not have.
    let scenario = Scenario::of([Script::steady(MS).modes(&[Mode::Timed]), counting()]).run();
    assert_eq!(metered_launches(&scenario, 0), Vec::<u32>::new());
    assert_eq!(metered_launches(&scenario, 1).len(), 4);
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok; 2]);
}

#[test]
fn a_metered_sample_names_its_placement_in_every_part_of_a_launch() {
    let scenario = Scenario::of([counting(), counting(), counting()]).memory(&[10, 20, 30]).launches(1).run();
    assert_eq!(scenario.case().pairing, Some(Pairing::Pairwise));
    let mut places: Vec<_> = scenario.metered().iter().map(|s| (s.part, s.placement)).collect();
    places.sort_unstable();
    assert_eq!(places, [(0, 3), (0, 3), (1, 3), (1, 3)]);
}
