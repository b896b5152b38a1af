//! Results: planted effects, drift, contamination.

use perfharness_record::{Contamination, Flag};
use perfharness_verdict::{Block, launch_values};
use rstest::rstest;

use super::*;

const EXACT: f64 = 1e-12;

#[test]
fn a_planted_ratio_is_found_exactly() {
    let scenario = Scenario::of([Script::steady(MS), Script::steady(2.0 * MS)]).run();
    let found = scenario.estimate(1, 0);
    assert!((found.theta - 2.0_f64.ln()).abs() < EXACT, "{found:?}");
    assert!(found.half_width().unwrap() < EXACT);
    assert_eq!((found.launches, found.placements, found.rounds), (8, 32, 128));
    assert_eq!((found.empty_launches, found.empty_placements), (0, 0));
    assert!((scenario.estimate(0, 1).theta + 2.0_f64.ln()).abs() < EXACT);
}

#[test]
fn a_planted_slowdown_is_the_share_of_the_work_however_few_iterations_a_sample_has() {
    for (iteration_ns, share) in [(3.0 * MS, 0.03), (0.1 * MS, 0.1), (50.0 * MS, 0.5), (1000.0, 0.015)] {
        let sides = [Script::steady(iteration_ns), Script::steady(iteration_ns)];
        let mut scenario = Scenario::of(sides).versions();
        scenario.plan.cases[0].design.planted = Some(share);
        let scenario = scenario.run();
        let found = scenario.estimate(1, 0).theta.exp_m1();
        assert!(found >= share - 1e-9 && found <= 1.05 * share + 1e-9, "{iteration_ns}: {share} {found}");
        let counted = |side| scenario.counted(side)[0].iterations;
        assert_eq!(counted(0), counted(1), "both sides are charged for the same iterations");
        let worked = |side: usize| {
            let samples = scenario.sample_requests(side);
            samples.iter().filter(|s| s.mode == Mode::Timed).map(|s| s.iterations).max().unwrap()
        };
        assert_eq!(worked(0), counted(0));
        assert!(worked(1) > counted(1));
    }
}

#[test]
fn what_moves_both_sides_cancels() {
    let script = |factor: f64| {
        Script::new(move |m| {
            factor * MS * (1.0 + 0.3 * noise((m.launch, m.placement)) + 0.1 * noise(m.round))
        })
    };
    let scenario = Scenario::of([script(1.0), script(1.5)]).run();
    assert!((scenario.estimate(1, 0).theta - 1.5_f64.ln()).abs() < 1e-6);
}

#[test]
fn a_steady_drift_of_the_machine_cancels() {
    // Everything gets twice as slow within a second.
    let start = 1e9;
    let script = move |factor: f64| Script::new(move |m| factor * MS * (1.0 + (m.now_ns - start) / 1e9));
    let scenario = Scenario::of([script(1.0), script(2.0)]).run();
    let error = |theta: f64| (theta - 2.0_f64.ln()).abs();
    let blocks = error(scenario.estimate(1, 0).theta);
    // Measuring one side first and then the other would find this.
    let mean_log = |side, launches: std::ops::Range<u32>| {
        let own = scenario.counted(side).into_iter().filter(|s| launches.contains(&s.launch));
        let logs: Vec<f64> = own.map(|s| s.iteration_ns().ln()).collect();
        logs.iter().sum::<f64>() / logs.len() as f64
    };
    let unpaired = error(mean_log(1, 4..8) - mean_log(0, 0..4));
    assert!(blocks < 1e-3, "{blocks}");
    assert!(unpaired > 100.0 * blocks, "{unpaired} against {blocks}");
    // Each block alone is free of it, but a round without its reverse is not.
    let paired = scenario.case().paired(1, 0);
    let placements = paired.launches.iter().flat_map(|launch| &launch.placements);
    let all: Vec<Block> = placements.flat_map(|placement| placement.blocks.clone()).collect();
    let worst = |value: fn(&Block) -> f64| all.iter().map(|b| error(value(b))).fold(0.0, f64::max);
    let (rounds, blocks) = (worst(|block| block.first), worst(Block::mean));
    assert!(rounds > 100.0 * blocks, "{rounds} against {blocks}");
}

#[rstest]
#[case::throttle(Contamination::Throttle, "throttle")]
#[case::suspend(Contamination::Suspend, "suspend")]
fn a_disturbance_from_outside_drops_its_block_for_all_sides(
    #[case] what: Contamination,
    #[case] cause: &str,
) {
    let disturbed = place(2, 1).round(1, 0);
    // The disturbance makes the sample ten times as long.
    let script = Script::new(move |m| if m.round == disturbed { 10.0 * MS } else { MS })
        .disturbed(move |m| (m.round == disturbed).then_some(what));
    let scenario = Scenario::of([Script::steady(MS), script, Script::steady(MS)]).run();

    let case = scenario.case();
    let in_block = |s: &SampleEvent| (s.launch, s.placement, s.block) == (2, 1, 1);
    assert_eq!((case.blocks, case.dropped.get(cause)), (64, Some(&1)));
    let dropped: Vec<_> = case.samples.iter().filter(|row| row.dropped.is_some()).collect();
    assert_eq!(dropped.len(), 2 * 3);
    assert!(dropped.iter().all(|row| in_block(&row.sample) && row.dropped == Some(what)));
    let flagged: Vec<_> = dropped.iter().filter(|row| !row.sample.flags.is_empty()).collect();
    assert_eq!(flagged.len(), 1, "only the sample itself carries the flag");
    assert_eq!((flagged[0].sample.side, &flagged[0].sample.flags[..]), (1, &[Flag::Outside { what }][..]));

    for candidate in [1, 2] {
        let found = scenario.estimate(candidate, 0);
        assert_eq!((found.rounds, found.theta), (126, 0.0));
    }
    assert_eq!(scenario.counted(0).len(), 126);
}

#[test]
fn a_launch_with_far_more_stolen_time_than_others_is_dropped_and_made_again() {
    let disturbed = place(11, 1).round(1, 0);
    let in_launch = |round: u64, launch| {
        (place(launch, 0).round(0, 0)..place(launch + 1, 0).round(0, 0)).contains(&round)
    };
    // All of the launch is slower, and a single sample of it meets a step of the counter.
    let script = || {
        Script::new(move |m| if in_launch(m.round, 11) { 3.0 * MS } else { MS })
            .disturbed(move |m| (m.round == disturbed).then_some(Contamination::Steal))
    };
    let scenario = Scenario::of([Script::steady(MS), script()]).launches(16).run();
    let case = scenario.case();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 16 }));
    assert_eq!(case.launches.len(), 17);
    let dropped: Vec<u32> =
        case.launches.iter().filter(|row| row.dropped.is_some()).map(|row| row.launch).collect();
    assert_eq!((dropped, case.dropped.get("steal")), (vec![11], Some(&8)));
    assert!(case.counted().all(|sample| sample.launch != 11));
    let found = scenario.estimate(1, 0);
    assert_eq!((found.launches, found.theta), (16, 0.0));
    // Whoever doubts it can see the figure with the launch.
    let kept = launch_values(&case.paired_if_kept(1, 0).unwrap()).unwrap();
    assert_eq!((kept.len(), kept.iter().filter(|value| **value > 1.0).count()), (17, 1));
}

#[test]
fn the_parts_of_a_launch_add_up_to_its_time() {
    let sides =
        [Script::steady(MS).costs(7_000_000, 3_000_000).finish_costs(2_000_000), Script::steady(2.0 * MS)];
    for memory in [[0, 0], [40, 40]] {
        let scenario = Scenario::of(sides.clone()).memory(&memory).run();
        for launch in &scenario.case().launches {
            let t = launch.timing.unwrap();
            let parts = [t.processes_ns, t.prepare_ns, t.checks_ns, t.warm_up_ns, t.blocks_ns, t.metered_ns];
            assert!(parts.iter().sum::<u64>().abs_diff(t.total_ns) <= 10, "{t:?}");
            // The other side has the mock's own costs: 5 ms, 1 ms and none.
            assert_eq!(t.processes_ns, 14_000_000);
            assert_eq!(t.prepare_ns, 4 * 4_000_000);
            let samples = scenario.timed().into_iter().filter(|s| s.launch == launch.launch);
            assert_eq!(t.samples_ns, samples.map(|s| s.wall_ns).sum::<u64>());
            assert!(t.samples_ns < t.blocks_ns);
            assert_eq!((t.checks_ns > 0, t.metered_ns > 0), (launch.launch < 2, launch.launch < 4));
        }
    }
}

#[test]
fn waiting_is_flagged_and_counts() {
    let scenario = Scenario::of([Script::steady(MS), Script::steady(MS).cpu_share(0.5)]).run();
    assert!(scenario.case().dropped.is_empty());
    assert!(scenario.counted(0).iter().all(|s| s.flags.is_empty()));
    assert_eq!(scenario.counted(1).len(), 128);
    assert!(scenario.counted(1).iter().all(|s| s.flags == [Flag::Waited { share: 0.5 }]));
}

#[test]
fn cpu_time_is_paired_like_wall_time_where_both_sides_took_any() {
    let share = |share: f64| {
        let sides = [Script::steady(MS), Script::steady(MS).cpu_share(share)];
        Scenario::of(sides).run()
    };
    let waits = share(0.5);
    let cpu = estimate(&waits.case().paired_cpu(1, 0), 0.99).unwrap();
    assert_eq!((waits.estimate(1, 0).theta, cpu.rounds), (0.0, 128));
    assert!((cpu.theta - 0.5_f64.ln()).abs() < 1e-6, "{cpu:?}");
    // A coarse clock may show 0, which has no ratio.
    let nothing = share(0.0);
    assert!(estimate(&nothing.case().paired_cpu(1, 0), 0.99).is_err());
}

#[test]
fn a_run_that_is_always_disturbed_ends_all_the_same() {
    let throttled = Script::steady(MS).disturbed(|_| Some(Contamination::Throttle));
    let scenario = Scenario::of([throttled, Script::steady(MS)]).run();
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    assert_eq!(scenario.kinds(), [OutcomeKind::NotRun; 2]);
    assert!(scenario.case().paired(1, 0).launches.is_empty());
}
