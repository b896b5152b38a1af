//! Tracing, in a launch of its own that is divided into phases without gaps.

use perfharness_contract::Check;
use perfharness_contract::protocol::{Trace, TraceCounter, TraceKind, TraceSpan, TrackClock};
use perfharness_record::{Phase, Timeline};

use super::super::{Executor as _, Interrupted, Traced, trace_side};
use super::*;

const ITERATIONS: u64 = 4;

/// Creates a worker that traces each of its iterations of 1 ms, and a device whose spans are not placed in time.
fn busy() -> Script {
    Script::steady(MS).costs(5_000_000, 1_000_000).finish_costs(700_000).traced(|request, start_ns| {
        let span = |track: &str, at: u64, duration_ns| TraceSpan {
            track: track.into(),
            name: format!("iteration {at}"),
            kind: TraceKind::Iteration,
            start_ns: start_ns + at * 1_000_000,
            duration_ns,
        };
        let mut spans: Vec<TraceSpan> =
            (0..request.iterations).map(|at| span("host", at, 1_000_000)).collect();
        spans.push(TraceSpan { start_ns: 17, ..span("gpu", 0, 5) });
        Some(Trace {
            spans,
            tracks: [("gpu".to_owned(), TrackClock { uncertainty_ns: None, own_clock: true })].into(),
            counters: vec![TraceCounter {
                name: "heap-live".into(),
                unit: "bytes".into(),
                relative: true,
                changes_per_point: 1,
                points: vec![(start_ns, 0)],
            }],
            ..Trace::default()
        })
    })
}

/// Traces the first side.
fn traced(scenario: &mut Scenario) -> Result<Traced, Interrupted> {
    let side = scenario.plan.cases[0].sides[0].clone();
    trace_side(&scenario.plan, &side, &mut scenario.executor, ITERATIONS)
}

fn timeline() -> Timeline {
    traced(&mut Scenario::of([busy()])).unwrap().timeline.unwrap()
}

fn lasts(phase: &Phase) -> u64 {
    phase.end_ns - phase.start_ns
}

#[test]
fn the_phases_of_a_launch_have_no_gaps_and_add_up_to_it() {
    let mut scenario = Scenario::of([busy()]);
    let before = scenario.executor.now_ns();
    let timeline = traced(&mut scenario).unwrap().timeline.unwrap();
    let wall = scenario.executor.now_ns() - before;
    assert_eq!(timeline.phases.iter().map(lasts).sum::<u64>(), wall);
    assert_eq!(timeline.launch_ns(), wall);
    for pair in timeline.phases.windows(2) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
    }
    let lengths: Vec<(&str, u64)> = timeline.phases.iter().map(|phase| (phase.name, lasts(phase))).collect();
    let due = [
        ("start", 5_000_000),
        ("prepare", 1_000_000),
        ("check", 1_000_000),
        ("warm-up", 3_000_000),
        ("traced sample", 4_000_000),
        ("finish", 700_000),
    ];
    assert_eq!(lengths, due);
    let ops: Vec<&str> = scenario.executor.transcript().iter().map(Entry::op).collect();
    assert_eq!(ops, ["launch", "prepare", "check", "sample", "sample", "sample", "sample", "finish"]);
}

#[test]
fn a_workers_moments_are_put_on_the_clock_of_the_harness() {
    let timeline = timeline();
    let sample = timeline.phases.iter().find(|phase| phase.name == "traced sample").unwrap();
    assert_eq!((timeline.start_ns, timeline.wall_ns), (sample.start_ns, lasts(sample)));
    assert_eq!(timeline.uncertainty_ns, 0, "nothing but the sample takes time here");
    let host: Vec<&TraceSpan> = timeline.trace.spans.iter().filter(|span| span.track == "host").collect();
    assert_eq!(host[0].start_ns, sample.start_ns);
    assert_eq!(host.iter().map(|span| span.duration_ns).sum::<u64>(), timeline.wall_ns);
    assert_eq!(timeline.trace.counters[0].points[0].0, sample.start_ns);
    let device = timeline.trace.spans.iter().find(|span| span.track == "gpu").unwrap();
    assert_eq!(device.start_ns, 17, "a clock of its own is left alone");
}

#[test]
fn the_inputs_are_those_of_metered_samples() {
    let mut scenario = Scenario::of([busy()]);
    traced(&mut scenario).unwrap();
    let all = scenario.executor.transcript();
    let samples: Vec<SampleRequest> = all.iter().filter_map(Entry::sample).collect();
    let traced: Vec<&SampleRequest> = samples.iter().filter(|sample| sample.mode == Mode::Traced).collect();
    assert_eq!(traced.len(), 1);
    assert_eq!((traced[0].round, traced[0].iterations, traced[0].lead_in), (950, ITERATIONS, 0));
}

#[test]
fn a_worker_without_the_mode_is_an_absence_with_its_reason() {
    let says = Script::steady(MS).absent_mode(Mode::Traced, "no clock here");
    let done = traced(&mut Scenario::of([says])).unwrap();
    assert_eq!((done.outcome, done.timeline), (Outcome::ok(), Err("no clock here".into())));
    let mut silent = Scenario::of([Script::steady(MS)]);
    let done = traced(&mut silent).unwrap();
    assert_eq!(done.outcome, Outcome::ok());
    assert_eq!(done.timeline, Err("its worker takes no traced samples".into()));
    let ops: Vec<&str> = silent.executor.transcript().iter().map(Entry::op).collect();
    assert_eq!(ops, ["launch", "finish"]);
}

#[test]
fn what_goes_wrong_is_the_outcome() {
    for op in ["launch", "prepare", "check", "sample"] {
        let fails = busy().failing(Fault::Ends(OutcomeKind::Crashed), move |_, step| match step {
            Step::Launched => op == "launch",
            Step::Asked(request) => request.op() == op,
            Step::Finished => false,
        });
        let done = traced(&mut Scenario::of([fails])).unwrap();
        assert_eq!(done.outcome, Outcome::new(OutcomeKind::Crashed, "as scripted"));
        assert_eq!(done.timeline, Err("crashed: as scripted".into()));
    }
    let empty = Script::steady(MS).traced(|_, _| None);
    let done = traced(&mut Scenario::of([empty])).unwrap();
    assert_eq!(done.outcome.kind, OutcomeKind::Crashed);
    assert!(done.timeline.unwrap_err().contains("has no `trace`"));
    let wrong = busy().check(|_, _, _| perfharness_contract::protocol::CheckReply {
        check: Check { passed: false, ..Check::default() },
        readings: BTreeMap::new(),
    });
    let mut scenario = Scenario::of([wrong]);
    assert_eq!(traced(&mut scenario).unwrap().outcome.kind, OutcomeKind::WrongResult);
    assert_eq!(scenario.executor.transcript().last().unwrap().op(), "finish", "it ends in good order");
}

#[test]
fn a_side_that_is_skipped_is_not_started_and_the_user_can_stop_it() {
    let mut scenario = Scenario::of([busy()]).side(0, |side| side.skip = Some("too large".into()));
    let done = traced(&mut scenario).unwrap();
    assert_eq!(done.outcome, Outcome::new(OutcomeKind::Skipped, "too large"));
    assert!(scenario.executor.transcript().is_empty());
    for requests in [0, 1, 2, 5] {
        let mut scenario = Scenario::of([busy()]);
        scenario.executor.interrupt_after(requests, false);
        assert_eq!(traced(&mut scenario), Err(Interrupted), "after {requests}");
    }
}
