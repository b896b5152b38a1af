//! Warming up, and the length of samples.

use std::cell::Cell;

use super::super::plausible::suspicions;
use super::super::{SampleLength, WarmUp};
use rstest::rstest;

use super::*;

fn warm_ups(scenario: &Scenario) -> Vec<(u32, u32, WarmUp)> {
    scenario.case().sides[0].warm_ups.clone()
}

fn length_of_timed(scenario: &Scenario, worker: usize) -> Vec<(u64, u64)> {
    let timed: Vec<u64> = scenario.timed().iter().map(|s| s.round).collect();
    let requests = scenario.sample_requests(worker);
    let mut lengths: Vec<(u64, u64)> =
        requests.iter().filter(|s| timed.contains(&s.round)).map(|s| (s.iterations, s.lead_in)).collect();
    lengths.dedup();
    lengths
}

#[test]
fn samples_have_the_length_that_the_first_warm_up_chose() {
    let scenario = Scenario::of([Script::steady(0.1 * MS), Script::steady(0.2 * MS)]).run();
    for (side, iteration_ns) in [(0, 0.1 * MS), (1, 0.2 * MS)] {
        let SampleLength { iterations, lead_in } = SampleLength::choose(iteration_ns, 3_000_000, Some(1));
        assert!(iterations > 1 && lead_in > 1);
        assert_eq!(length_of_timed(&scenario, side), [(iterations, lead_in)]);
        assert!(scenario.counted(side).iter().all(|s| s.iterations == iterations));
    }
    let tuned = scenario.events.iter().filter(|e| matches!(e, Event::Tuned { .. })).count();
    assert_eq!(tuned, 2);
}

/// Creates a side that is three times as fast from the second process on, so that its first warm-up misleads.
fn slow_at_first() -> Script {
    Script::new(|moment| if moment.launch == 0 { 0.3 * MS } else { 0.1 * MS })
}

#[rstest]
#[case::together(&[0, 0], 10)]
// In parts of its own, each side takes over the length of the one that comes first.
#[case::alternating(&[40, 40], 30)]
fn versions_of_a_benchmark_share_one_length_although_one_warms_up_slower(
    #[case] memory: &[u64],
    #[case] iterations: u64,
) {
    for sides in [[Script::steady(0.1 * MS), slow_at_first()], [slow_at_first(), Script::steady(0.1 * MS)]] {
        let scenario = Scenario::of(sides).versions().memory(memory).seed(2).run();
        let lengths = [0, 1].map(|side| length_of_timed(&scenario, side));
        assert_eq!((lengths[0].len(), &lengths[0]), (1, &lengths[1]));
        assert!([10, iterations].contains(&lengths[0][0].0), "{lengths:?}");
    }
}

#[test]
fn a_version_that_is_far_faster_gets_the_iterations_that_its_clock_needs() {
    // The mock's clock has steps of 1 ns, so that 1,000 of them are 100 iterations of 10 ns.
    let sides = || [Script::steady(0.1 * MS), Script::steady(10.0)];
    let together = Scenario::of(sides()).versions().run();
    assert_eq!([0, 1].map(|side| length_of_timed(&together, side)), [[(100, 10)], [(100, 10)]]);
    // If the slow one has its part first, it only learns of that for the next launch.
    let turns = Scenario::of(sides()).versions().memory(&[40, 40]).run();
    let last = |side| *length_of_timed(&turns, side).last().unwrap();
    assert_eq!(last(0), last(1));
    assert!(last(0).0 >= 100);
}

#[test]
fn the_length_of_samples_stays_when_later_launches_are_slower() {
    let slower = Script::new(|moment| if moment.launch == 0 { 0.1 * MS } else { 0.7 * MS });
    let scenario = Scenario::of([slower]).run();
    assert_eq!(length_of_timed(&scenario, 0), [(30, 10)]);
}

#[test]
fn long_iterations_stand_alone_without_lead_in() {
    let scenario = Scenario::of([Script::steady(60.0 * MS)]).run();
    assert_eq!(length_of_timed(&scenario, 0), [(1, 0)]);
}

#[test]
fn a_slow_first_iteration_is_in_no_block() {
    let compiles = || Script::new(|moment| if moment.count == 0 { 20.0 * MS } else { MS });
    let scenario = Scenario::of([compiles(), compiles()]).run();
    for side in [0, 1] {
        assert_eq!(scenario.counted(side).len(), 8 * 4 * 2 * 2);
        assert!(scenario.counted(side).iter().all(|s| s.iteration_ns() == MS));
    }
    // The check before timing was the first iteration of the first placement; the others had none.
    let later: Vec<WarmUp> =
        warm_ups(&scenario).into_iter().filter(|(_, p, _)| *p > 0).map(|(_, _, w)| w).collect();
    assert_eq!(later.len(), 8 * 3);
    // The batch after it is as fast as those of earlier placements.
    assert!(later.iter().all(|w| w.first_ns == 20.0 * MS && w.best_ns == MS && w.steady && w.batches == 2));
}

#[test]
fn a_slow_first_process_does_not_make_samples_short() {
    // Compiling continues through the check and two more iterations.
    let compiles = Script::new(|moment| if moment.count < 3 { 20.0 * MS } else { 0.1 * MS });
    let scenario = Scenario::of([compiles]).run();
    assert_eq!(length_of_timed(&scenario, 0), [(30, 10)]);
}

#[test]
fn what_keeps_getting_faster_is_given_up_after_so_many_batches() {
    let start = 1e9;
    let faster = Script::new(move |moment| MS * 0.5_f64.powf((moment.now_ns - start) / (10.0 * MS)) + 1.0);
    let scenario = Scenario::of([faster]).launches(1).run();
    let (launch, placement, first) = warm_ups(&scenario)[0];
    assert_eq!((launch, placement), (0, 0));
    assert!(!first.steady);
    assert_eq!(first.batches, 50);
    assert_eq!(scenario.kinds(), [OutcomeKind::Ok]);
}

#[test]
fn what_keeps_getting_faster_is_given_up_after_so_much_time() {
    let faster = Script::new(|moment| 50.0 * MS * 0.94_f64.powf(moment.count as f64));
    let scenario = Scenario::of([faster]).launches(1).run();
    let (_, _, first) = warm_ups(&scenario)[0];
    assert!(!first.steady && first.batches > 3);
    let requests = scenario.sample_requests(0);
    // The two checks before were iterations, too.
    let warm_up_ns: f64 = (2..2 + first.batches).map(|i| 50.0 * MS * 0.94_f64.powf(f64::from(i))).sum();
    assert!((350.0 * MS..=400.0 * MS).contains(&warm_up_ns), "{warm_up_ns}");
    assert!(requests.iter().take(first.batches as usize).all(|s| s.iterations == 1));
}

#[test]
fn iterations_of_seconds_are_warmed_up_once_and_then_by_the_check_before_timing() {
    let scenario = Scenario::of([Script::steady(3000.0 * MS)]).launches(3).run();
    let places: Vec<(u32, u32)> =
        warm_ups(&scenario).iter().map(|(launch, placement, _)| (*launch, *placement)).collect();
    assert_eq!(places, [(0, 0)]);
    assert!(warm_ups(&scenario).iter().all(|(_, _, w)| w.batches == 1));
    // One to warm up, and two rounds in each block.
    let timed = scenario.sample_requests(0).iter().filter(|s| s.mode == Mode::Timed).count();
    assert_eq!(timed, 1 + 3 * 4 * 2 * 2);
}

#[test]
fn a_cold_start_of_every_sample_neither_sets_their_length_nor_makes_a_worker_suspect() {
    let last = Cell::new(None);
    let script = Script::new(move |moment| {
        let sample = Some((moment.launch, moment.round));
        let is_first = last.replace(sample) != sample;
        if is_first { 1.1 * MS } else { 0.1 * MS }
    });
    let scenario = Scenario::of([script]).launches(8).run();
    // A sample has 3 ms, and most iterations take a tenth of one.
    assert_eq!(length_of_timed(&scenario, 0), [(20, 7)]);
    assert_eq!(suspicions(&scenario.case().sides[0].audits), []);
}

#[test]
fn the_batches_of_short_iterations_last_about_a_millisecond() {
    let scenario = Scenario::of([Script::steady(1_000.0)]).launches(2).run();
    let of_launch = |launch| {
        let own = scenario.transcript().into_iter().filter(move |entry| entry.launch == launch);
        own.filter_map(|entry| entry.sample()).map(|s| s.iterations).take(4).collect::<Vec<_>>()
    };
    // Those that decide how long samples are last as long as one. A short sample follows, and then the timed ones.
    assert_eq!(of_launch(0), [1, 3_000, 3_000, 750]);
    // The time of an iteration is known by then, and the first batch is as fast.
    assert_eq!(of_launch(1), [1_000, 750, 3_000, 3_000]);
}

#[test]
fn a_sample_may_take_many_times_what_was_expected_before_it_counts_as_hanging() {
    let scenario = Scenario::of([Script::steady(3000.0 * MS)]).launches(1).run();
    let transcript = scenario.transcript();
    let is_timed = |entry: &&Entry| is_sample(&entry.step, place(0, 0), 0, 0);
    let deadline = transcript.iter().find(is_timed).unwrap().deadline;
    assert_eq!(deadline, Some(Duration::from_secs(30 + 20 * 3)));
}

/// Creates a side on a GPU that idles at half its clock: after each launch the iterations take twice as long until so many ns
/// of them have passed.
fn ramping(ramp_ns: f64) -> Script {
    let (launch, busy_ns) = (Cell::new(u32::MAX), Cell::new(0.0));
    Script::new(move |moment| {
        if launch.replace(moment.launch) != moment.launch {
            busy_ns.set(0.0);
        }
        let iteration_ns = if busy_ns.get() < ramp_ns { 2.0 * MS } else { MS };
        busy_ns.set(busy_ns.get() + iteration_ns);
        iteration_ns
    })
}

#[test]
fn a_gpu_is_timed_once_it_has_left_its_idle_clock() {
    let times = |on_gpu: bool| {
        let mut scenario = Scenario::of([ramping(80.0 * MS)]).launches(4);
        if on_gpu {
            scenario.plan.on_gpu = vec![scenario.plan.cases[0].sides[0].benchmark.clone()];
        }
        let scenario = scenario.run();
        scenario.counted(0).iter().map(|s| s.wall_ns as f64 / s.iterations as f64).collect::<Vec<_>>()
    };
    assert!(
        times(false).iter().any(|ns| *ns > 1.9 * MS),
        "without a lead-in of its own, the idle clock is timed"
    );
    assert!(times(true).iter().all(|ns| *ns < 1.01 * MS), "{:?}", times(true));
}
