//! Workers that break the protocol: the others are measured all the same.

use perfharness_contract::{OutcomeKind, standard};
use perfharness_record::{BenchmarkRecord, RunRecord};
use perfharness_verdict::judge::Suspicion;
use rstest::rstest;

use crate::fixture::Harness;

/// Runs a good worker beside a bad one, and returns the record after looking at the good one's part in it.
#[track_caller]
fn beside_a_good_worker(mode: &str, patterns: &str, code: i32) -> RunRecord {
    let harness = Harness::new();
    harness
        .measure("--launches 1 --timeout 2s")
        .args(patterns.split_whitespace())
        .worker("good")
        .worker(mode)
        .done()
        .code(code);
    let good = harness.benchmark("spin/short/a");
    assert_eq!(good.outcome.kind, OutcomeKind::Ok);
    assert!(good.metrics[standard::WALL_TIME].value.value().unwrap() > 0.0);
    harness.record()
}

fn raw(record: &RunRecord) -> &BenchmarkRecord {
    record.benchmarks.iter().find(|b| b.id.to_string() == "raw/c/v").unwrap()
}

#[rstest]
#[case::speaks_a_newer_version("newer-protocol", OutcomeKind::Crashed, "it speaks protocol 99")]
#[case::never_answers("silent", OutcomeKind::TimedOut, "no answer to `hello` within 2.0 s")]
#[case::answers_what_is_not_json("not-json", OutcomeKind::Crashed, "is not a frame")]
#[case::never_ends_a_line("endless", OutcomeKind::Crashed, "a line of over 16 MiB")]
fn a_worker_that_cannot_be_asked_is_named_in_the_record(
    #[case] mode: &str,
    #[case] kind: OutcomeKind,
    #[case] reason: &str,
) {
    let record = beside_a_good_worker(mode, "spin/short/a", 5);
    assert_eq!(record.workers[0].outcome.kind, OutcomeKind::Ok);
    let outcome = &record.workers[1].outcome;
    assert_eq!(outcome.kind, kind, "{outcome:?}");
    assert!(outcome.reason.as_ref().unwrap().contains(reason), "{outcome:?}");
}

#[rstest]
#[case::answers_another_request("out-of-order", "it answered request 3 while request 2 (`prepare`) was open")]
#[case::dies_within_an_answer("half-answer", "it ended during `sample` with exit code 1")]
#[case::answers_ok_and_error_at_once("both", "exactly one of `ok` and `error`")]
#[case::answers_with_too_many_values("many-values", "its answer to `prepare` has more than 10000 values")]
#[case::has_thousands_of_readings_each_time("readings", "take more than 1024 KiB")]
#[case::takes_more_time_than_numbers_are_exact_for("beyond", "is 9007199254740993, more than 2^53")]
#[case::takes_more_time_than_passed("exaggerates", "its answer came within")]
fn a_worker_that_breaks_later_fails_its_benchmark_only(#[case] mode: &str, #[case] reason: &str) {
    let record = beside_a_good_worker(mode, "spin/short/a raw", 5);
    let failed = raw(&record);
    assert_eq!(failed.outcome.kind, OutcomeKind::Crashed);
    assert!(failed.outcome.reason.as_ref().unwrap().contains(reason), "{:?}", failed.outcome);
    assert!(failed.metrics.is_empty());
    assert!(record.workers.iter().all(|worker| worker.outcome.kind == OutcomeKind::Ok));
    if mode == "half-answer" {
        let words = failed.outcome.stderr.join("\n");
        assert!(words.contains("died as planned") && words.contains("stdout: {\"perfharness\""), "{words}");
    }
}

#[rstest]
#[case::again_and_again("flood")]
#[case::in_advance("early")]
fn a_frame_that_nobody_asked_for_ends_its_worker(#[case] mode: &str) {
    let record = beside_a_good_worker(mode, "spin/short/a raw", 5);
    let failed = raw(&record);
    assert_eq!(failed.outcome.kind, OutcomeKind::Crashed);
    // It may be seen before the next request is sent, or be taken for the answer to it.
    let reason = failed.outcome.reason.as_ref().unwrap();
    assert!(reason.contains("before it was asked for") || reason.contains("it answered request"), "{reason}");
}

/// Measures a good worker beside one whose times are not to be believed, in so many launches.
#[track_caller]
fn suspicions(mode: &str, launches: u32, words: &[&str]) -> Vec<Suspicion> {
    let harness = Harness::new();
    let done = harness
        .measure("spin/short/a raw --timeout 10s")
        .args(["--launches", &launches.to_string()])
        .worker("good")
        .worker(mode)
        .done()
        .code(0);
    done.says(&["v suspect: "]).says(words);
    assert_eq!(harness.benchmark("spin/short/a").suspect, []);
    raw(&harness.record()).suspect.clone()
}

#[test]
fn a_worker_that_does_not_account_for_its_time_is_suspect() {
    let found = suspicions("understates", 2, &["its worker accounts for", "from request to answer"]);
    assert!(
        matches!(found[..], [Suspicion::Unaccounted { reported_ns, elapsed_ns }] if 2 * reported_ns < elapsed_ns)
    );
}

#[test]
fn a_worker_whose_time_does_not_follow_its_iterations_is_suspect() {
    let found = suspicions("same-time", 4, &["its time does not follow its iterations"]);
    let [Suspicion::SameTime { few, few_ns, many, many_ns }] = found[..] else { panic!("{found:?}") };
    assert!(many >= 2 * few && many_ns < 2 * few_ns, "{found:?}");
}

#[test]
fn a_worker_whose_clock_runs_at_half_speed_is_suspect() {
    let found = suspicions("half-speed", 2, &["its worker's clock passed", "and the harness's"]);
    let is_slow = |sign: &Suspicion| matches!(sign, Suspicion::OtherPace { worker_ns, harness_ns } if *worker_ns < harness_ns * 2 / 3);
    assert!(found.iter().any(is_slow), "{found:?}");
    assert!(found.iter().any(|sign| matches!(sign, Suspicion::Unaccounted { .. })), "{found:?}");
}

#[test]
fn a_time_below_its_floor_is_suspect() {
    let found = suspicions("below-floor", 1, &["its least work takes", "`host-copy`"]);
    let [Suspicion::BelowFloor { ns, least_ns, ref ceiling }] = found[..] else { panic!("{found:?}") };
    assert!(ns.0 < least_ns.0 && ceiling == "host-copy", "{found:?}");
}

#[test]
fn lines_around_the_frames_do_no_harm() {
    let record = beside_a_good_worker("garbage", "spin/short/a raw", 0);
    assert!(raw(&record).metrics[standard::WALL_TIME].value.value().unwrap() > 0.0);
}

#[test]
fn a_run_without_a_single_usable_worker_says_whom_it_asked() {
    let harness = Harness::new();
    let done = harness.measure("all").worker("not-json").args(["--worker", "./nowhere"]).done().code(5);
    done.says(&[
        "cannot start `./nowhere`",
        "no worker has anything to measure",
        "perfharness-test-worker, nowhere",
    ]);
    assert_eq!(harness.files(), Vec::<String>::new());
}

#[test]
fn a_workload_that_is_left_out_does_not_look_like_a_good_run() {
    let harness = Harness::new();
    let done =
        harness.call("run spin/short/a --launches 1 --output run.json").worker("good").worker("good").done();
    done.code(5).says(&["has a workload of that name already"]);
    assert_eq!(harness.record().benchmarks.len(), 1);
}
