//! One launch of a case: processes, placements, blocks, rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perfharness_contract::protocol::{
    CheckReply, Mode, Prepared, Reading, Request, SampleReply, SampleRequest,
};
use perfharness_contract::{MetricDef, OutcomeKind};
use perfharness_record::{Origin, Outcome, Stage};
use perfharness_verdict::Allocation;
use serde::de::IgnoredAny;

use super::contamination::{self, MachineState};
use super::engine::Recorder;
use super::event::{CheckStage, Event, LaunchTiming, SampleEvent};
use super::executor::{
    CallError, Executor, LaunchOptions, Opened, Session, call, deadline, unless_interrupted,
};
use super::layouts::layout_of;
use super::order::{METERED_ROUND, PlacementRounds, block_order, part_order, placement_order};
use super::plausible::{Observed, SuspendedClock, TimeAudit, refutation};
use super::state::CaseState;
use super::warm_up::{self, WarmUp};
use super::{SampleLength, correctness};
use crate::plan::{CasePlan, Plan};

/// The user asked the harness to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Iterations of a metered sample: two, so that a count that grows from one to the next is seen.
const METERED_ITERATIONS: u64 = 2;
/// Launches with checks before timing.
const CHECKED_LAUNCHES: usize = 2;
/// Launches with metered samples, if these agree; an exact metric that differs between two is demoted.
const METERED_LAUNCHES: usize = 4;
/// Launches with metered samples if iterations are long, whatever they show.
const METERED_LAUNCHES_IF_LONG: usize = 2;
/// Time of an iteration above which iterations are long.
const LONG_METERED_NS: f64 = 100_000_000.0;
/// Factor on the expected time of a sample after which it counts as hanging.
pub(super) const SLOWDOWN_ALLOWED: f64 = 20.0;
/// Time of an iteration above which the buffers of a later placement are not warmed up.
const LONG_ITERATION_NS: f64 = 1_000_000_000.0;
/// Share of memory up to which older placements are held, so that new ones cannot get their pages.
const HOLD_SHARE: f64 = 0.4;
/// Most notes of a side that are kept: a worker must not fill the record.
const MOST_NOTES: usize = 20;
/// Most memory for readings and messages of one worker, for the same reason.
const MOST_KEPT_BYTES: usize = 1 << 20;
/// Memory of a reading without its name.
const READING_BYTES: usize = 100;

/// Factor by which a short sample has fewer iterations than a timed one that has that many.
const SHORTER: u64 = 4;
/// Launches with a short sample of each side. Only a worker that is disturbed in each of them could seem not to follow its
/// iterations.
const SHORT_LAUNCHES: u32 = 8;

/// Side whose worker is alive.
struct LiveSide {
    side: usize,
    session: Box<dyn Session>,
    modes: Vec<Mode>,
    clock_step_ns: Option<u64>,
    suspended: SuspendedClock,
    /// Comparison of its samples with each other and with the harness's clock.
    audit: TimeAudit,
    /// Bytes that its answers have added to the state.
    kept_bytes: usize,
    /// Placements that are held, the current one last.
    handles: Vec<u64>,
    /// Expected time of an iteration; 0 before the first.
    iteration_ns: f64,
    length: Option<SampleLength>,
    /// The latest sample, warm-up included.
    last: Option<LastSample>,
}

/// Counts of the time that somebody else ran on the CPUs, at one moment.
struct Waits {
    steal_ns: Option<u64>,
    /// By side.
    queue_ns: BTreeMap<usize, u64>,
}

impl Waits {
    fn of(executor: &dyn Executor, live_sides: &[Option<LiveSide>]) -> Self {
        let wait = |live: &LiveSide| Some((live.side, live.session.usage().queue_wait_ns?));
        Self {
            steal_ns: executor.machine().steal_ns,
            queue_ns: live_sides.iter().flatten().filter_map(wait).collect(),
        }
    }

    /// Returns the time since an earlier moment, in ns, without sides that ended in between; `None` if nothing is counted.
    fn since(&self, before: &Self) -> Option<u64> {
        let stolen = self.steal_ns.zip(before.steal_ns).map(|(now, before)| now.saturating_sub(before));
        let both = self.queue_ns.iter().filter_map(|(side, now)| Some((now, before.queue_ns.get(side)?)));
        let waited = both.map(|(now, before)| now.saturating_sub(*before)).reduce(|sum, wait| sum + wait);
        stolen.into_iter().chain(waited).reduce(|sum, time| sum + time)
    }
}

/// Last iteration of a sample, whose output can be checked.
#[derive(Clone, Copy)]
struct LastSample {
    handle: u64,
    round: u64,
    index: u64,
}

impl LiveSide {
    fn handle(&self) -> u64 {
        self.handles.last().copied().unwrap_or(0)
    }
}

/// Answer of a side, for comparison with that of its reference.
pub(super) struct SideReply<T> {
    part: u32,
    side: usize,
    round: u64,
    reply: T,
}

impl<T> SideReply<T> {
    /// Returns the answers of the reference and the side in a round: those of the same part or, if the sides take turns,
    /// of different ones.
    fn pair(replies: &[Self], side: usize, reference: usize, round: u64) -> Option<(&T, &T)> {
        let of = |side| move |reply: &&Self| reply.side == side && reply.round == round;
        let ours = replies.iter().rfind(of(side))?;
        let theirs = replies.iter().filter(of(reference));
        let theirs = theirs.clone().find(|reply| reply.part == ours.part).or(theirs.last())?;
        Some((&theirs.reply, &ours.reply))
    }
}

/// Runner of one launch.
pub(super) struct LaunchRunner<'a, 'e> {
    pub(super) plan: &'a Plan,
    pub(super) case_plan: &'a CasePlan,
    pub(super) metrics: &'a [MetricDef],
    pub(super) case: usize,
    pub(super) launch: u32,
    pub(super) executor: &'a mut dyn Executor,
    pub(super) recorder: &'a mut Recorder<'e>,
    pub(super) allocation: Allocation,
    /// Time on the executor's clock after which no block is begun that the launch can do without.
    pub(super) deadline_ns: u64,
    /// Time from its beginning until then.
    pub(super) limit_ns: u64,
    /// Blocks of the current part, and the time of the last one in ns.
    pub(super) part_blocks: usize,
    pub(super) block_ns: u64,
    /// Whether the current placement was checked before timing.
    pub(super) is_checked: bool,
    pub(super) timing: LaunchTiming,
    /// Checks before timing, of all parts so far.
    pub(super) checked: Vec<SideReply<CheckReply>>,
    /// Metered samples, of all parts so far.
    pub(super) metered: Vec<SideReply<SampleReply>>,
}

impl LaunchRunner<'_, '_> {
    /// Runs all parts of the launch.
    pub(super) fn run(mut self, parts: &[Vec<usize>]) -> Result<(), Interrupted> {
        let start = self.executor.now_ns();
        self.emit(&Event::LaunchStarted {
            case: self.case,
            launch: self.launch,
            placements: self.allocation.placements as u32,
            blocks: self.allocation.blocks as u32,
            load_average: self.executor.load_average(),
            anchor_ns: self.executor.anchor_ns(),
            unix_ms: perfharness_platform::clock::unix_ms(),
        });
        for part in part_order(self.plan.seed, &self.case_plan.label(), self.launch, parts.len()) {
            self.part(part as u32, &parts[part])?;
        }
        self.forward_news();
        self.timing.total_ns = self.executor.now_ns().saturating_sub(start);
        let (case, launch, timing) = (self.case, self.launch, self.timing);
        let state = self.state();
        let before: Vec<f64> = state.launches.iter().filter_map(|row| row.timing?.stolen_share()).collect();
        let then_dropped = state.dropped_share_without(launch);
        let dropped = contamination::launch_cause(timing.stolen_share(), &before, then_dropped);
        self.emit(&Event::LaunchFinished { case, launch, timing, dropped });
        Ok(())
    }

    fn emit(&mut self, event: &Event) {
        self.recorder.emit(event);
    }

    /// Forwards the messages of the telemetry process.
    fn forward_news(&mut self) {
        for news in self.executor.news() {
            self.emit(&Event::Watched(news));
        }
    }

    fn part(&mut self, part: u32, sides: &[usize]) -> Result<(), Interrupted> {
        let order = self.order(PlacementRounds { launch: self.launch, placement: 0 });
        let mut live_sides = Vec::new();
        self.part_blocks = 0;
        let start = self.executor.now_ns();
        // A side that failed in an earlier part of this launch is not started again.
        for side in order.into_iter().filter(|side| sides.contains(side)) {
            if self.is_undecided(side)
                && let Some(live) = self.open(part, side)?
            {
                live_sides.push(Some(live));
            }
        }
        self.timing.processes_ns += self.since(start);
        let mut latest = 0;
        for placement in 0..self.allocation.placements as u32 {
            if live_sides.iter().all(Option::is_none) || (placement > 0 && self.is_cut_short()) {
                break;
            }
            self.placement(part, placement, &mut live_sides)?;
            latest = placement;
        }
        // As in the first placement, so that the next launch does this in reverse, too.
        self.sort(&mut live_sides, PlacementRounds { launch: self.launch, placement: 0 });
        let start = self.executor.now_ns();
        self.after_checks(&mut live_sides)?;
        self.timing.checks_ns += self.since(start);
        let start = self.executor.now_ns();
        self.meter(part, latest, &mut live_sides)?;
        self.timing.metered_ns += self.since(start);
        let start = self.executor.now_ns();
        for live in live_sides.into_iter().flatten() {
            let usage = live.session.usage();
            let audit = live.audit.finish(&live.suspended, self.executor);
            self.emit(&Event::Audited { case: self.case, side: live.side, launch: self.launch, audit });
            self.emit(&Event::WorkerFinished {
                case: self.case,
                side: live.side,
                launch: self.launch,
                peak_rss_bytes: usage.peak_rss_bytes,
                cpu_ns: usage.cpu_ns,
            });
            live.session.finish();
        }
        self.timing.processes_ns += self.since(start);
        Ok(())
    }

    /// Returns the time since a moment on the executor's clock, in ns.
    fn since(&self, start_ns: u64) -> u64 {
        self.executor.now_ns().saturating_sub(start_ns)
    }

    fn state(&self) -> &CaseState {
        &self.recorder.state.cases[self.case]
    }

    /// Returns the order of all sides in a placement.
    fn order(&self, place: PlacementRounds) -> Vec<usize> {
        placement_order(self.plan.seed, &self.case_plan.label(), place, self.case_plan.sides.len())
    }

    /// Emits the notes that are new: as a rule, every placement repeats them.
    fn take_notes(&mut self, side: usize, notes: Vec<String>) {
        for note in notes {
            let known = &self.state().sides[side].notes;
            if known.len() < MOST_NOTES && !known.contains(&note) {
                self.emit(&Event::Noted { case: self.case, side, note });
            }
        }
    }

    fn is_undecided(&self, side: usize) -> bool {
        self.state().sides[side].outcome.is_none()
    }

    /// Whether the part is out of time, and has more than a single block, unless that alone took all of its time.
    fn is_cut_short(&self) -> bool {
        let enough = self.part_blocks > 1 || self.block_ns > self.limit_ns;
        enough && self.executor.now_ns() >= self.deadline_ns && self.state().has_blocks()
    }

    /// Starts the worker of a side. A failure becomes the outcome of its benchmark.
    fn open(&mut self, part: u32, side: usize) -> Result<Option<LiveSide>, Interrupted> {
        let layout = layout_of(self.plan, self.recorder.state, self.case_plan, side, self.launch);
        let options = LaunchOptions { layout, ..LaunchOptions::of(self.plan) };
        if self.executor.interrupted() {
            return Err(Interrupted);
        }
        let opened = self.executor.launch(self.case_plan.sides[side].worker, &options);
        let Some(Opened { session, hello }) = self.settle(side, opened)? else { return Ok(None) };
        let state = &self.state().sides[side];
        let live = LiveSide {
            side,
            session,
            modes: hello.modes.clone(),
            clock_step_ns: hello.clock_resolution_ns,
            suspended: SuspendedClock::start(self.executor),
            audit: TimeAudit::default(),
            kept_bytes: 0,
            handles: Vec::new(),
            iteration_ns: state.iteration_ns().unwrap_or(0.0),
            length: state.length,
            last: None,
        };
        let pid = live.session.pid();
        let (case, launch) = (self.case, self.launch);
        self.emit(&Event::WorkerOpened { case, side, launch, part, layout, hello, pid });
        Ok(Some(live))
    }

    /// Turns the end of a worker into the outcome of its benchmark.
    fn settle<T>(&mut self, side: usize, result: Result<T, CallError>) -> Result<Option<T>, Interrupted> {
        unless_interrupted(result.map(Some), |outcome| {
            self.emit(&Event::OutcomeSet { case: self.case, side, outcome });
            None
        })
    }

    /// Sends a request to one worker. A failure becomes the outcome of its benchmark and ends the worker.
    fn ask<T>(
        &mut self,
        slot: &mut Option<LiveSide>,
        deadline: Duration,
        request: impl FnOnce(&LiveSide) -> Request,
    ) -> Result<Option<T>, Interrupted>
    where
        T: serde::de::DeserializeOwned,
    {
        let Some(live) = slot else { return Ok(None) };
        // A session notices an interruption only while it waits for an answer, and many answers come at once.
        if self.executor.interrupted() {
            return Err(Interrupted);
        }
        let request = request(live);
        let (side, result) = (live.side, call::<T>(live.session.as_mut(), &request, deadline));
        let answer = self.settle(side, result)?;
        if answer.is_none() {
            *slot = None;
        }
        Ok(answer)
    }

    /// Sets the outcome of a side and ends its worker.
    fn reject(&mut self, slot: &mut Option<LiveSide>, outcome: Outcome) {
        if let Some(live) = slot.take() {
            self.emit(&Event::OutcomeSet { case: self.case, side: live.side, outcome });
            live.session.finish();
        }
    }

    fn reject_side(&mut self, live_sides: &mut [Option<LiveSide>], side: usize, outcome: Outcome) {
        match live_sides.iter_mut().find(|slot| slot.as_ref().is_some_and(|live| live.side == side)) {
            Some(slot) => self.reject(slot, outcome),
            // Its part of the launch has ended.
            None => self.emit(&Event::OutcomeSet { case: self.case, side, outcome }),
        }
    }

    /// Returns the candidates with their references. A candidate that is itself a reference comes before those that are
    /// compared with it, so that they are not blamed for its faults.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let sides = &self.case_plan.sides;
        let depth = |side: usize| {
            let chain = std::iter::successors(Some(side), |side| sides[*side].reference);
            chain.take(sides.len()).count()
        };
        let mut pairs: Vec<(usize, usize)> = self.case_plan.comparisons().collect();
        pairs.sort_by_key(|(side, _)| depth(*side));
        pairs
    }

    fn placement(
        &mut self,
        part: u32,
        placement: u32,
        live_sides: &mut [Option<LiveSide>],
    ) -> Result<(), Interrupted> {
        let place = PlacementRounds { launch: self.launch, placement };
        let start = self.executor.now_ns();
        self.make_room(live_sides)?;
        self.sort(live_sides, place);
        for slot in live_sides.iter_mut() {
            let timeout = self.plan.timeout;
            let benchmark = slot.as_ref().map(|l| self.case_plan.sides[l.side].benchmark.clone());
            let Some(benchmark) = benchmark else { continue };
            let prepared: Option<Prepared> =
                self.ask(slot, timeout, |_| Request::Prepare { benchmark, placement })?;
            if let (Some(live), Some(prepared)) = (slot.as_mut(), prepared) {
                live.handles.push(prepared.handle);
                let side = live.side;
                self.take_notes(side, prepared.notes);
            }
        }
        let prepared = self.executor.now_ns();
        self.is_checked = placement == 0 && self.needs_checks(live_sides);
        if self.is_checked {
            self.before_checks(part, place, live_sides)?;
        }
        let checked = self.executor.now_ns();
        for slot in live_sides.iter_mut() {
            self.warm_up(place, slot)?;
        }
        self.tune(live_sides);
        self.short_samples(place, live_sides)?;
        let blocks_start = self.executor.now_ns();
        for block in 0..self.allocation.blocks as u32 {
            if live_sides.iter().all(Option::is_none) || (block > 0 && self.is_cut_short()) {
                break;
            }
            let start = self.executor.now_ns();
            let waits = Waits::of(self.executor, live_sides);
            self.block(part, place, block, live_sides)?;
            self.part_blocks += 1;
            self.block_ns = self.since(start);
            if let Some(stolen_ns) = Waits::of(self.executor, live_sides).since(&waits) {
                *self.timing.stolen_ns.get_or_insert(0) += stolen_ns;
            }
        }
        let timing = &mut self.timing;
        timing.placements += 1;
        timing.prepare_ns += prepared.saturating_sub(start);
        timing.checks_ns += checked.saturating_sub(prepared);
        timing.warm_up_ns += blocks_start.saturating_sub(checked);
        timing.placements_ns += blocks_start.saturating_sub(start);
        timing.blocks_ns += self.executor.now_ns().saturating_sub(blocks_start);
        Ok(())
    }

    /// Brings the sides into the order of a placement.
    fn sort(&self, live_sides: &mut [Option<LiveSide>], place: PlacementRounds) {
        let order = self.order(place);
        live_sides.sort_by_key(|slot| {
            slot.as_ref()
                .map_or(order.len(), |live| order.iter().position(|side| *side == live.side).unwrap_or(0))
        });
    }

    /// Releases the older placements if the next one does not fit beside them.
    fn make_room(&mut self, live_sides: &mut [Option<LiveSide>]) -> Result<(), Interrupted> {
        let placements = live_sides.iter().flatten().map(|live| live.handles.len()).max().unwrap_or(0);
        if placements == 0 {
            return Ok(());
        }
        let held: u64 = live_sides.iter().flatten().filter_map(|l| l.session.usage().rss_bytes).sum();
        let expected = held as f64 * (placements + 1) as f64 / placements as f64;
        if expected <= self.executor.total_memory() as f64 * HOLD_SHARE {
            return Ok(());
        }
        let timeout = self.plan.timeout;
        for slot in live_sides.iter_mut() {
            let Some(live) = slot.as_mut() else { continue };
            live.last = None;
            let handles = std::mem::take(&mut live.handles);
            for handle in handles {
                let _: Option<IgnoredAny> = self.ask(slot, timeout, |_| Request::Release { handle })?;
            }
        }
        Ok(())
    }

    /// Whether the sides are checked before timing: in the first two launches, which show a result that is wrong from the
    /// start or was remembered by an earlier process. Later launches could only repeat it, and each of them is checked after
    /// timing.
    fn needs_checks(&self, live_sides: &[Option<LiveSide>]) -> bool {
        live_sides.iter().flatten().any(|live| self.checked_before(live.side) < CHECKED_LAUNCHES)
    }

    /// Returns the number of earlier launches in which a side was checked before timing.
    fn checked_before(&self, side: usize) -> usize {
        let rows = self.state().sides[side].checks.iter();
        let rows = rows.filter(|row| row.stage == CheckStage::Before && row.launch < self.launch);
        rows.map(|row| row.launch).collect::<BTreeSet<_>>().len()
    }

    /// Checks every side on an iteration of its own, and twice in the first launch, because a memoized result is right the
    /// first time.
    fn before_checks(
        &mut self,
        part: u32,
        place: PlacementRounds,
        live_sides: &mut [Option<LiveSide>],
    ) -> Result<(), Interrupted> {
        let was_checked_twice = |live: &LiveSide| {
            let mut checks = self.state().sides[live.side].checks.iter();
            checks.any(|row| row.stage == CheckStage::Before && row.index > 0)
        };
        let rounds = if live_sides.iter().flatten().all(was_checked_twice) { 1 } else { 2 };
        for number in 0..rounds {
            let (round, index) = (place.check_round(number), u64::from(number));
            for slot in live_sides.iter_mut() {
                let left = slot.as_ref().map(|live| LastSample { handle: live.handle(), round, index });
                let Some(left) = left else { continue };
                let reply = self.check(slot, CheckStage::Before, left)?;
                if let (Some(live), Some(reply)) = (slot.as_ref(), reply) {
                    self.checked.push(SideReply { part, side: live.side, round, reply });
                }
            }
            self.compare(live_sides, |runner, side, reference, name| {
                let (theirs, ours) = SideReply::pair(&runner.checked, side, reference, round)?;
                correctness::agree((name, theirs), ours, runner.metrics).err()
            });
        }
        Ok(())
    }

    /// Rejects the sides for which `disagrees` returns an outcome. It is given the side, its reference and that one's name.
    fn compare(
        &mut self,
        live_sides: &mut [Option<LiveSide>],
        disagrees: impl Fn(&Self, usize, usize, &str) -> Option<Outcome>,
    ) {
        for (side, reference) in self.pairs() {
            if self.is_undecided(side) && self.is_undecided(reference) {
                let name = self.case_plan.sides[reference].benchmark.variant.as_str();
                if let Some(outcome) = disagrees(self, side, reference, name) {
                    self.reject_side(live_sides, side, outcome);
                }
            }
        }
    }

    /// Checks the output of the last sample of each side.
    fn after_checks(&mut self, live_sides: &mut [Option<LiveSide>]) -> Result<(), Interrupted> {
        for slot in live_sides.iter_mut() {
            if let Some(left) = slot.as_ref().and_then(|live| live.last) {
                self.check(slot, CheckStage::After, left)?;
            }
        }
        Ok(())
    }

    fn check(
        &mut self,
        slot: &mut Option<LiveSide>,
        stage: CheckStage,
        left: LastSample,
    ) -> Result<Option<CheckReply>, Interrupted> {
        let LastSample { handle, round, index } = left;
        let fresh = stage == CheckStage::Before;
        let deadline = self.deadline(slot.as_ref(), 1);
        let reply: Option<CheckReply> =
            self.ask(slot, deadline, |_| Request::Check { handle, round, index, fresh })?;
        let Some(reply) = reply else { return Ok(None) };
        let found = &reply.check;
        let digests = [&found.input, &found.output].map(|digest| digest.as_ref().map_or(0, |d| d.0.len()));
        let text_bytes = digests.iter().sum::<usize>() + found.message.as_ref().map_or(0, String::len);
        if !self.has_room(slot, &reply.readings, text_bytes) {
            return Ok(None);
        }
        let Some(live) = slot.as_ref() else { return Ok(None) };
        let event = Event::Checked {
            case: self.case,
            side: live.side,
            launch: self.launch,
            stage,
            round,
            index,
            reply: reply.clone(),
        };
        self.emit(&event);
        if let Err(outcome) = correctness::judge(stage, &reply) {
            self.reject(slot, outcome);
            return Ok(None);
        }
        Ok(Some(reply))
    }

    fn deadline(&self, live: Option<&LiveSide>, iterations: u64) -> Duration {
        deadline(self.plan, live.map_or(0.0, |live| live.iteration_ns), iterations)
    }

    /// Runs batches until they stop getting faster. The first warm-up of a side also sets the length of its samples.
    fn warm_up(&mut self, place: PlacementRounds, slot: &mut Option<LiveSide>) -> Result<(), Interrupted> {
        let known_ns = slot.as_ref().map_or(0.0, |live| live.iteration_ns);
        let benchmark = slot.as_ref().map(|live| &self.case_plan.sides[live.side].benchmark);
        let on_gpu = benchmark.is_some_and(|benchmark| self.plan.on_gpu.contains(benchmark));
        let limits = warm_up::limits(place.placement, known_ns, on_gpu);
        let mut batches: Vec<f64> = Vec::new();
        let mut spent = 0;
        let is_warm = |batches: &[f64], spent_ns: u64| {
            spent_ns >= limits.least_ns && warm_up::is_steady(batches, known_ns, limits)
        };
        while batches.len() < warm_up::MAX_BATCHES && !is_warm(&batches, spent) {
            let known = slot.as_ref().map_or(0.0, |live| live.iteration_ns);
            // An iteration that takes the whole time limit is not repeated for a batch that could only confirm it. It is run
            // all the same if the buffers are untouched, unless it takes seconds, of which the first touch is a negligible
            // part. In a first placement a check before timing has touched them.
            let untuned = slot.as_ref().is_some_and(|live| live.length.is_none());
            let untouched = (place.placement > 0 || !self.is_checked) && known <= LONG_ITERATION_NS;
            if (spent as f64 + known) > limits.limit_ns as f64
                && !(batches.is_empty() && (untuned || untouched))
            {
                break;
            }
            let sample_ns = if untuned { self.plan.design.sample_ns as f64 } else { 0.0 };
            let target_ns = limits.batch_ns.max(sample_ns);
            let iterations = warm_up::batch_iterations(known, target_ns);
            let round = place.warm_up_round(batches.len());
            let reply = self.sample(slot, Mode::Timed, round, SampleLength { iterations, lead_in: 0 })?;
            let (Some(live), Some((reply, ..))) = (slot.as_mut(), reply) else { return Ok(()) };
            let time = reply.wall_ns as f64 / iterations as f64;
            live.iteration_ns = warm_up::faster(live.iteration_ns, time);
            batches.push(time);
            spent += reply.wall_ns;
        }
        let Some(live) = slot.as_ref() else { return Ok(()) };
        if !batches.is_empty() {
            let (case, side, launch) = (self.case, live.side, self.launch);
            let steady = is_warm(&batches, spent);
            let warm_up = WarmUp::of(&batches, steady);
            self.emit(&Event::WarmedUp { case, side, launch, placement: place.placement, warm_up });
        }
        Ok(())
    }

    /// Sets the length of the samples of each side that has none yet. Sides that run the same benchmark share it, those in
    /// other parts of the launch included.
    fn tune(&mut self, live_sides: &mut [Option<LiveSide>]) {
        let untuned = |live: &&LiveSide| live.length.is_none();
        let sides: Vec<usize> = live_sides.iter().flatten().filter(untuned).map(|live| live.side).collect();
        for side in sides {
            let benchmark = &self.case_plan.sides[side].benchmark;
            let group: Vec<usize> = (0..self.case_plan.sides.len())
                .filter(|other| self.case_plan.sides[*other].benchmark == *benchmark)
                .collect();
            let alive = live_sides.iter().flatten().filter(|live| group.contains(&live.side));
            let times: Vec<(f64, Option<u64>)> =
                alive.map(|live| (live.iteration_ns, live.clock_step_ns)).collect();
            let Some(shared) = SampleLength::choose_shared(&times, self.plan.design.sample_ns) else {
                continue;
            };
            let earlier = group.iter().find_map(|other| self.state().sides[*other].length);
            let length = earlier.map_or(shared, |earlier| {
                // A side of a later part that needs more iterations for its clock is several times as fast. From the next
                // launch on the others run as many.
                let least =
                    times.iter().map(|(ns, step_ns)| SampleLength::least_iterations(*ns, *step_ns)).max();
                SampleLength { iterations: earlier.iterations.max(least.unwrap_or(0)), ..earlier }
            });
            let length = self.case_plan.design.planted.map_or(length, |share| length.carrying(share));
            for live in live_sides.iter_mut().flatten().filter(|live| group.contains(&live.side)) {
                live.length = Some(length);
            }
            for other in group {
                let (known, SampleLength { iterations, lead_in }) =
                    (self.state().sides[other].length, length);
                let is_alive = live_sides.iter().flatten().any(|live| live.side == other);
                if known != Some(length) && (known.is_some() || is_alive) {
                    self.emit(&Event::Tuned { case: self.case, side: other, iterations, lead_in });
                }
            }
        }
    }

    /// Runs a sample of few iterations on each side, which tells whether its time follows them.
    fn short_samples(
        &mut self,
        place: PlacementRounds,
        live_sides: &mut [Option<LiveSide>],
    ) -> Result<(), Interrupted> {
        let launch = self.launch - self.case_plan.design.stage.first_launch();
        if place.placement > 0 || launch >= SHORT_LAUNCHES {
            return Ok(());
        }
        for slot in live_sides.iter_mut() {
            let length = slot.as_ref().and_then(|live| live.length);
            let Some(length) = length.filter(|length| length.iterations > 1) else { continue };
            let short = SampleLength { iterations: (length.iterations / SHORTER).max(1), ..length };
            let round = place.warm_up_round(warm_up::MAX_BATCHES);
            let sampled = self.sample(slot, Mode::Timed, round, short)?;
            if let (Some(live), Some((reply, ..))) = (slot.as_mut(), sampled) {
                live.audit.follow(&reply, short.iterations);
            }
        }
        Ok(())
    }

    /// Measures a block: a round in the order of the placement or its reverse, then one in the reverse of that.
    fn block(
        &mut self,
        part: u32,
        place: PlacementRounds,
        block: u32,
        live_sides: &mut [Option<LiveSide>],
    ) -> Result<(), Interrupted> {
        let slots: Vec<usize> = (0..live_sides.len()).filter(|slot| live_sides[*slot].is_some()).collect();
        let order = block_order(&slots, block);
        let mut flags = Vec::new();
        for half in 0..2 {
            let round = place.round(block, half);
            let turn: Vec<usize> =
                if half == 0 { order.clone() } else { order.iter().rev().copied().collect() };
            for (position, slot) in turn.into_iter().enumerate() {
                let Some(length) = live_sides[slot].as_ref().and_then(|live| live.length) else { continue };
                let before = MachineState::of(&*self.executor);
                let worked = self.planted(live_sides[slot].as_ref(), length);
                let sampled = self.sample(&mut live_sides[slot], Mode::Timed, round, worked)?;
                let after = MachineState::of(&*self.executor);
                let Some((reply, start_ns, elapsed_ns)) = sampled else {
                    // The block stays incomplete; the other sides continue with the next one.
                    return Ok(());
                };
                let sample_flags = contamination::flags(&reply, &before, &after);
                flags.extend(sample_flags.iter().copied());
                let Some(live) = live_sides[slot].as_mut() else { return Ok(()) };
                live.audit.follow(&reply, worked.iterations);
                live.audit.account(&reply, elapsed_ns);
                self.timing.samples_ns += reply.wall_ns;
                let side = live.side;
                self.emit(&Event::Sampled(SampleEvent {
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
        self.forward_news();
        self.timing.blocks += 1;
        let dropped = contamination::drop_cause(&flags);
        let (case, launch, placement) = (self.case, self.launch, place.placement);
        self.emit(&Event::BlockFinished { case, launch, placement, block, dropped });
        Ok(())
    }

    /// Returns the iterations that a side runs for a sample: more than the counted ones if a slowdown is planted in it.
    fn planted(&self, live: Option<&LiveSide>, length: SampleLength) -> SampleLength {
        let is_head = live.is_some_and(|live| self.case_plan.sides[live.side].origin == Origin::Head);
        let more = self.case_plan.design.planted.filter(|_| is_head).map_or(0, |share| length.planted(share));
        SampleLength { iterations: length.iterations + more, ..length }
    }

    /// Whether a side is metered in this launch: in the first launches, and further on if these differ.
    fn is_to_be_metered(&self, live: &LiveSide) -> bool {
        if live.handles.is_empty() || !live.modes.contains(&Mode::Metered) {
            return false;
        }
        let rows = self.state().sides[live.side].metered.iter().filter(|row| row.launch < self.launch);
        let launches = rows.clone().map(|row| row.launch).collect::<BTreeSet<_>>().len();
        if live.iteration_ns > LONG_METERED_NS {
            return launches < METERED_LAUNCHES_IF_LONG;
        }
        let agree = rows.clone().zip(rows.skip(1)).all(|(row, next)| row.readings == next.readings);
        launches < METERED_LAUNCHES || !agree
    }

    /// Takes one metered sample of each side that is still to be metered, on its latest placement.
    fn meter(
        &mut self,
        part: u32,
        placement: u32,
        live_sides: &mut [Option<LiveSide>],
    ) -> Result<(), Interrupted> {
        if self.case_plan.design.stage == Stage::Layouts {
            return Ok(());
        }
        for slot in live_sides.iter_mut() {
            if !slot.as_ref().is_some_and(|live| self.is_to_be_metered(live)) {
                continue;
            }
            let length = SampleLength { iterations: METERED_ITERATIONS, lead_in: 0 };
            let sampled = self.sample(slot, Mode::Metered, METERED_ROUND, length)?;
            let (Some(live), Some((mut reply, start_ns, _))) = (slot.as_ref(), sampled) else { continue };
            let side = live.side;
            // Taken out in any case: the answers of a launch are kept, and sources are long.
            if let Some(kernels) = reply.kernels.take()
                && self.state().sides[side].kernels.is_none()
            {
                let (case, iterations) = (self.case, METERED_ITERATIONS);
                self.emit(&Event::Dispatched { case, side, iterations, kernels });
            }
            self.emit(&Event::Sampled(SampleEvent {
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
            self.metered.push(SideReply { part, side, round: METERED_ROUND, reply });
        }
        self.compare(live_sides, |runner, side, reference, name| {
            let (theirs, ours) = SideReply::pair(&runner.metered, side, reference, METERED_ROUND)?;
            let theirs = (name, &theirs.readings);
            correctness::same_work(theirs, &ours.readings, METERED_ITERATIONS, runner.metrics).err()
        });
        Ok(())
    }

    /// Takes a sample; returns it with its start on the harness's clock and the time from request to answer, in ns.
    fn sample(
        &mut self,
        slot: &mut Option<LiveSide>,
        mode: Mode,
        round: u64,
        length: SampleLength,
    ) -> Result<Option<(SampleReply, Option<u64>, u64)>, Interrupted> {
        let SampleLength { iterations, lead_in } = length;
        let deadline = self.deadline(slot.as_ref(), iterations + lead_in);
        let sent_ns = self.executor.now_ns();
        let reply: Option<SampleReply> = self.ask(slot, deadline, |live| {
            Request::Sample(SampleRequest {
                handle: live.handle(),
                mode,
                round,
                offset: 0,
                lead_in,
                iterations,
            })
        })?;
        let Some(reply) = reply else { return Ok(None) };
        let elapsed_ns = self.executor.now_ns().saturating_sub(sent_ns);
        if let Some(live) = slot.as_mut() {
            live.last = Some(LastSample {
                handle: live.handle(),
                round,
                index: (lead_in + iterations).saturating_sub(1),
            });
            live.audit.add(Observed { reply: &reply, mode, iterations, sent_ns, elapsed_ns });
        }
        let refuted = slot.as_ref().and_then(|live| {
            let step_ns = live.clock_step_ns;
            refutation(&reply, iterations, elapsed_ns, step_ns, &live.suspended, self.executor)
        });
        if let Some(reason) = refuted {
            self.reject(slot, Outcome::new(OutcomeKind::Crashed, reason));
            return Ok(None);
        }
        if !self.has_room(slot, &reply.readings, 0) {
            return Ok(None);
        }
        let offset = slot.as_ref().and_then(|live| live.session.clock_offset_ns());
        let start = reply.start_ns.zip(offset).map(|(start, offset)| start.saturating_add_signed(offset));
        Ok(Some((reply, start, elapsed_ns)))
    }

    /// Whether there is room for the readings and texts of an answer; a worker that has used it up is ended.
    fn has_room(&mut self, slot: &mut Option<LiveSide>, readings: &Readings, text_bytes: usize) -> bool {
        let Some(live) = slot.as_mut() else { return false };
        let bytes = |(name, reading): (&String, &Reading)| {
            READING_BYTES + name.len() + reading.absence().map_or(0, str::len)
        };
        live.kept_bytes += readings.iter().map(bytes).sum::<usize>() + text_bytes;
        if live.kept_bytes <= MOST_KEPT_BYTES {
            return true;
        }
        let most = MOST_KEPT_BYTES >> 10;
        let reason = format!("its readings and messages of one launch take more than {most} KiB");
        self.reject(slot, Outcome::new(OutcomeKind::Crashed, reason));
        false
    }
}

/// Readings of an answer by metric.
type Readings = BTreeMap<String, Reading>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_same_part_are_compared_first() {
        let of = |part, side, reply: &'static str| SideReply { part, side, round: 7, reply };
        // The reference (0) shares a part with each candidate; the third candidate has its turn alone.
        let all = [of(0, 0, "a"), of(0, 1, "b"), of(1, 0, "c"), of(1, 2, "d"), of(2, 3, "e")];
        assert_eq!(SideReply::pair(&all, 1, 0, 7), Some((&"a", &"b")));
        assert_eq!(SideReply::pair(&all, 2, 0, 7), Some((&"c", &"d")));
        assert_eq!(SideReply::pair(&all, 3, 0, 7), Some((&"c", &"e")));
        assert_eq!(SideReply::pair(&all, 1, 0, 8), None);
    }
}
