//! Profiling, in launches of its own.

use perfharness_contract::protocol::{Profile, ProfileClock, Stack};
use perfharness_contract::{Check, Number};
use perfharness_record::Profiled;
use rstest::rstest;

use super::super::{Interrupted, profile_side};
use super::*;

const WORK: Duration = Duration::from_secs(2);

/// Creates a worker with iterations of 1 ms, each of which yields one stack in `run`.
fn busy() -> Script {
    Script::steady(MS).profiled(|request| Some(profile(MS, request.iterations)))
}

fn profile(period: f64, count: u64) -> Profile {
    let stacks = vec![Stack { frames: vec!["run".into()], count }];
    Profile { period: Number(period), unit: "ns".into(), clock: ProfileClock::Cpu, stacks }
}

/// Profiles the first side.
fn profiled(scenario: &mut Scenario) -> Result<Profiled, Interrupted> {
    let side = scenario.plan.cases[0].sides[0].clone();
    profile_side(&scenario.plan, &side, &mut scenario.executor, WORK)
}

fn samples(scenario: &Scenario, mode: Mode) -> Vec<SampleRequest> {
    let all = scenario.executor.transcript();
    all.iter().filter_map(Entry::sample).filter(|sample| sample.mode == mode).collect()
}

#[test]
fn samples_are_taken_until_they_last_as_long_as_was_asked_for() {
    let mut scenario = Scenario::of([busy()]);
    let profile = profiled(&mut scenario).unwrap().profile.unwrap();
    assert_eq!((profile.iterations, profile.samples(), profile.wall_ns), (2_000, 2_000, 2_000_000_000));
    assert_eq!(profile.per_iteration(), MS);
    let taken = samples(&scenario, Mode::Profiled);
    assert_eq!(taken.len(), 10, "{taken:?}");
    let rounds: std::collections::BTreeSet<u64> = taken.iter().map(|sample| sample.round).collect();
    assert_eq!(rounds.len(), 10, "each has inputs of its own");
    let ops: Vec<&str> = scenario.executor.transcript().iter().map(Entry::op).collect();
    assert_eq!(ops[..3], ["launch", "prepare", "check"]);
    assert_eq!(ops.last(), Some(&"finish"));
    assert!(ops.iter().filter(|op| **op == "launch").count() == 1);
    assert!(!samples(&scenario, Mode::Timed).is_empty(), "it is warmed up");
}

#[test]
fn an_iteration_that_lasts_longer_than_asked_for_is_one_sample() {
    let mut scenario =
        Scenario::of(
            [Script::steady(5e9).profiled(|request| Some(profile(1e6, request.iterations * 5_000)))],
        );
    let profile = profiled(&mut scenario).unwrap().profile.unwrap();
    assert_eq!((profile.iterations, profile.samples()), (1, 5_000));
}

#[test]
fn samples_that_come_out_too_short_do_not_go_on_for_ever() {
    // Hardly any time passes by its own clock, but it does by the harness's.
    let short = serde_json::json!({
        "wall_ns": 1, "profile": {"period": 1, "stacks": [{"frames": ["run"], "count": 1}]}
    });
    let profiled_sample = |_: u32, step: &Step| matches!(step, Step::Asked(Request::Sample(sample)) if sample.mode == Mode::Profiled);
    let script = busy().failing(Fault::Answers(short), profiled_sample).fault_costs(10_000_000);
    let mut scenario = Scenario::of([script]);
    profiled(&mut scenario).unwrap().profile.unwrap();
    // 6 s at 10 ms each.
    assert_eq!(samples(&scenario, Mode::Profiled).len(), 600);
}

#[test]
fn a_worker_without_a_profiler_is_an_absence_with_its_reason() {
    let says = Script::steady(MS).absent_mode(Mode::Profiled, "no signals here");
    let done = profiled(&mut Scenario::of([says])).unwrap();
    assert_eq!((done.outcome, done.profile), (Outcome::ok(), Err("no signals here".into())));
    let mut silent = Scenario::of([Script::steady(MS)]);
    let done = profiled(&mut silent).unwrap();
    assert_eq!(done.outcome, Outcome::ok());
    assert!(done.profile.unwrap_err().contains("no profiled samples"));
    assert!(samples(&silent, Mode::Profiled).is_empty());
}

#[test]
fn a_side_that_waits_is_an_absence_and_no_failure() {
    let waits = Script::steady(MS).cpu_share(0.001).profiled(|_| Some(profile(MS, 0)));
    let mut scenario = Scenario::of([waits]);
    let done = profiled(&mut scenario).unwrap();
    // It gets three times the requested time, and no more.
    assert_eq!(samples(&scenario, Mode::Profiled).len(), 30);
    assert_eq!(done.outcome, Outcome::ok());
    let reason = done.profile.unwrap_err();
    assert!(reason.contains("waiting is not in it") && reason.contains("0.100 %"), "{reason}");
}

#[test]
fn a_side_that_is_skipped_is_not_started() {
    let mut scenario = Scenario::of([busy()]).side(0, |side| side.skip = Some("too large".into()));
    let done = profiled(&mut scenario).unwrap();
    assert_eq!(done.outcome, Outcome::new(OutcomeKind::Skipped, "too large"));
    assert_eq!(done.profile, Err("skipped: too large".into()));
    assert!(scenario.executor.transcript().is_empty());
}

#[rstest]
#[case::launch("launch")]
#[case::prepare("prepare")]
#[case::check("check")]
#[case::sample("sample")]
fn a_side_that_fails_has_its_outcome(#[case] op: &'static str) {
    let fails = busy().failing(Fault::Ends(OutcomeKind::Crashed), move |_, step| match step {
        Step::Launched => op == "launch",
        Step::Asked(request) => request.op() == op,
        Step::Finished => false,
    });
    let done = profiled(&mut Scenario::of([fails])).unwrap();
    assert_eq!(done.outcome, Outcome::new(OutcomeKind::Crashed, "as scripted"));
    assert_eq!(done.profile, Err("crashed: as scripted".into()));
}

#[test]
fn a_wrong_result_is_not_profiled() {
    let wrong = busy().check(|_, _, _| perfharness_contract::protocol::CheckReply {
        check: Check { passed: false, ..Check::default() },
        readings: BTreeMap::new(),
    });
    let mut scenario = Scenario::of([wrong]);
    assert_eq!(profiled(&mut scenario).unwrap().outcome.kind, OutcomeKind::WrongResult);
    assert!(samples(&scenario, Mode::Profiled).is_empty());
}

#[test]
fn an_answer_without_a_profile_breaks_the_protocol() {
    let empty = Script::steady(MS).profiled(|_| None);
    let done = profiled(&mut Scenario::of([empty])).unwrap();
    assert_eq!(done.outcome.kind, OutcomeKind::Crashed);
    assert!(done.profile.unwrap_err().contains("no `profile`"));
}

#[test]
fn the_user_can_stop_it_at_any_time() {
    for requests in [0, 1, 2, 5, 9] {
        let mut scenario = Scenario::of([busy()]);
        scenario.executor.interrupt_after(requests, false);
        assert_eq!(profiled(&mut scenario), Err(Interrupted), "after {requests}");
    }
}
