//! Profiling of a benchmark, in a launch of its own without timed samples.

use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::Mode;
use perfharness_record::{Outcome, Profiled, Side, StackProfile};

use super::executor::{CallError, Executor, unless_interrupted};
use super::launch::Interrupted;
use super::solo::SoloLaunch;
use crate::plan::Plan;

/// Intended time of a profiled sample. Some iterations leave files behind until the next sample begins, and workers may
/// hold the inputs of a whole sample: longer samples would leave more, and shorter ones start the profiler more often.
pub(super) const SAMPLE_NS: f64 = 200_000_000.0;
/// Most time for a benchmark that gets the CPU for a part of the time only, as a multiple of the time asked for.
pub(super) const OVERTIME: u32 = 3;

/// Profiles a side with samples of `work` in all.
///
/// # Errors
/// When the user stops it.
pub fn profile_side(
    plan: &Plan,
    side: &Side,
    executor: &mut dyn Executor,
    work: Duration,
) -> Result<Profiled, Interrupted> {
    let profiled = SoloLaunch::open(plan, side, executor).and_then(|launch| profile(launch, work));
    unless_interrupted(profiled, Profiled::ended)
}

fn profile(mut launch: SoloLaunch<'_>, work: Duration) -> Result<Profiled, CallError> {
    if let Some(reason) = launch.lacks(Mode::Profiled) {
        launch.finish();
        return Ok(Profiled::absent(reason));
    }
    launch.prepare()?;
    let mut launch = launch.check()?;
    let iteration_ns = launch.warm_up()?;
    let share = SAMPLE_NS.min(work.as_nanos() as f64);
    let iterations = (share / iteration_ns).clamp(1.0, 1e8) as u64;
    let limit = launch.now_ns() + (work * OVERTIME).as_nanos() as u64;
    let mut profile = StackProfile::default();
    let mut number = 0;
    while profile.sampled_ns() < work.as_nanos() as u64 && (number == 0 || launch.now_ns() < limit) {
        let reply = launch.sample(Mode::Profiled, SoloLaunch::round(number), iterations)?;
        number += 1;
        if let Err(reason) = profile.add(reply, iterations) {
            launch.finish();
            return Ok(Profiled::ended(Outcome::new(OutcomeKind::Crashed, reason)));
        }
    }
    launch.finish();
    if profile.samples() == 0 {
        return Ok(Profiled::absent(profile.why_empty()));
    }
    Ok(Profiled { outcome: Outcome::ok(), profile: Ok(profile) })
}
