//! Profiling one benchmark: a launch of its own, alone on the machine, that nothing is timed in.

use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{CheckReply, Mode, Prepared, Request, SampleReply, SampleRequest};

use super::correctness;
use super::event::CheckStage;
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call};
use super::launch::{BATCH_NS, Interrupted, SLOWDOWN_ALLOWED};
use super::order::Place;
use super::outcome::Outcome;
use super::warm_up;
use crate::plan::{Plan, Side};
use crate::profile::StackProfile;

/// Numbers of a launch, and so its inputs, that no launch with timed samples has.
const LAUNCH: u32 = 2_000;
/// A profiled sample lasts about this long: some iterations leave files behind until the next sample begins, and workers
/// may hold the inputs of a whole sample. Longer ones would leave more, and shorter ones start the profiler more often.
const SAMPLE_NS: f64 = 200_000_000.0;
/// Time for a benchmark, as a multiple of what was asked for, where it gets the CPU for less than the whole time.
const PATIENCE: u32 = 3;
/// No iteration takes less, whatever a coarse clock says.
const SHORTEST_NS: f64 = 0.1;

/// What became of profiling a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiled {
    /// How the launch ended.
    pub outcome: Outcome,
    /// What the profiler saw, or why there is nothing.
    pub profile: Result<StackProfile, String>,
}

impl Profiled {
    /// It did not end well.
    pub fn ended(outcome: Outcome) -> Self {
        let reason = outcome.reason.as_deref().unwrap_or("for no stated reason");
        let profile = Err(format!("{}: {reason}", outcome.kind.as_str()));
        Self { outcome, profile }
    }

    /// There is nothing to be had, and nothing went wrong.
    fn absent(reason: String) -> Self {
        Self { outcome: Outcome::ok(), profile: Err(reason) }
    }
}

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
    if let Some(reason) = &side.skip {
        return Ok(Profiled::ended(Outcome::new(OutcomeKind::Skipped, reason)));
    }
    if executor.interrupted() {
        return Err(Interrupted);
    }
    let options = LaunchOptions {
        seed: plan.seed,
        device: plan.device.clone(),
        settings: plan.settings.clone(),
        memory_limit_bytes: plan.memory_limit_bytes,
        deadline: plan.timeout,
    };
    let profiled = executor.launch(side.worker, &options).and_then(|opened| {
        let Opened { session, hello } = opened;
        if !hello.modes.contains(&Mode::Profiled) {
            session.finish();
            let why = hello.absent_modes.get(Mode::Profiled.as_str());
            let reason = why.map_or("its worker takes no profiled samples", String::as_str);
            return Ok(Profiled::absent(reason.into()));
        }
        Launch { plan, side, executor, session, handle: 0 }.profile(work)
    });
    match profiled {
        Ok(profiled) => Ok(profiled),
        Err(CallError::Interrupted) => Err(Interrupted),
        Err(CallError::Ended(outcome)) => Ok(Profiled::ended(outcome)),
    }
}

struct Launch<'a> {
    plan: &'a Plan,
    side: &'a Side,
    executor: &'a mut dyn Executor,
    session: Box<dyn Session>,
    handle: u64,
}

impl Launch<'_> {
    const PLACE: Place = Place { launch: LAUNCH, placement: 0 };

    fn profile(mut self, work: Duration) -> Result<Profiled, CallError> {
        let timeout = self.plan.timeout;
        let prepare = Request::Prepare { benchmark: self.side.benchmark.clone(), placement: 0 };
        let prepared: Prepared = call(self.session.as_mut(), &prepare, timeout)?;
        self.handle = prepared.handle;
        // A picture of a wrong result would be taken for one of the work.
        let check =
            Request::Check { handle: self.handle, round: Self::PLACE.check_round(0), index: 0, fresh: true };
        let reply: CheckReply = call(self.session.as_mut(), &check, timeout)?;
        if let Err(outcome) = correctness::judge(CheckStage::Before, &reply) {
            self.session.finish();
            return Ok(Profiled::ended(outcome));
        }
        let iteration_ns = self.warm_up()?;
        let share = SAMPLE_NS.min(work.as_nanos() as f64);
        let iterations = (share / iteration_ns).clamp(1.0, 1e8) as u64;
        let limit = self.executor.now_ns() + (work * PATIENCE).as_nanos() as u64;
        let mut profile = StackProfile::default();
        let mut number = 0;
        while profile.sampled_ns() < work.as_nanos() as u64 && (number == 0 || self.executor.now_ns() < limit)
        {
            let round = Self::PLACE.round(number / 2, number % 2);
            number += 1;
            let reply = self.sample(Mode::Profiled, round, iterations, iteration_ns)?;
            if let Err(reason) = profile.add(reply, iterations) {
                self.session.finish();
                return Ok(Profiled::ended(Outcome::new(OutcomeKind::Crashed, reason)));
            }
        }
        self.session.finish();
        if profile.samples() == 0 {
            return Ok(Profiled::absent(profile.why_empty()));
        }
        Ok(Profiled { outcome: Outcome::ok(), profile: Ok(profile) })
    }

    /// Runs batches until they stop getting faster; returns the time of an iteration.
    fn warm_up(&mut self) -> Result<f64, CallError> {
        let patience = warm_up::FIRST;
        let mut batches: Vec<f64> = Vec::new();
        let mut best = 0.0_f64;
        let mut spent = 0;
        while batches.len() < warm_up::MAX_BATCHES
            && spent <= patience.limit_ns
            && !warm_up::is_steady(&batches, patience.confirming)
        {
            let iterations = if best > 0.0 { (BATCH_NS / best).ceil().max(1.0) as u64 } else { 1 };
            let round = Self::PLACE.warm_up_round(batches.len());
            let reply = self.sample(Mode::Timed, round, iterations, best)?;
            let time = (reply.wall_ns as f64 / iterations as f64).max(SHORTEST_NS);
            best = if best > 0.0 { best.min(time) } else { time };
            batches.push(time);
            spent += reply.wall_ns;
        }
        Ok(best)
    }

    fn sample(
        &mut self,
        mode: Mode,
        round: u64,
        iterations: u64,
        iteration_ns: f64,
    ) -> Result<SampleReply, CallError> {
        let expected = iteration_ns * iterations as f64 * SLOWDOWN_ALLOWED;
        let deadline = self.plan.timeout + Duration::from_nanos(expected as u64);
        let request = SampleRequest { handle: self.handle, mode, round, offset: 0, lead_in: 0, iterations };
        if self.executor.interrupted() {
            return Err(CallError::Interrupted);
        }
        call(self.session.as_mut(), &Request::Sample(request), deadline)
    }
}
