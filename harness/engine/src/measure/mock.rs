//! An executor without processes and clock: workers are scripts, and time is a number that they advance.
//!
//! [`MockExecutor`] records every request, so that tests can compare the order of requests with the plan. A request that
//! no worker could answer, such as a check of a round that is not loaded, is a bug of the engine and panics.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use perfharness_contract::protocol::{
    CheckReply, HelloReply, Mode, Prepared, Profile, Reading, Request, SampleReply, SampleRequest, Trace,
};
use perfharness_contract::{Check, Digest, OutcomeKind};
use perfharness_platform::{MachineCounters, ProcessUsage};
use perfharness_record::{Contamination, Outcome};
use serde::Serialize;
use serde_json::{Value, json};

use super::{CallError, Executor, LaunchOptions, Opened, Session};

/// Offset by which the workers' clocks are behind the harness's.
const CLOCK_OFFSET_NS: i64 = 5_000;
/// Amount that a disturbance adds to a counter of ns: more than any sample takes.
const DISTURBANCE_NS: u64 = 3_600_000_000_000;

/// Time and position at which an iteration runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Earlier launches of the worker.
    pub(super) launch: u32,
    /// The layout of its program.
    pub(super) layout: u32,
    /// The placement.
    pub(super) placement: u32,
    /// The round.
    pub(super) round: u64,
    /// Earlier iterations of the placement.
    pub(super) count: u64,
    /// Time on the harness's clock.
    pub(super) now_ns: f64,
}

/// One action of the engine on a worker.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Launched,
    Asked(Request),
    Finished,
}

/// A step, and the worker that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) worker: usize,
    /// Earlier launches of the worker.
    pub(super) launch: u32,
    /// Time that the answer may take; absent for `finish`.
    pub(super) deadline: Option<Duration>,
    pub(super) step: Step,
}

impl Entry {
    /// Returns the operation in one word.
    pub(super) fn op(&self) -> &'static str {
        match &self.step {
            Step::Launched => "launch",
            Step::Asked(request) => request.op(),
            Step::Finished => "finish",
        }
    }

    pub(super) fn sample(&self) -> Option<SampleRequest> {
        match &self.step {
            Step::Asked(Request::Sample(sample)) => Some(*sample),
            _ => None,
        }
    }
}

/// Replacement of an answer.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The worker ends.
    Ends(OutcomeKind),
    /// It answers this.
    Answers(Value),
}

/// Functions that a script consists of.
type Play<T> = Rc<dyn Fn(&Moment) -> T>;
type Reply<A, T> = Rc<dyn Fn(A) -> T>;

/// Behaviour of a worker. Every worker runs one benchmark.
#[derive(Clone)]
pub(super) struct Script {
    iteration_ns: Play<f64>,
    launch_ns: u64,
    prepare_ns: u64,
    check: Reply<(u64, u64, bool), CheckReply>,
    readings: Reply<SampleRequest, BTreeMap<String, Reading>>,
    profile: Reply<SampleRequest, Option<Profile>>,
    trace: Reply<(SampleRequest, u64), Option<Trace>>,
    finish_ns: u64,
    absent_modes: BTreeMap<String, String>,
    disturbance: Play<Option<Contamination>>,
    fault: Reply<(u32, Step), Option<Fault>>,
    fault_ns: u64,
    modes: Vec<Mode>,
    cpu_share: f64,
    placement_bytes: u64,
    leaked_bytes: u64,
}

impl Script {
    /// Creates a worker whose iterations take the times that `iteration_ns` returns. Its results are right.
    pub(super) fn new(iteration_ns: impl Fn(&Moment) -> f64 + 'static) -> Self {
        Self {
            iteration_ns: Rc::new(iteration_ns),
            launch_ns: 5_000_000,
            prepare_ns: 1_000_000,
            check: Rc::new(|(round, index, _)| right(round, index)),
            readings: Rc::new(|_| BTreeMap::new()),
            profile: Rc::new(|_| None),
            trace: Rc::new(|_| None),
            finish_ns: 0,
            absent_modes: BTreeMap::new(),
            disturbance: Rc::new(|_| None),
            fault: Rc::new(|_| None),
            fault_ns: 0,
            modes: vec![Mode::Timed, Mode::Metered],
            cpu_share: 1.0,
            placement_bytes: 1_000,
            leaked_bytes: 0,
        }
    }

    /// Creates a worker whose iterations all take the same time.
    pub(super) fn steady(iteration_ns: f64) -> Self {
        Self::new(move |_| iteration_ns)
    }

    /// Sets the times of a launch and of a placement.
    pub(super) fn costs(self, launch_ns: u64, prepare_ns: u64) -> Self {
        Self { launch_ns, prepare_ns, ..self }
    }

    /// Sets the answer to a check of (round, index, fresh).
    pub(super) fn check(self, check: impl Fn(u64, u64, bool) -> CheckReply + 'static) -> Self {
        Self { check: Rc::new(move |(round, index, fresh)| check(round, index, fresh)), ..self }
    }

    /// Sets the readings of metered samples.
    pub(super) fn metered(
        self,
        readings: impl Fn(SampleRequest) -> BTreeMap<String, Reading> + 'static,
    ) -> Self {
        Self { readings: Rc::new(readings), ..self }
    }

    /// Adds profiled samples with this profile.
    pub(super) fn profiled(self, profile: impl Fn(SampleRequest) -> Option<Profile> + 'static) -> Self {
        let modes = vec![Mode::Timed, Mode::Metered, Mode::Profiled];
        Self { profile: Rc::new(profile), modes, ..self }
    }

    /// Adds traced samples with this trace, which is given their start on the worker's clock.
    pub(super) fn traced(self, trace: impl Fn(SampleRequest, u64) -> Option<Trace> + 'static) -> Self {
        let modes = vec![Mode::Timed, Mode::Metered, Mode::Traced];
        Self { trace: Rc::new(move |(request, start_ns)| trace(request, start_ns)), modes, ..self }
    }

    /// Sets the time that the worker takes to end.
    pub(super) fn finish_costs(self, finish_ns: u64) -> Self {
        Self { finish_ns, ..self }
    }

    /// Removes a mode, for a reason.
    pub(super) fn absent_mode(mut self, mode: Mode, reason: &str) -> Self {
        self.modes.retain(|other| *other != mode);
        self.absent_modes.insert(mode.as_str().into(), reason.into());
        self
    }

    /// Disturbs the machine while a sample runs; the function is called at its start.
    pub(super) fn disturbed(self, disturbance: impl Fn(&Moment) -> Option<Contamination> + 'static) -> Self {
        Self { disturbance: Rc::new(disturbance), ..self }
    }

    /// Fails at the steps that `wanted` selects by launch and step.
    pub(super) fn failing(self, fault: Fault, wanted: impl Fn(u32, &Step) -> bool + 'static) -> Self {
        Self { fault: Rc::new(move |(launch, step)| wanted(launch, &step).then(|| fault.clone())), ..self }
    }

    /// Sets the time until an answer that a fault gives.
    pub(super) fn fault_costs(self, fault_ns: u64) -> Self {
        Self { fault_ns, ..self }
    }

    pub(super) fn modes(self, modes: &[Mode]) -> Self {
        Self { modes: modes.to_vec(), ..self }
    }

    /// Sets the CPU time of a sample, as a share of its wall-clock time.
    pub(super) fn cpu_share(self, cpu_share: f64) -> Self {
        Self { cpu_share, ..self }
    }

    /// Sets the memory that each placement holds.
    pub(super) fn placement_bytes(self, placement_bytes: u64) -> Self {
        Self { placement_bytes, ..self }
    }

    /// Sets the memory that each iteration leaks.
    pub(super) fn leaking(self, leaked_bytes: u64) -> Self {
        Self { leaked_bytes, ..self }
    }
}

/// Creates a check that passed, on the right input.
pub(super) fn right(round: u64, index: u64) -> CheckReply {
    let input = Digest::of_parts([round.to_le_bytes().as_slice(), &index.to_le_bytes()]);
    CheckReply {
        check: Check { passed: true, ..Check::default() }.with_input(input),
        readings: BTreeMap::new(),
    }
}

/// State that workers and executor share.
struct World {
    now_ns: Cell<f64>,
    counters: Cell<MachineCounters>,
    transcript: RefCell<Vec<Entry>>,
    /// Launches and requests until the user stops the run.
    until_interrupt: Cell<Option<usize>>,
    /// Whether the request that is open at that time is answered first.
    answers_first: Cell<bool>,
    interrupted: Cell<bool>,
}

impl World {
    fn pass(&self, ns: f64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    /// Records a step that the user may interrupt.
    fn begin(&self, entry: Entry) -> Result<(), CallError> {
        if let Some(left) = self.until_interrupt.get() {
            self.interrupted.set(left == 0);
            if left == 0 && !self.answers_first.get() {
                return Err(CallError::Interrupted);
            }
            self.until_interrupt.set(left.checked_sub(1));
        }
        self.transcript.borrow_mut().push(entry);
        Ok(())
    }

    fn disturb(&self, what: Contamination) {
        let mut counters = self.counters.get();
        let (counter, by) = match what {
            Contamination::Steal => (&mut counters.steal_ns, DISTURBANCE_NS),
            Contamination::Throttle => (&mut counters.throttle_events, 1),
            Contamination::Suspend => (&mut counters.suspended_ns, DISTURBANCE_NS),
        };
        *counter = counter.map(|value| value + by);
        self.counters.set(counters);
    }
}

/// Starts scripts in place of processes.
pub(super) struct MockExecutor {
    world: Rc<World>,
    workers: Vec<(Rc<Script>, u32)>,
    pub(super) total_memory: u64,
}

impl MockExecutor {
    pub(super) fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        let world = World {
            now_ns: Cell::new(1e9),
            counters: Cell::new(MachineCounters {
                steal_ns: Some(0),
                throttle_events: Some(0),
                suspended_ns: Some(0),
            }),
            transcript: RefCell::default(),
            until_interrupt: Cell::new(None),
            answers_first: Cell::new(false),
            interrupted: Cell::new(false),
        };
        let workers = scripts.into_iter().map(|script| (Rc::new(script), 0)).collect();
        Self { world: Rc::new(world), workers, total_memory: 1 << 30 }
    }

    /// Stops the run while the request after `requests` more is open, launches included. That request is answered first or
    /// not at all.
    pub(super) fn interrupt_after(&mut self, requests: usize, answers_first: bool) {
        self.world.until_interrupt.set(Some(requests));
        self.world.answers_first.set(answers_first);
        self.world.interrupted.set(false);
    }

    /// Revokes the stop.
    pub(super) fn go_on(&mut self) {
        self.world.until_interrupt.set(None);
        self.world.interrupted.set(false);
    }

    /// Returns all steps so far, in order.
    pub(super) fn transcript(&self) -> Vec<Entry> {
        self.world.transcript.borrow().clone()
    }
}

impl Executor for MockExecutor {
    fn now_ns(&self) -> u64 {
        self.world.now_ns.get() as u64
    }

    fn launch(&mut self, worker: usize, options: &LaunchOptions) -> Result<Opened, CallError> {
        let (script, launches) = &mut self.workers[worker];
        let launch = *launches;
        let deadline = Some(options.deadline);
        self.world.begin(Entry { worker, launch, deadline, step: Step::Launched })?;
        *launches += 1;
        self.world.pass(script.launch_ns as f64);
        if let Some(Fault::Ends(kind)) = (script.fault)((launch, Step::Launched)) {
            return Err(ended(kind));
        }
        let hello = HelloReply {
            protocol: 1,
            worker: format!("mock {worker}"),
            modes: script.modes.clone(),
            clock_ns: None,
            clock_resolution_ns: Some(1),
            meters: BTreeMap::new(),
            facts: BTreeMap::new(),
            absent_modes: script.absent_modes.clone(),
        };
        let (world, script) = (Rc::clone(&self.world), Rc::clone(script));
        let session = MockSession {
            world,
            script,
            worker,
            launch,
            layout: options.layout,
            placements: BTreeMap::new(),
            next_handle: 1,
        };
        Ok(Opened { session: Box::new(session), hello })
    }

    fn machine(&self) -> MachineCounters {
        self.world.counters.get()
    }

    fn anchor_ns(&self) -> Option<f64> {
        Some(1e6)
    }

    fn load_average(&self) -> Option<f64> {
        Some(0.25)
    }

    fn total_memory(&self) -> u64 {
        self.total_memory
    }

    fn interrupted(&self) -> bool {
        self.world.interrupted.get()
    }
}

fn ended(kind: OutcomeKind) -> CallError {
    CallError::Ended(Outcome::new(kind, "as scripted"))
}

/// One `prepare`.
#[derive(Clone, Copy, Debug, Default)]
struct MockPlacement {
    number: u32,
    /// Iterations so far.
    count: u64,
    /// Round and index of the last iteration.
    left: Option<(u64, u64)>,
}

/// Session with a script.
struct MockSession {
    world: Rc<World>,
    script: Rc<Script>,
    worker: usize,
    launch: u32,
    layout: u32,
    placements: BTreeMap<u64, MockPlacement>,
    next_handle: u64,
}

impl MockSession {
    fn moment(&self, placement: &MockPlacement, round: u64) -> Moment {
        Moment {
            launch: self.launch,
            layout: self.layout,
            placement: placement.number,
            round,
            count: placement.count,
            now_ns: self.world.now_ns.get(),
        }
    }

    fn placement(&self, handle: u64) -> MockPlacement {
        *self.placements.get(&handle).unwrap_or_else(|| panic!("there is no placement with handle {handle}"))
    }

    /// Runs iterations from `index` on, and returns their time.
    fn iterate(&mut self, handle: u64, round: u64, index: u64, iterations: u64) -> f64 {
        let mut placement = self.placement(handle);
        let start = self.world.now_ns.get();
        for index in index..index + iterations {
            self.world.pass((self.script.iteration_ns)(&self.moment(&placement, round)));
            placement.count += 1;
            placement.left = Some((round, index));
        }
        self.placements.insert(handle, placement);
        self.world.now_ns.get() - start
    }

    fn check(&mut self, handle: u64, round: u64, index: u64, fresh: bool) -> CheckReply {
        if fresh {
            self.iterate(handle, round, index, 1);
        }
        let left = self.placement(handle).left;
        assert_eq!(left, Some((round, index)), "a check must follow the iteration that it checks");
        (self.script.check)((round, index, fresh))
    }

    fn sample(&mut self, request: SampleRequest) -> SampleReply {
        let SampleRequest { handle, mode, round, offset, lead_in, iterations } = request;
        assert!(iterations > 0, "a sample has at least one iteration");
        assert!(self.script.modes.contains(&mode), "the worker does not have the mode of the sample");
        if let Some(what) = (self.script.disturbance)(&self.moment(&self.placement(handle), round)) {
            self.world.disturb(what);
        }
        let untimed_ns = self.iterate(handle, round, offset, lead_in);
        let start_ns = (self.world.now_ns.get() as u64).saturating_add_signed(-CLOCK_OFFSET_NS);
        let wall_ns = self.iterate(handle, round, offset + lead_in, iterations);
        SampleReply {
            start_ns: Some(start_ns),
            wall_ns: wall_ns.round() as u64,
            untimed_ns: Some(untimed_ns.round() as u64),
            cpu_ns: Some((wall_ns * self.script.cpu_share).round() as u64),
            involuntary_switches: Some(0),
            readings: if mode == Mode::Metered { (self.script.readings)(request) } else { BTreeMap::new() },
            kernels: None,
            profile: if mode == Mode::Profiled { (self.script.profile)(request) } else { None },
            trace: if mode == Mode::Traced { (self.script.trace)((request, start_ns)) } else { None },
        }
    }
}

impl Session for MockSession {
    fn call(&mut self, request: &Request, deadline: Duration) -> Result<String, CallError> {
        let (worker, launch, step) = (self.worker, self.launch, Step::Asked(request.clone()));
        self.world.begin(Entry { worker, launch, deadline: Some(deadline), step: step.clone() })?;
        match (self.script.fault)((launch, step)) {
            Some(Fault::Ends(kind)) => return Err(ended(kind)),
            Some(Fault::Answers(answer)) => {
                self.world.pass(self.script.fault_ns as f64);
                return Ok(answer.to_string());
            }
            None => {}
        }
        let answer = match request {
            Request::Prepare { placement, .. } => {
                self.world.pass(self.script.prepare_ns as f64);
                let handle = self.next_handle;
                self.next_handle += 1;
                self.placements
                    .insert(handle, MockPlacement { number: *placement, ..MockPlacement::default() });
                answer(Prepared { handle, notes: Vec::new() })
            }
            Request::Check { handle, round, index, fresh } => {
                answer(self.check(*handle, *round, *index, *fresh))
            }
            Request::Sample(sample) => answer(self.sample(*sample)),
            Request::Release { handle } => {
                let released = self.placements.remove(handle);
                assert!(released.is_some(), "there is no placement with handle {handle}");
                json!({})
            }
            Request::Hello(_) | Request::Describe | Request::Finish => {
                panic!("`{}` is not a request of a launch", request.op())
            }
        };
        Ok(answer.to_string())
    }

    fn usage(&self) -> ProcessUsage {
        let iterations: u64 = self.placements.values().map(|placement| placement.count).sum();
        let leaked = iterations * self.script.leaked_bytes;
        let rss_bytes = self.placements.len() as u64 * self.script.placement_bytes + leaked;
        let most = (self.next_handle - 1) * self.script.placement_bytes;
        ProcessUsage {
            peak_rss_bytes: Some(most),
            rss_bytes: Some(rss_bytes),
            cpu_ns: Some(7_000_000),
            queue_wait_ns: None,
        }
    }

    fn clock_offset_ns(&self) -> Option<i64> {
        Some(CLOCK_OFFSET_NS)
    }

    fn finish(self: Box<Self>) {
        let (worker, launch) = (self.worker, self.launch);
        let entry = Entry { worker, launch, deadline: None, step: Step::Finished };
        self.world.transcript.borrow_mut().push(entry);
        self.world.pass(self.script.finish_ns as f64);
    }
}

fn answer(reply: impl Serialize) -> Value {
    serde_json::to_value(reply).expect("an answer has a JSON form")
}
