//! Tracing of a benchmark, in a launch of its own without timed samples.

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{Mode, Trace};
use perfharness_record::{Outcome, Phase, Side, Timeline};

use super::executor::{CallError, Executor, unless_interrupted};
use super::launch::Interrupted;
use super::order::METERED_ROUND;
use super::solo::SoloLaunch;
use super::worker_clock::{WorkerClock, start_ns};
use crate::plan::Plan;

/// Result of tracing a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Outcome of the launch.
    pub outcome: Outcome,
    /// The timeline, or why there is none.
    pub timeline: Result<Timeline, String>,
}

impl Traced {
    fn ended(outcome: Outcome) -> Self {
        Self { timeline: Err(outcome.in_words()), outcome }
    }
}

/// Phases so far: each begins at the end of the one before it.
struct Phases {
    done: Vec<Phase>,
    since_ns: u64,
}

impl Phases {
    fn end(&mut self, name: &'static str, now_ns: u64) {
        self.done.push(Phase { name, start_ns: self.since_ns, end_ns: now_ns });
        self.since_ns = now_ns;
    }
}

/// Traces some iterations of a side, on the inputs of its metered samples.
///
/// # Errors
/// When the user stops it.
pub fn trace_side(
    plan: &Plan,
    side: &Side,
    executor: &mut dyn Executor,
    iterations: u64,
) -> Result<Traced, Interrupted> {
    unless_interrupted(trace(plan, side, executor, iterations), Traced::ended)
}

fn trace(
    plan: &Plan,
    side: &Side,
    executor: &mut dyn Executor,
    iterations: u64,
) -> Result<Traced, CallError> {
    let mut phases = Phases { done: Vec::new(), since_ns: executor.now_ns() };
    let mut launch = SoloLaunch::open(plan, side, executor)?;
    phases.end("start", launch.now_ns());
    if let Some(reason) = launch.lacks(Mode::Traced) {
        launch.finish();
        return Ok(Traced { outcome: Outcome::ok(), timeline: Err(reason) });
    }
    launch.prepare()?;
    phases.end("prepare", launch.now_ns());
    let mut launch = launch.check()?;
    phases.end("check", launch.now_ns());
    launch.warm_up()?;
    phases.end("warm-up", launch.now_ns());
    let asked_ns = phases.since_ns;
    let mut reply = launch.sample(Mode::Traced, METERED_ROUND, iterations)?;
    phases.end("traced sample", launch.now_ns());
    let (clock, usage, worker) = (*launch.clock(), launch.usage(), launch.worker().to_owned());
    launch.finish();
    phases.end("finish", executor.now_ns());
    let start = start_ns(&reply);
    let Some(trace) = reply.trace.take() else {
        let reason = "its answer to a `traced` sample has no `trace`";
        return Ok(Traced::ended(Outcome::new(OutcomeKind::Crashed, reason)));
    };
    let timeline = Timeline {
        // A sample without a start is drawn where its phase begins.
        start_ns: start.map_or(asked_ns, |start| moved(start, clock)),
        phases: phases.done,
        worker,
        iterations,
        wall_ns: reply.wall_ns,
        trace: placed(trace, clock),
        uncertainty_ns: clock.offset_ns().1,
        peak_rss_bytes: usage.peak_rss_bytes,
    };
    Ok(Traced { outcome: Outcome::ok(), timeline: Ok(timeline) })
}

fn moved(moment: u64, clock: WorkerClock) -> u64 {
    moment.saturating_add_signed(clock.offset_ns().0)
}

/// Moves a trace to the harness's clock.
fn placed(mut trace: Trace, clock: WorkerClock) -> Trace {
    let tracks = &trace.tracks;
    let has_own_clock = |track: &str| tracks.get(track).is_some_and(|track| track.own_clock);
    for span in trace.spans.iter_mut().filter(|span| !has_own_clock(&span.track)) {
        span.start_ns = moved(span.start_ns, clock);
    }
    for (moment, _) in trace.counters.iter_mut().flat_map(|counter| &mut counter.points) {
        *moment = moved(*moment, clock);
    }
    trace
}
