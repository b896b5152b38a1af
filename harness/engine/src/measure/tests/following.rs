//! Following of memory over many iterations, in launches of their own.

use perfharness_contract::{Check, Number, Reading, gpu_metric as gpu};
use perfharness_record::memory::{Series, findings, verdict};
use perfharness_record::{Followed, MemoryStory};
use perfharness_verdict::GrowthVerdict;
use rstest::rstest;

use super::super::{Interrupted, follow_side};
use super::*;

const TIME: Duration = Duration::from_secs(20);

fn readings(of: &[(&str, f64)]) -> BTreeMap<String, Reading> {
    of.iter().map(|(metric, value)| ((*metric).to_owned(), Reading::Value(Number(*value)))).collect()
}

/// Creates a worker with iterations of 1 ms that leaks `bytes` in each.
fn leaky(bytes: u64) -> Script {
    let metered = move |request: SampleRequest| {
        assert_eq!(request.lead_in, 1, "growth counts from an iteration on");
        readings(&[("heap-growth", (bytes * request.iterations) as f64), (gpu::DEVICE_LIVE, 4096.0)])
    };
    Script::steady(MS).metered(metered).leaking(bytes)
}

fn followed(scenario: &mut Scenario, iterations: u64) -> Result<Followed, Interrupted> {
    let side = scenario.plan.cases[0].sides[0].clone();
    follow_side(&scenario.plan, &side, &mut scenario.executor, iterations, TIME)
}

fn story(script: Script, iterations: u64) -> MemoryStory {
    followed(&mut Scenario::of([script]), iterations).unwrap().story.unwrap()
}

#[test]
fn a_thousand_iterations_are_watched_and_a_leak_is_told_to_the_byte() {
    let mut scenario = Scenario::of([leaky(1024)]);
    let story = followed(&mut scenario, 1000).unwrap().story.unwrap();
    assert_eq!((story.points.len(), story.iterations()), (51, 1000));
    let last = story.points.last().unwrap();
    assert_eq!((last.heap, last.device), (Some(1_024_000.0), Some(4096.0)));
    let found = findings(&story);
    assert_eq!(verdict(&found), GrowthVerdict::Grows);
    let growing = found.iter().filter(|finding| finding.test.verdict == GrowthVerdict::Grows);
    let growing: Vec<_> = growing.map(|finding| (finding.series, finding.test.per_iteration)).collect();
    assert_eq!(growing, [(Series::Heap, 1024.0), (Series::Resident, 1024.0)]);
    let all = scenario.executor.transcript();
    let ops: Vec<&str> = all.iter().map(Entry::op).collect();
    assert_eq!(ops[..3], ["launch", "prepare", "check"]);
    assert_eq!(ops.last(), Some(&"finish"));
    let samples: Vec<SampleRequest> =
        all.iter().filter_map(Entry::sample).filter(|sample| sample.mode == Mode::Metered).collect();
    let rounds: std::collections::BTreeSet<u64> = samples.iter().map(|sample| sample.round).collect();
    assert_eq!(rounds.len(), samples.len(), "each has inputs of its own");
}

#[test]
fn what_does_not_leak_is_flat() {
    let story = story(leaky(0), 1000);
    let found = findings(&story);
    assert_eq!(verdict(&found), GrowthVerdict::Flat, "{found:?}");
    let series: Vec<Series> = found.iter().map(|finding| finding.series).collect();
    assert_eq!(series, [Series::Heap, Series::Device, Series::Resident]);
}

#[test]
fn long_iterations_get_fewer_and_short_samples() {
    let slow = Script::steady(250.0 * MS).metered(|request| {
        assert!(request.iterations + request.lead_in <= 3, "{request:?}");
        readings(&[("heap-growth", 0.0)])
    });
    let story = story(slow, 1000);
    assert_eq!((story.iterations(), story.asked), (80, 1000));
    assert_eq!(story.iteration_ns, 250.0 * MS);
}

#[test]
fn a_worker_without_meters_is_watched_from_outside() {
    let story = story(Script::steady(MS).modes(&[Mode::Timed]).leaking(8192), 1000);
    let found = findings(&story);
    assert_eq!(found.iter().map(|finding| finding.series).collect::<Vec<_>>(), [Series::Resident]);
    assert_eq!(verdict(&found), GrowthVerdict::Grows);
    assert!(story.absent["heap-growth"].contains("no metered samples"), "{:?}", story.absent);
}

#[test]
fn what_a_sample_does_not_tell_is_no_series() {
    let absent =
        |_| BTreeMap::from([("heap-growth".to_owned(), Reading::Absent { absent: "no allocator".into() })]);
    let story = story(Script::steady(MS).metered(absent), 1000);
    assert_eq!(story.absent["heap-growth"], "no allocator");
    assert!(findings(&story).iter().all(|finding| finding.series == Series::Resident));
}

#[test]
fn a_side_that_is_skipped_is_not_started() {
    let mut scenario = Scenario::of([leaky(0)]).side(0, |side| side.skip = Some("too large".into()));
    let done = followed(&mut scenario, 1000).unwrap();
    assert_eq!(done.story, Err("skipped: too large".into()));
    assert!(scenario.executor.transcript().is_empty());
}

#[rstest]
#[case::launch("launch")]
#[case::prepare("prepare")]
#[case::check("check")]
#[case::sample("sample")]
fn a_side_that_fails_has_its_outcome(#[case] op: &'static str) {
    let fails = leaky(0).failing(Fault::Ends(OutcomeKind::OutOfMemory), move |_, step| match step {
        Step::Launched => op == "launch",
        Step::Asked(request) => request.op() == op,
        Step::Finished => false,
    });
    let done = followed(&mut Scenario::of([fails]), 1000).unwrap();
    assert_eq!(done.outcome, Outcome::new(OutcomeKind::OutOfMemory, "as scripted"));
    assert_eq!(done.story, Err("out-of-memory: as scripted".into()));
}

#[test]
fn a_wrong_result_is_not_watched() {
    let wrong = leaky(0).check(|_, _, _| perfharness_contract::protocol::CheckReply {
        check: Check { passed: false, ..Check::default() },
        readings: BTreeMap::new(),
    });
    let done = followed(&mut Scenario::of([wrong]), 1000).unwrap();
    assert_eq!(done.outcome.kind, OutcomeKind::WrongResult);
}

#[test]
fn the_user_can_stop_it_at_any_time() {
    for requests in [0, 1, 2, 5, 9, 30] {
        let mut scenario = Scenario::of([leaky(0)]);
        scenario.executor.interrupt_after(requests, false);
        assert_eq!(followed(&mut scenario, 1000), Err(Interrupted), "after {requests}");
    }
}
