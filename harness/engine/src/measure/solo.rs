//! Launches of a single benchmark for its profile, memory or trace; their samples do not count as times.
//!
//! In order: [`open`](SoloLaunch::open), [`prepare`](SoloLaunch::prepare), [`check`](SoloLaunch::check),
//! [`warm_up`](SoloLaunch::warm_up), any number of [`sample`](SoloLaunch::sample)s, [`finish`](SoloLaunch::finish).

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{
    CheckReply, HelloReply, Mode, Prepared, Request, SampleReply, SampleRequest,
};
use perfharness_platform::ProcessUsage;
use perfharness_record::{LAUNCH_ALONE, Outcome, Side};

use super::event::CheckStage;
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call, deadline};
use super::order::PlacementRounds;
use super::plausible::{SuspendedClock, refutation};
use super::worker_clock::WorkerClock;
use super::{correctness, warm_up};
use crate::plan::Plan;

/// Rounds of the one placement. The launch number, and so the inputs, differ from those of launches with timed samples.
const ROUNDS: PlacementRounds = PlacementRounds { launch: LAUNCH_ALONE, placement: 0 };
/// Least time of an iteration, whatever a coarse clock says.
const SHORTEST_NS: f64 = 0.1;

/// Launch of one side. Every step fails when the worker fails, and every sample when the user stops the run.
pub(super) struct SoloLaunch<'a> {
    plan: &'a Plan,
    side: &'a Side,
    executor: &'a mut dyn Executor,
    session: Box<dyn Session>,
    hello: HelloReply,
    handle: u64,
    /// Best time of an iteration in the warm-up so far, 0 before it.
    iteration_ns: f64,
    clock: WorkerClock,
    suspended: SuspendedClock,
}

impl<'a> SoloLaunch<'a> {
    /// Starts the worker of a side.
    ///
    /// # Errors
    /// When the side is skipped, the worker does not start, or the user stops the run.
    pub(super) fn open(
        plan: &'a Plan,
        side: &'a Side,
        executor: &'a mut dyn Executor,
    ) -> Result<Self, CallError> {
        Self::open_with(plan, side, executor, &LaunchOptions::of(plan))
    }

    /// The same under other conditions than the plan's.
    pub(super) fn open_with(
        plan: &'a Plan,
        side: &'a Side,
        executor: &'a mut dyn Executor,
        options: &LaunchOptions,
    ) -> Result<Self, CallError> {
        if let Some(reason) = &side.skip {
            return Err(CallError::Ended(Outcome::new(OutcomeKind::Skipped, reason)));
        }
        if executor.interrupted() {
            return Err(CallError::Interrupted);
        }
        let Opened { session, hello } = executor.launch(side.worker, options)?;
        let clock = WorkerClock::default();
        let suspended = SuspendedClock::start(executor);
        Ok(Self { plan, side, executor, session, hello, handle: 0, iteration_ns: 0.0, clock, suspended })
    }

    /// Returns the id of the worker's process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.session.pid()
    }

    /// Returns the name that the worker gives itself.
    pub(super) fn worker(&self) -> &str {
        &self.hello.worker
    }

    /// Returns why the worker takes no samples in a mode, or `None` if it takes some.
    pub(super) fn lacks(&self, mode: Mode) -> Option<String> {
        if self.hello.modes.contains(&mode) {
            return None;
        }
        let why = self.hello.absent_modes.get(mode.as_str()).cloned();
        Some(why.unwrap_or_else(|| format!("its worker takes no {} samples", mode.as_str())))
    }

    /// Makes the one placement.
    pub(super) fn prepare(&mut self) -> Result<(), CallError> {
        let request = Request::Prepare { benchmark: self.side.benchmark.clone(), placement: 0 };
        let prepared: Prepared = call(self.session.as_mut(), &request, self.plan.timeout)?;
        self.handle = prepared.handle;
        Ok(())
    }

    /// Checks an iteration, because a profile of wrong work would be misleading. If the result is wrong, the launch ends in
    /// good order.
    ///
    /// # Errors
    /// When the result is wrong, or the worker fails.
    pub(super) fn check(mut self) -> Result<Self, CallError> {
        let request =
            Request::Check { handle: self.handle, round: ROUNDS.check_round(0), index: 0, fresh: true };
        let reply: CheckReply = call(self.session.as_mut(), &request, self.plan.timeout)?;
        match correctness::judge(CheckStage::Before, &reply) {
            Ok(()) => Ok(self),
            Err(outcome) => {
                self.finish();
                Err(CallError::Ended(outcome))
            }
        }
    }

    /// Runs batches until they stop getting faster; returns the time of an iteration, in ns.
    pub(super) fn warm_up(&mut self) -> Result<f64, CallError> {
        let limits = warm_up::FIRST;
        let mut batches: Vec<f64> = Vec::new();
        let mut spent = 0;
        while batches.len() < warm_up::MAX_BATCHES
            && spent <= limits.limit_ns
            && !warm_up::is_steady(&batches, 0.0, limits)
        {
            let iterations = warm_up::batch_iterations(self.iteration_ns, warm_up::BATCH_NS);
            let round = ROUNDS.warm_up_round(batches.len());
            let reply = self.sample(Mode::Timed, round, iterations)?;
            let time = (reply.wall_ns as f64 / iterations as f64).max(SHORTEST_NS);
            self.iteration_ns = warm_up::faster(self.iteration_ns, time);
            batches.push(time);
            spent += reply.wall_ns;
        }
        Ok(self.iteration_ns)
    }

    /// Returns the round of sample `number`, so that each sample has inputs of its own.
    pub(super) fn round(number: u32) -> u64 {
        ROUNDS.round(number / 2, number % 2)
    }

    /// Takes a sample without a lead-in.
    ///
    /// # Errors
    /// When the worker fails, a sample takes much longer than the warm-up predicts, or the user stops the run.
    pub(super) fn sample(
        &mut self,
        mode: Mode,
        round: u64,
        iterations: u64,
    ) -> Result<SampleReply, CallError> {
        self.sample_after(0, mode, round, iterations)
    }

    /// Takes a sample after a lead-in on the same inputs.
    pub(super) fn sample_after(
        &mut self,
        lead_in: u64,
        mode: Mode,
        round: u64,
        iterations: u64,
    ) -> Result<SampleReply, CallError> {
        let deadline = deadline(self.plan, self.iteration_ns, lead_in + iterations);
        let request = SampleRequest { handle: self.handle, mode, round, offset: 0, lead_in, iterations };
        if self.executor.interrupted() {
            return Err(CallError::Interrupted);
        }
        let sent = self.now_ns();
        let reply: SampleReply = call(self.session.as_mut(), &Request::Sample(request), deadline)?;
        let answered = self.now_ns();
        let (elapsed_ns, step_ns) = (answered.saturating_sub(sent), self.hello.clock_resolution_ns);
        let refuted = refutation(&reply, iterations, elapsed_ns, step_ns, &self.suspended, self.executor);
        // A sample that took no time by a coarse clock is still of use here.
        if let Some(reason) = refuted.filter(|_| reply.wall_ns > 0) {
            return Err(CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason)));
        }
        self.clock.add(&reply, sent, answered);
        Ok(reply)
    }

    /// Returns the offset of the worker's clock, as far as the samples so far narrow it down.
    pub(super) fn clock(&self) -> &WorkerClock {
        &self.clock
    }

    /// Returns the memory and time that the process has used so far.
    pub(super) fn usage(&self) -> ProcessUsage {
        self.session.usage()
    }

    /// Returns the time on the harness's monotonic clock, in ns.
    pub(super) fn now_ns(&self) -> u64 {
        self.executor.now_ns()
    }

    /// Ends the worker in good order.
    pub(super) fn finish(self) {
        self.session.finish();
    }
}
