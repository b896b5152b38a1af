//! A launch of one benchmark, alone on the machine, that nothing is timed in: for looking at what it does.
//!
//! In order: [`open`](Alone::open), [`prepare`](Alone::prepare), [`check`](Alone::check), [`warm_up`](Alone::warm_up),
//! any number of [`sample`](Alone::sample)s, [`finish`](Alone::finish).

use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{
    CheckReply, HelloReply, Mode, Prepared, Request, SampleReply, SampleRequest,
};
use perfharness_platform::ProcessUsage;

use super::correctness;
use super::event::CheckStage;
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call};
use super::launch::{BATCH_NS, SLOWDOWN_ALLOWED};
use super::order::Place;
use super::plausible::impossible;
use super::warm_up;
use super::worker_clock::WorkerClock;
use crate::plan::Plan;
use perfharness_record::{LAUNCH_ALONE, Outcome, Side};

/// The place of the launch, whose inputs are those of no timed sample.
const PLACE: Place = Place { launch: LAUNCH_ALONE, placement: 0 };
/// No iteration takes less, whatever a coarse clock says.
const SHORTEST_NS: f64 = 0.1;

/// The launch.
pub(super) struct Alone<'a> {
    plan: &'a Plan,
    side: &'a Side,
    executor: &'a mut dyn Executor,
    session: Box<dyn Session>,
    hello: HelloReply,
    handle: u64,
    /// Time of an iteration, as far as the warm-up has found it.
    iteration_ns: f64,
    clock: WorkerClock,
    /// Time in ns that the machine had been suspended when it was opened: some clocks go on meanwhile.
    suspended_ns: Option<u64>,
}

impl<'a> Alone<'a> {
    /// Starts the worker of a side.
    ///
    /// # Errors
    /// When the side is to be skipped, when the worker does not start, and when the user stops it.
    pub(super) fn open(
        plan: &'a Plan,
        side: &'a Side,
        executor: &'a mut dyn Executor,
    ) -> Result<Self, CallError> {
        if let Some(reason) = &side.skip {
            return Err(CallError::Ended(Outcome::new(OutcomeKind::Skipped, reason)));
        }
        if executor.interrupted() {
            return Err(CallError::Interrupted);
        }
        let options = LaunchOptions {
            seed: plan.seed,
            device: plan.device.clone(),
            settings: plan.settings.clone(),
            memory_limit_bytes: plan.memory_limit_bytes,
            deadline: plan.timeout,
        };
        let Opened { session, hello } = executor.launch(side.worker, &options)?;
        let clock = WorkerClock::default();
        let suspended_ns = executor.machine().suspended_ns;
        Ok(Self { plan, side, executor, session, hello, handle: 0, iteration_ns: 0.0, clock, suspended_ns })
    }

    /// What the worker calls itself.
    pub(super) fn worker(&self) -> &str {
        &self.hello.worker
    }

    /// Why the worker takes no samples in a mode, where it does not.
    pub(super) fn lacks(&self, mode: Mode) -> Option<String> {
        if self.hello.modes.contains(&mode) {
            return None;
        }
        let why = self.hello.absent_modes.get(mode.as_str()).cloned();
        Some(why.unwrap_or_else(|| format!("its worker takes no {} samples", mode.as_str())))
    }

    /// Makes the one placement.
    ///
    /// # Errors
    /// When the worker cannot.
    pub(super) fn prepare(&mut self) -> Result<(), CallError> {
        let request = Request::Prepare { benchmark: self.side.benchmark.clone(), placement: 0 };
        let prepared: Prepared = call(self.session.as_mut(), &request, self.plan.timeout)?;
        self.handle = prepared.handle;
        Ok(())
    }

    /// Checks an iteration: a picture of a wrong result would be taken for one of the work. Where it is wrong, the launch
    /// ends in good order.
    ///
    /// # Errors
    /// When the result is wrong, or the worker fails.
    pub(super) fn check(mut self) -> Result<Self, CallError> {
        let request =
            Request::Check { handle: self.handle, round: PLACE.check_round(0), index: 0, fresh: true };
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
    ///
    /// # Errors
    /// When the worker fails, or the user stops it.
    pub(super) fn warm_up(&mut self) -> Result<f64, CallError> {
        let patience = warm_up::FIRST;
        let mut batches: Vec<f64> = Vec::new();
        let mut spent = 0;
        while batches.len() < warm_up::MAX_BATCHES
            && spent <= patience.limit_ns
            && !warm_up::is_steady(&batches, patience.confirming)
        {
            let best = self.iteration_ns;
            let iterations = if best > 0.0 { (BATCH_NS / best).ceil().max(1.0) as u64 } else { 1 };
            let round = PLACE.warm_up_round(batches.len());
            let reply = self.sample(Mode::Timed, round, iterations)?;
            let time = (reply.wall_ns as f64 / iterations as f64).max(SHORTEST_NS);
            self.iteration_ns = if best > 0.0 { best.min(time) } else { time };
            batches.push(time);
            spent += reply.wall_ns;
        }
        Ok(self.iteration_ns)
    }

    /// The round of sample `number`: inputs of its own.
    pub(super) fn round(number: u32) -> u64 {
        PLACE.round(number / 2, number % 2)
    }

    /// Takes a sample without a lead-in.
    ///
    /// # Errors
    /// When the worker fails or takes much longer than the warm-up lets expect, and when the user stops it.
    pub(super) fn sample(
        &mut self,
        mode: Mode,
        round: u64,
        iterations: u64,
    ) -> Result<SampleReply, CallError> {
        self.sample_after(0, mode, round, iterations)
    }

    /// Takes a sample after so many iterations on the same inputs.
    ///
    /// # Errors
    /// As for [`sample`](Self::sample).
    pub(super) fn sample_after(
        &mut self,
        lead_in: u64,
        mode: Mode,
        round: u64,
        iterations: u64,
    ) -> Result<SampleReply, CallError> {
        let expected = self.iteration_ns * (lead_in + iterations) as f64 * SLOWDOWN_ALLOWED;
        let deadline = self.plan.timeout + Duration::from_nanos(expected as u64);
        let request = SampleRequest { handle: self.handle, mode, round, offset: 0, lead_in, iterations };
        if self.executor.interrupted() {
            return Err(CallError::Interrupted);
        }
        let sent = self.now_ns();
        let reply = call(self.session.as_mut(), &Request::Sample(request), deadline)?;
        let answered = self.now_ns();
        if let Some(reason) = self.refuted(&reply, iterations, answered.saturating_sub(sent)) {
            return Err(CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason)));
        }
        self.clock.see(&reply, sent, answered);
        Ok(reply)
    }

    /// Why a sample cannot have been as it is told. One that took no time at all by a coarse clock is of use here.
    fn refuted(&self, reply: &SampleReply, iterations: u64, elapsed_ns: u64) -> Option<String> {
        if reply.wall_ns == 0 {
            return None;
        }
        let fault = |elapsed_ns| impossible(reply, iterations, elapsed_ns, self.hello.clock_resolution_ns);
        fault(elapsed_ns)?;
        // The worker's clock may have gone on while the machine was suspended, and ours not.
        let now = self.executor.machine().suspended_ns;
        let suspended = now.zip(self.suspended_ns).map_or(0, |(now, before)| now.saturating_sub(before));
        fault(elapsed_ns.saturating_add(suspended))
    }

    /// The worker's clock, as far as the samples so far have shown it.
    pub(super) fn clock(&self) -> &WorkerClock {
        &self.clock
    }

    /// What the process has used so far.
    pub(super) fn usage(&self) -> ProcessUsage {
        self.session.usage()
    }

    /// The harness's monotonic clock, in ns.
    pub(super) fn now_ns(&self) -> u64 {
        self.executor.now_ns()
    }

    /// Ends the worker in good order.
    pub(super) fn finish(self) {
        self.session.finish();
    }
}
