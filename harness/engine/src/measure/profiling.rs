//! Profiling one benchmark: a launch of its own, alone on the machine, that nothing is timed in.

use perfharness_record::Profiled;
use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::Mode;

use super::alone::Alone;
use super::executor::{CallError, Executor};
use super::launch::Interrupted;
use crate::plan::Plan;
use perfharness_record::Outcome;
use perfharness_record::Side;
use perfharness_record::StackProfile;

/// A profiled sample lasts about this long: some iterations leave files behind until the next sample begins, and workers
/// may hold the inputs of a whole sample. Longer ones would leave more, and shorter ones start the profiler more often.
pub(super) const SAMPLE_NS: f64 = 200_000_000.0;
/// Time for a benchmark, as a multiple of what was asked for, where it gets the CPU for less than the whole time.
pub(super) const PATIENCE: u32 = 3;

/// Profiles a side, with samples that last so long together.
///
/// # Errors
/// When the user stops it.
pub fn profile_side(
    plan: &Plan,
    side: &Side,
    executor: &mut dyn Executor,
    work: Duration,
) -> Result<Profiled, Interrupted> {
    match Alone::open(plan, side, executor).and_then(|launch| profile(launch, work)) {
        Ok(profiled) => Ok(profiled),
        Err(CallError::Interrupted) => Err(Interrupted),
        Err(CallError::Ended(outcome)) => Ok(Profiled::ended(outcome)),
    }
}

fn profile(mut launch: Alone<'_>, work: Duration) -> Result<Profiled, CallError> {
    if let Some(reason) = launch.lacks(Mode::Profiled) {
        launch.finish();
        return Ok(Profiled::absent(reason));
    }
    launch.prepare()?;
    let mut launch = launch.check()?;
    let iteration_ns = launch.warm_up()?;
    let share = SAMPLE_NS.min(work.as_nanos() as f64);
    let iterations = (share / iteration_ns).clamp(1.0, 1e8) as u64;
    let limit = launch.now_ns() + (work * PATIENCE).as_nanos() as u64;
    let mut profile = StackProfile::default();
    let mut number = 0;
    while profile.sampled_ns() < work.as_nanos() as u64 && (number == 0 || launch.now_ns() < limit) {
        let reply = launch.sample(Mode::Profiled, Alone::round(number), iterations)?;
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
