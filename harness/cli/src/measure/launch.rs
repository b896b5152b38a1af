//! One launch of a case: processes, placements, blocks, rounds.

use std::time::Duration;

use perfharness_contract::protocol::{CheckReply, Mode, Prepared, Request, SampleReply, SampleRequest};
use perfharness_contract::{MetricDef, OutcomeKind};
use perfharness_verdict::Allocation;
use serde_json::Value;

use super::contamination;
use super::correctness;
use super::engine::Recorder;
use super::event::{CheckStage, Event, LaunchTiming, SampleEvent};
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call};
use super::order::{METERED_ROUND, Place, block_order};
use super::warm_up::{self, Patience, WarmUp};
use super::{Outcome, SampleLength};
use crate::plan::{CasePlan, Plan};

/// The user asked the harness to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupted;

/// A batch of the warm-up lasts about this long.
const BATCH_NS: f64 = 1_000_000.0;
/// Iterations of a metered sample: two, so that a count that grows from one to the next is seen.
const METERED_ITERATIONS: u64 = 2;
/// Metered samples are taken in this many launches at least; an exact metric that differs between two is demoted.
const METERED_LAUNCHES: u32 = 2;
/// Iterations longer than this are metered in those launches only.
const METERED_EVERY_LAUNCH_NS: f64 = 100_000_000.0;
/// A sample may take this much longer than expected before it counts as hanging.
const SLOWDOWN_ALLOWED: f64 = 20.0;
/// Older placements are held, so that new ones cannot get their pages, until the workers hold this share of memory.
const HOLD_SHARE: f64 = 0.4;

/// One side that is alive.
struct Live {
    side: usize,
    session: Box<dyn Session>,
    modes: Vec<Mode>,
    clock_step_ns: Option<u64>,
    /// Placements that are held, the current one last.
    handles: Vec<u64>,
    /// Expected time of an iteration; 0 before anything was run.
    iteration_ns: f64,
    length: Option<SampleLength>,
    /// Round and last iteration of the latest timed sample.
    last: Option<(u64, u64)>,
}

impl Live {
    fn handle(&self) -> u64 {
        self.handles.last().copied().unwrap_or(0)
    }
}

/// Everything that a launch needs.
pub(super) struct LaunchRunner<'a, 'e> {
    pub(super) plan: &'a Plan,
    pub(super) case_plan: &'a CasePlan,
    pub(super) metrics: &'a [MetricDef],
    pub(super) case: usize,
    pub(super) launch: u32,
    pub(super) executor: &'a mut dyn Executor,
    pub(super) recorder: &'a mut Recorder<'e>,
    pub(super) allocation: Allocation,
    /// Time on the executor's clock after which no further block is begun.
    pub(super) deadline_ns: u64,
    pub(super) timing: LaunchTiming,
}

impl LaunchRunner<'_, '_> {
    /// Runs all parts of the launch.
    pub(super) fn run(mut self, parts: &[Vec<usize>]) -> Result<(), Interrupted> {
        let start = self.executor.now_ns();
        self.emit(Event::LaunchStarted {
            case: self.case,
            launch: self.launch,
            placements: self.allocation.placements as u32,
            blocks: self.allocation.blocks as u32,
            load_average: self.executor.load_average(),
            unix_ms: perfharness_platform::clock::unix_ms(),
        });
        for (part, sides) in parts.iter().enumerate() {
            self.part(part as u32, sides)?;
        }
        self.timing.total_ns = self.executor.now_ns().saturating_sub(start);
        self.emit(Event::LaunchFinished { case: self.case, launch: self.launch, timing: self.timing });
        Ok(())
    }

    fn emit(&mut self, event: Event) {
        self.recorder.emit(event);
    }

    fn part(&mut self, part: u32, sides: &[usize]) -> Result<(), Interrupted> {
        let stream = self.case_plan.label();
        let first_round = Place { launch: self.launch, placement: 0 }.check_round(0);
        let order = block_order(self.plan.seed, &format!("launch/{stream}"), first_round, sides);
        let mut lives = Vec::new();
        for side in order {
            if let Some(live) = self.open(side)? {
                lives.push(Some(live));
            }
        }
        for placement in 0..self.allocation.placements as u32 {
            if lives.iter().all(Option::is_none) || (placement > 0 && self.out_of_time()) {
                break;
            }
            self.placement(part, placement, &mut lives)?;
        }
        self.after_checks(&mut lives)?;
        self.meter(part, &mut lives)?;
        for live in lives.into_iter().flatten() {
            let usage = live.session.usage();
            self.emit(Event::WorkerFinished {
                case: self.case,
                side: live.side,
                launch: self.launch,
                peak_rss_bytes: usage.peak_rss_bytes,
                cpu_ns: usage.cpu_ns,
            });
            live.session.finish();
        }
        Ok(())
    }

    fn out_of_time(&self) -> bool {
        self.executor.now_ns() >= self.deadline_ns && self.recorder.state.cases[self.case].has_blocks()
    }

    /// Starts a worker; a failure decides the benchmark.
    fn open(&mut self, side: usize) -> Result<Option<Live>, Interrupted> {
        let options = LaunchOptions {
            seed: self.plan.seed,
            device: self.plan.device.clone(),
            memory_limit_bytes: self.plan.memory_limit_bytes,
            deadline: self.plan.timeout,
        };
        let opened = self.executor.launch(self.case_plan.sides[side].worker, &options);
        let Some(Opened { session, hello }) = self.settle(side, opened)? else { return Ok(None) };
        let state = &self.recorder.state.cases[self.case].sides[side];
        let live = Live {
            side,
            session,
            modes: hello.modes.clone(),
            clock_step_ns: hello.clock_resolution_ns,
            handles: Vec::new(),
            iteration_ns: state.iteration_ns().unwrap_or(0.0),
            length: state.length,
            last: None,
        };
        self.emit(Event::WorkerOpened { case: self.case, side, launch: self.launch, hello });
        Ok(Some(live))
    }

    /// Turns the end of a worker into the outcome of its benchmark.
    fn settle<T>(&mut self, side: usize, result: Result<T, CallError>) -> Result<Option<T>, Interrupted> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(CallError::Interrupted) => Err(Interrupted),
            Err(CallError::Ended(outcome)) => {
                self.emit(Event::OutcomeSet { case: self.case, side, outcome });
                Ok(None)
            }
        }
    }

    /// Asks one worker; a failure decides its benchmark and ends it.
    fn ask<T>(
        &mut self,
        slot: &mut Option<Live>,
        deadline: Duration,
        request: impl FnOnce(&Live) -> Request,
    ) -> Result<Option<T>, Interrupted>
    where
        T: serde::de::DeserializeOwned,
    {
        let Some(live) = slot else { return Ok(None) };
        let request = request(live);
        let (side, result) = (live.side, call::<T>(live.session.as_mut(), &request, deadline));
        let answer = self.settle(side, result)?;
        if answer.is_none() {
            *slot = None;
        }
        Ok(answer)
    }

    /// A wrong result ends a worker, too.
    fn reject(&mut self, slot: &mut Option<Live>, outcome: Outcome) {
        if let Some(live) = slot.take() {
            self.emit(Event::OutcomeSet { case: self.case, side: live.side, outcome });
            live.session.finish();
        }
    }

    fn placement(&mut self, part: u32, placement: u32, lives: &mut [Option<Live>]) -> Result<(), Interrupted> {
        let place = Place { launch: self.launch, placement };
        let start = self.executor.now_ns();
        self.make_room(placement, lives)?;
        for slot in lives.iter_mut() {
            let timeout = self.plan.timeout;
            let benchmark = slot.as_ref().map(|l| self.case_plan.sides[l.side].benchmark.clone());
            let Some(benchmark) = benchmark else { continue };
            let prepared: Option<Prepared> =
                self.ask(slot, timeout, |_| Request::Prepare { benchmark, placement })?;
            if let (Some(live), Some(prepared)) = (slot.as_mut(), prepared) {
                live.handles.push(prepared.handle);
            }
        }
        if placement == 0 {
            self.before_checks(place, lives)?;
        }
        for slot in lives.iter_mut() {
            self.warm_up(place, slot)?;
        }
        let blocks_start = self.executor.now_ns();
        for block in 0..self.allocation.blocks as u32 {
            if lives.iter().all(Option::is_none) || (block > 0 && self.out_of_time()) {
                break;
            }
            self.block(part, place, block, lives)?;
        }
        let end = self.executor.now_ns();
        self.timing.placements += 1;
        self.timing.placements_ns += blocks_start.saturating_sub(start);
        self.timing.blocks_ns += end.saturating_sub(blocks_start);
        Ok(())
    }

    /// Lets go of older placements where the next one would not fit beside them.
    fn make_room(&mut self, placement: u32, lives: &mut [Option<Live>]) -> Result<(), Interrupted> {
        if placement == 0 {
            return Ok(());
        }
        let held: u64 = lives.iter().flatten().filter_map(|l| l.session.usage().rss_bytes).sum();
        let expected = held as f64 * f64::from(placement + 1) / f64::from(placement);
        if expected <= self.executor.total_memory() as f64 * HOLD_SHARE {
            return Ok(());
        }
        let timeout = self.plan.timeout;
        for slot in lives.iter_mut() {
            let handles = slot.as_mut().map(|live| std::mem::take(&mut live.handles)).unwrap_or_default();
            for handle in handles {
                let _: Option<Value> = self.ask(slot, timeout, |_| Request::Release { handle })?;
            }
        }
        Ok(())
    }

    /// Checks every side on iterations of their own: twice in the first launch, because a result that was remembered
    /// is right the first time.
    fn before_checks(&mut self, place: Place, lives: &mut [Option<Live>]) -> Result<(), Interrupted> {
        let rounds = if self.launch == 0 { 2 } else { 1 };
        for number in 0..rounds {
            let (round, index) = (place.check_round(number), u64::from(number));
            let mut replies: Vec<(usize, CheckReply)> = Vec::new();
            for slot in lives.iter_mut() {
                if let Some(reply) = self.check(slot, CheckStage::Before, round, index)? {
                    replies.extend(slot.as_ref().map(|live| (live.side, reply)));
                }
            }
            for slot in lives.iter_mut() {
                let Some(side) = slot.as_ref().map(|l| l.side) else { continue };
                let Some(reference) = self.case_plan.sides[side].reference else { continue };
                let reply_of = |side: usize| replies.iter().find(|(s, _)| *s == side).map(|(_, reply)| reply);
                if let (Some(theirs), Some(ours)) = (reply_of(reference), reply_of(side)) {
                    let name = self.case_plan.sides[reference].benchmark.variant.as_str();
                    if let Err(outcome) = correctness::agree((name, theirs), ours, self.metrics) {
                        self.reject(slot, outcome);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks what the last timed sample of each side left.
    fn after_checks(&mut self, lives: &mut [Option<Live>]) -> Result<(), Interrupted> {
        for slot in lives.iter_mut() {
            if let Some((round, index)) = slot.as_ref().and_then(|live| live.last) {
                self.check(slot, CheckStage::After, round, index)?;
            }
        }
        Ok(())
    }

    fn check(
        &mut self,
        slot: &mut Option<Live>,
        stage: CheckStage,
        round: u64,
        index: u64,
    ) -> Result<Option<CheckReply>, Interrupted> {
        let fresh = stage == CheckStage::Before;
        let deadline = self.deadline(slot, 1);
        let reply: Option<CheckReply> =
            self.ask(slot, deadline, |live| Request::Check { handle: live.handle(), round, index, fresh })?;
        let (Some(live), Some(reply)) = (slot.as_ref(), reply) else { return Ok(None) };
        let event = Event::Checked {
            case: self.case,
            side: live.side,
            launch: self.launch,
            stage,
            round,
            index,
            reply: reply.clone(),
        };
        self.emit(event);
        if let Err(outcome) = correctness::judge(stage, &reply) {
            self.reject(slot, outcome);
            return Ok(None);
        }
        Ok(Some(reply))
    }

    fn deadline(&self, slot: &Option<Live>, iterations: u64) -> Duration {
        let expected = slot.as_ref().map_or(0.0, |live| live.iteration_ns) * iterations as f64;
        self.plan.timeout + Duration::from_nanos((expected * SLOWDOWN_ALLOWED) as u64)
    }

    /// Runs batches until they stop getting faster; the first warm-up of a side also decides how long its samples are.
    fn warm_up(&mut self, place: Place, slot: &mut Option<Live>) -> Result<(), Interrupted> {
        let Patience { confirming, limit_ns } =
            if place.placement == 0 { warm_up::FIRST } else { warm_up::LATER };
        let mut batches: Vec<f64> = Vec::new();
        let mut spent = 0;
        while batches.len() < warm_up::MAX_BATCHES && !warm_up::is_steady(&batches, confirming) {
            let known = slot.as_ref().map_or(0.0, |live| live.iteration_ns);
            // An iteration that takes the whole patience is not repeated for a batch that could only confirm it.
            if (spent as f64 + known) > limit_ns as f64 && !(batches.is_empty() && place.placement == 0) {
                break;
            }
            let iterations = if known > 0.0 { (BATCH_NS / known).ceil().max(1.0) as u64 } else { 1 };
            let round = place.warm_up_round(batches.len());
            let reply = self.sample(slot, Mode::Timed, round, SampleLength { iterations, lead_in: 0 })?;
            let (Some(live), Some((reply, _))) = (slot.as_mut(), reply) else { return Ok(()) };
            let time = reply.wall_ns as f64 / iterations as f64;
            live.iteration_ns = if live.iteration_ns > 0.0 { live.iteration_ns.min(time) } else { time };
            batches.push(time);
            spent += reply.wall_ns;
        }
        let Some(live) = slot.as_mut() else { return Ok(()) };
        let (case, side, launch) = (self.case, live.side, self.launch);
        let untuned = live.length.is_none();
        let length = *live.length.get_or_insert_with(|| {
            SampleLength::choose(live.iteration_ns, self.plan.design.sample_ns, live.clock_step_ns)
        });
        if !batches.is_empty() {
            let steady = warm_up::is_steady(&batches, confirming);
            let warm_up = WarmUp::of(&batches, steady);
            self.emit(Event::WarmedUp { case, side, launch, placement: place.placement, warm_up });
        }
        if untuned {
            let SampleLength { iterations, lead_in } = length;
            self.emit(Event::Tuned { case, side, iterations, lead_in });
        }
        Ok(())
    }

    /// Two rounds: a random order, then its reverse.
    fn block(
        &mut self,
        part: u32,
        place: Place,
        block: u32,
        lives: &mut [Option<Live>],
    ) -> Result<(), Interrupted> {
        let slots: Vec<usize> = (0..lives.len()).filter(|slot| lives[*slot].is_some()).collect();
        let order = block_order(self.plan.seed, &self.case_plan.label(), place.round(block, 0), &slots);
        let mut flags = Vec::new();
        for half in 0..2 {
            let round = place.round(block, half);
            let turn: Vec<usize> =
                if half == 0 { order.clone() } else { order.iter().rev().copied().collect() };
            for (position, slot) in turn.into_iter().enumerate() {
                let Some(length) = lives[slot].as_ref().and_then(|live| live.length) else { continue };
                let before = self.executor.machine();
                let sampled = self.sample(&mut lives[slot], Mode::Timed, round, length)?;
                let after = self.executor.machine();
                let Some((reply, start_ns)) = sampled else {
                    // The block stays incomplete; the other sides go on with the next one.
                    return Ok(());
                };
                let sample_flags = contamination::flags(&reply, &before, &after);
                flags.extend(sample_flags.iter().copied());
                let Some(live) = lives[slot].as_mut() else { return Ok(()) };
                live.last = Some((round, (length.lead_in + length.iterations).saturating_sub(1)));
                let side = live.side;
                self.emit(Event::Sampled(SampleEvent {
                    case: self.case,
                    side,
                    launch: self.launch,
                    part,
                    placement: place.placement,
                    block,
                    round,
                    position: position as u32,
                    mode: Mode::Timed,
                    iterations: length.iterations,
                    start_ns,
                    wall_ns: reply.wall_ns,
                    cpu_ns: reply.cpu_ns,
                    readings: reply.readings,
                    flags: sample_flags,
                }));
            }
        }
        self.timing.blocks += 1;
        let dropped = contamination::drop_cause(&flags);
        let (case, launch, placement) = (self.case, self.launch, place.placement);
        self.emit(Event::BlockFinished { case, launch, placement, block, dropped });
        Ok(())
    }

    /// One metered sample of each side, on its latest placement.
    fn meter(&mut self, part: u32, lives: &mut [Option<Live>]) -> Result<(), Interrupted> {
        let placement = self.timing.placements.saturating_sub(1);
        let mut replies: Vec<(usize, SampleReply)> = Vec::new();
        for slot in lives.iter_mut() {
            let wanted = slot.as_ref().is_some_and(|live| {
                let cheap = live.iteration_ns <= METERED_EVERY_LAUNCH_NS;
                let placed = !live.handles.is_empty() && live.modes.contains(&Mode::Metered);
                placed && (cheap || self.launch < METERED_LAUNCHES)
            });
            if !wanted {
                continue;
            }
            let length = SampleLength { iterations: METERED_ITERATIONS, lead_in: 0 };
            let sampled = self.sample(slot, Mode::Metered, METERED_ROUND, length)?;
            let (Some(live), Some((reply, start_ns))) = (slot.as_ref(), sampled) else { continue };
            let side = live.side;
            self.emit(Event::Sampled(SampleEvent {
                case: self.case,
                side,
                launch: self.launch,
                part,
                placement,
                block: 0,
                round: METERED_ROUND,
                position: 0,
                mode: Mode::Metered,
                iterations: METERED_ITERATIONS,
                start_ns,
                wall_ns: reply.wall_ns,
                cpu_ns: reply.cpu_ns,
                readings: reply.readings.clone(),
                flags: Vec::new(),
            }));
            replies.push((side, reply));
        }
        for slot in lives.iter_mut() {
            let Some(side) = slot.as_ref().map(|l| l.side) else { continue };
            let Some(reference) = self.case_plan.sides[side].reference else { continue };
            let reply_of = |side: usize| replies.iter().find(|(s, _)| *s == side).map(|(_, reply)| reply);
            if let (Some(theirs), Some(ours)) = (reply_of(reference), reply_of(side)) {
                let name = self.case_plan.sides[reference].benchmark.variant.as_str();
                let same = correctness::same_work(
                    (name, &theirs.readings),
                    &ours.readings,
                    METERED_ITERATIONS,
                    self.metrics,
                );
                if let Err(outcome) = same {
                    self.reject(slot, outcome);
                }
            }
        }
        Ok(())
    }

    /// One sample, with its start on the harness's clock.
    fn sample(
        &mut self,
        slot: &mut Option<Live>,
        mode: Mode,
        round: u64,
        length: SampleLength,
    ) -> Result<Option<(SampleReply, Option<u64>)>, Interrupted> {
        let SampleLength { iterations, lead_in } = length;
        let deadline = self.deadline(slot, iterations + lead_in);
        let reply: Option<SampleReply> = self.ask(slot, deadline, |live| {
            Request::Sample(SampleRequest { handle: live.handle(), mode, round, offset: 0, lead_in, iterations })
        })?;
        let Some(reply) = reply else { return Ok(None) };
        if reply.wall_ns == 0 {
            let reason = format!("a sample of {iterations} iterations took 0 ns by its clock");
            self.reject(slot, Outcome::new(OutcomeKind::Crashed, reason));
            return Ok(None);
        }
        let offset = slot.as_ref().and_then(|live| live.session.clock_offset_ns());
        let start = reply.start_ns.zip(offset).map(|(start, offset)| start.saturating_add_signed(offset));
        Ok(Some((reply, start)))
    }
}
