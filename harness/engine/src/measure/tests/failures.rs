//! Sides that fail, and their effect on the others.

use perfharness_contract::protocol::CheckReply;
use perfharness_contract::{Check, Digest, Number};
use perfharness_verdict::SEQUENTIAL_LOOKS;
use rstest::rstest;
use serde_json::json;

use super::super::mock::right;
use super::*;

const OK: OutcomeKind = OutcomeKind::Ok;
const CRASHED: OutcomeKind = OutcomeKind::Crashed;
const WRONG: OutcomeKind = OutcomeKind::WrongResult;

fn fine() -> Script {
    Script::steady(MS)
}

/// Fails in a round of a block of the third launch.
fn breaks_in(kind: OutcomeKind, block: u32, half: u32) -> Script {
    fine().failing(Fault::Ends(kind), move |launch, step| {
        launch == 2 && is_sample(step, place(2, 1), block, half)
    })
}

/// Asserts that the other sides have all their launches.
fn others_are_complete(scenario: &Scenario, others: &[usize]) {
    assert_eq!(scenario.end(), Some(CaseEnd::LastLook { launches: 8 }));
    for side in others {
        assert_eq!(scenario.outcome(*side), Outcome::ok());
        assert_eq!(scenario.launches_of(*side), 8);
    }
}

fn reason(scenario: &Scenario, side: usize) -> String {
    scenario.outcome(side).reason.unwrap()
}

#[rstest]
#[case::crash(CRASHED)]
#[case::hang(OutcomeKind::TimedOut)]
#[case::memory(OutcomeKind::OutOfMemory)]
fn a_side_that_fails_within_a_block_loses_that_block_for_all(
    #[case] kind: OutcomeKind,
    #[values(0, 1)] half: u32,
) {
    let scenario = Scenario::of([fine(), breaks_in(kind, 0, half), fine()]).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1), Outcome::new(kind, "as scripted"));
    assert_eq!(scenario.times_launched(1), 3);
    let is_lost = |s: &SampleEvent| (s.launch, s.placement, s.block) == (2, 1, 0);
    assert!(!scenario.case().samples.iter().any(|row| is_lost(&row.sample)));
    assert_eq!(scenario.case().blocks, 63);
    // Its samples until then stay in the record.
    assert_eq!(scenario.counted(1).len(), (2 * 4 + 1) * 2 * 2);
    assert_eq!(scenario.estimate(2, 0).rounds, 2 * 63);
}

#[test]
fn the_others_go_on_without_comparison_where_the_reference_fails() {
    let scenario = Scenario::of([breaks_in(CRASHED, 0, 0), fine(), fine()]).run();
    others_are_complete(&scenario, &[1, 2]);
    assert_eq!(scenario.outcome(0).kind, CRASHED);
    assert_eq!(scenario.estimate(1, 0).launches, 3, "only the launches of the reference hold pairs");
}

#[test]
fn without_their_reference_the_precision_of_the_others_own_levels_decides() {
    let scenario = Scenario::of([breaks_in(CRASHED, 0, 0), fine()]).sequential().run();
    assert_eq!(scenario.end(), Some(CaseEnd::Precise { launches: SEQUENTIAL_LOOKS[0].launches }));
}

#[rstest]
fn what_the_others_left_is_still_checked_where_a_side_fails_in_the_only_block(#[values(1, 2, 3)] seed: u64) {
    // Some seeds let the side that fails go first in the block, so that the other has no sample in its placement but
    // those of its warm-up.
    let breaks = Script::steady(30.0 * MS).failing(Fault::Ends(CRASHED), |_, step| {
        (1..8).any(|launch| is_sample(step, place(launch, 0), 0, 0))
    });
    let sides = [Script::steady(30.0 * MS), breaks];
    let scenario = Scenario::of(sides).seed(seed).launches(200).budget(Duration::from_secs(9)).run();
    let at_the_end = allocations(&scenario)[scenario.times_launched(1) - 1];
    assert_eq!(at_the_end, (1, 1), "the budget leaves one placement of one block");
    assert_eq!(scenario.kinds(), [OK, CRASHED]);
    let after = scenario.case().sides[0].checks.iter().filter(|row| row.stage == CheckStage::After);
    // One launch has no block, and yet a check of what the other side left.
    assert_eq!(after.count(), scenario.launches_of(0) + 1);
}

#[test]
fn all_sides_failing_ends_the_case() {
    let scenario = Scenario::of([breaks_in(CRASHED, 0, 0), breaks_in(OutcomeKind::TimedOut, 1, 0)]).run();
    assert_eq!(scenario.end(), Some(CaseEnd::NothingLeft));
    assert_eq!(scenario.kinds(), [CRASHED, OutcomeKind::TimedOut]);
}

#[test]
fn the_next_case_is_measured_whatever_becomes_of_this_one() {
    let dead = || fine().failing(Fault::Ends(CRASHED), |_, step| *step == Step::Launched);
    let scenario = Scenario::cases([vec![dead(), dead()], vec![fine(), fine()]]).run();
    assert_eq!(scenario.end(), Some(CaseEnd::NothingLeft));
    assert_eq!(scenario.state.cases[1].end, Some(CaseEnd::LastLook { launches: 8 }));
}

#[rstest]
fn a_worker_that_does_not_start_is_not_started_again(
    #[values(0, 1, 2)] side: usize,
    #[values(0, 3)] launch: u32,
) {
    let dead = fine().failing(Fault::Ends(CRASHED), move |l, step| l == launch && *step == Step::Launched);
    let mut sides = vec![fine(), fine(), fine()];
    sides[side] = dead;
    let scenario = Scenario::of(sides).run();
    assert_eq!(scenario.outcome(side).kind, CRASHED);
    assert_eq!(scenario.times_launched(side), launch as usize + 1);
    others_are_complete(&scenario, &[0, 1, 2].into_iter().filter(|s| *s != side).collect::<Vec<_>>());
}

#[rstest]
#[case::prepare("prepare")]
#[case::check("check")]
fn a_side_may_fail_at_any_request(#[case] op: &'static str) {
    let asked = move |step: &Step| matches!(step, Step::Asked(request) if request.op() == op);
    let scenario =
        Scenario::of([fine(), fine().failing(Fault::Ends(CRASHED), move |_, step| asked(step))]).run();
    others_are_complete(&scenario, &[0]);
    assert_eq!(scenario.outcome(1).kind, CRASHED);
    assert_eq!(scenario.ops(1, 0).last(), Some(&op), "nothing is asked of a worker that is gone");
}

#[test]
fn a_side_that_is_skipped_is_never_launched() {
    let skip = |side: &mut Side| side.skip = Some("it needs a GPU".into());
    let scenario = Scenario::of([fine(), fine(), fine()]).side(1, skip).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1), Outcome::new(OutcomeKind::Skipped, "it needs a GPU"));
    assert_eq!(scenario.times_launched(1), 0);
}

#[test]
fn a_wrong_result_before_timing_is_never_timed() {
    let wrong =
        fine().check(|_, _, _| CheckReply { check: Check::wrong("value 3 is 1"), ..CheckReply::default() });
    let scenario = Scenario::of([fine(), wrong, fine()]).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1), Outcome::new(WRONG, "before timing: value 3 is 1"));
    assert_eq!(scenario.ops(1, 0), ["launch", "prepare", "check", "finish"]);
}

#[test]
fn a_result_that_is_remembered_is_found_by_the_second_check() {
    let first = place(0, 0).check_round(0);
    let remembers = move |round, index, _: bool| {
        if round == first { right(round, index) } else { wrong_because("the result of another round") }
    };
    let scenario = Scenario::of([fine(), fine().check(remembers)]).run();
    assert_eq!(scenario.outcome(1).kind, WRONG);
    assert_eq!(scenario.ops(1, 0), ["launch", "prepare", "check", "check", "finish"]);
}

fn wrong_because(why: &str) -> CheckReply {
    CheckReply { check: Check::wrong(why), ..CheckReply::default() }
}

#[test]
fn a_wrong_result_after_timing_is_found() {
    let drifts = fine()
        .check(|round, index, fresh| if fresh { right(round, index) } else { wrong_because("it drifted") });
    let scenario = Scenario::of([fine(), drifts, fine()]).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1), Outcome::new(WRONG, "after timing: it drifted"));
    assert_eq!(scenario.ops(1, 0)[scenario.ops(1, 0).len() - 2..], ["check", "finish"]);
    assert_eq!(scenario.times_launched(1), 1);
}

#[test]
fn the_check_after_timing_names_the_last_iteration_of_the_last_block() {
    let scenario = Scenario::of([Script::steady(0.1 * MS)]).launches(1).run();
    let transcript = scenario.transcript();
    let check = transcript.iter().find(|entry| is_check(&entry.step, false)).unwrap();
    let last = place(0, 3).round(1, 1);
    let Step::Asked(Request::Check { round, index, .. }) = check.step else { unreachable!() };
    assert_eq!((round, index), (last, 10 + 30 - 1));
}

#[test]
fn passed_is_not_believed_beside_an_error_above_the_tolerance() {
    let figures = |round, index, _| {
        let reply = right(round, index);
        let (error, tolerance) = (Some(Number(0.2)), Some(Number(0.1)));
        CheckReply { check: Check { error, tolerance, ..reply.check }, ..reply }
    };
    let scenario = Scenario::of([fine(), fine().check(figures)]).run();
    others_are_complete(&scenario, &[0]);
    let reason = reason(&scenario, 1);
    assert_eq!(reason, "before timing: it says `passed` with error 0.2 above its tolerance 0.1");
}

/// Right result on an input of its own.
fn other_input(round: u64, index: u64, _: bool) -> CheckReply {
    let reply = right(round, index);
    CheckReply { check: reply.check.with_input(Digest::of(b"its own")), ..reply }
}

#[test]
fn another_input_than_that_of_the_reference_is_wrong() {
    let scenario = Scenario::of([fine(), fine().check(other_input), fine()]).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1).kind, WRONG);
    assert_eq!(reason(&scenario, 1), "the digest of its input differs from that of `slow` in the same round");
    assert!(scenario.sample_requests(1).is_empty());
}

#[test]
fn a_side_is_not_blamed_for_what_its_reference_did() {
    // The second side has an input of its own; the third, which is compared with it, has the right one.
    for seed in 1..6 {
        let on_the_second = |side: &mut Side| side.reference = Some(1);
        let scenario = Scenario::of([fine(), fine().check(other_input), fine()]);
        let scenario = scenario.side(2, on_the_second).seed(seed).run();
        assert_eq!(scenario.kinds(), [OK, WRONG, OK], "seed {seed}");
    }
}

#[test]
fn other_work_than_that_of_the_reference_is_found_before_timing() {
    let does = |records: u64| {
        fine().check(move |round, index, _| CheckReply {
            readings: readings("records", records),
            ..right(round, index)
        })
    };
    let metric = MetricDef::work("records", "records");
    let scenario = Scenario::of([does(10), does(8), does(10)]).metric(metric).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1).kind, WRONG);
    assert_eq!(
        reason(&scenario, 1),
        "its work differs from that of `slow`: records 8 against 10 in 1 iteration(s)"
    );
}

#[test]
fn other_work_than_that_of_the_reference_is_found_in_metered_samples() {
    let does = |records: u64| fine().metered(move |s| readings("records", s.iterations * records));
    let metric = MetricDef::work("records", "records");
    let scenario = Scenario::of([does(10), does(8), does(10)]).metric(metric).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1).kind, WRONG);
    assert_eq!(
        reason(&scenario, 1),
        "its work differs from that of `slow`: records 16 against 20 in 2 iteration(s)"
    );
    assert_eq!(scenario.ops(1, 0).last(), Some(&"finish"));
    assert_eq!(scenario.times_launched(1), 1);
}

#[test]
fn metrics_that_are_no_work_counters_may_differ() {
    let writes = |count: u64| fine().metered(move |_| readings("writes", count));
    let metric = MetricDef::count("writes", "writes");
    let scenario = Scenario::of([writes(1000), writes(1)]).metric(metric).run();
    others_are_complete(&scenario, &[0, 1]);
}

#[test]
fn a_sample_of_no_time_is_a_crash() {
    let reply = json!({"wall_ns": 0});
    let stops = fine().failing(Fault::Answers(reply), |_, step| is_sample(step, place(3, 2), 1, 1));
    let scenario = Scenario::of([fine(), stops, fine()]).run();
    others_are_complete(&scenario, &[0, 2]);
    assert_eq!(scenario.outcome(1), Outcome::new(CRASHED, "a sample of 3 iterations took 0 ns by its clock"));
    assert_eq!(scenario.ops(1, 3).last(), Some(&"finish"));
}

#[rstest]
#[case::prepare("prepare", json!({}))]
#[case::check("check", json!({"passed": "yes"}))]
#[case::sample("sample", json!({"wall_ns": -1}))]
#[case::list("sample", json!([]))]
fn an_answer_that_does_not_fit_the_protocol_is_a_crash(
    #[case] op: &'static str,
    #[case] reply: serde_json::Value,
) {
    let asked = move |step: &Step| matches!(step, Step::Asked(request) if request.op() == op);
    let scenario =
        Scenario::of([fine(), fine().failing(Fault::Answers(reply), move |_, step| asked(step))]).run();
    others_are_complete(&scenario, &[0]);
    assert_eq!(scenario.outcome(1).kind, CRASHED);
    let start = format!("its answer to `{op}` does not fit the protocol: ");
    assert!(reason(&scenario, 1).starts_with(&start), "{}", reason(&scenario, 1));
}
