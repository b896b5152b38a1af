//! Tests of the engine through the executor seam: no process, no clock.

mod effects;
mod failures;
mod following;
mod layouts;
mod memory;
mod metered;
mod order;
mod profiling;
mod resume;
mod stopping;
mod tracing;
mod warm_up;

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::protocol::{Mode, Reading, Request, SampleRequest};
use perfharness_contract::{BenchmarkId, Effort, MetricDef, OutcomeKind, input_rng};
use perfharness_record::{CaseEnd, Design, LookPlan, Origin, Outcome, RunEnd, Side};
use perfharness_verdict::{Estimate, estimate};
use rand_pcg::rand_core::Rng as _;

use super::mock::{Entry, Fault, MockExecutor, Script, Step};
use super::order::PlacementRounds;
use super::{CaseState, CheckStage, Event, RunState, SampleEvent, run_plan};
use crate::plan::{CaseDesign, CasePlan, Plan};

const MS: f64 = 1e6;
const PLENTY: Duration = Duration::from_secs(1_000_000);
const VARIANTS: [&str; 4] = ["slow", "documented", "optimized", "other"];

/// A plan, the scripts that play its workers, and its result.
///
/// Side `i` of case `k` is played by script `i` of that case; the first side is the reference of all others.
struct Scenario {
    plan: Plan,
    metrics: Vec<MetricDef>,
    executor: MockExecutor,
    state: RunState,
    events: Vec<Event>,
}

impl Scenario {
    /// Creates a plan of one case with these sides: 8 launches, and time for them.
    fn of(sides: impl IntoIterator<Item = Script>) -> Self {
        Self::cases([sides.into_iter().collect()])
    }

    fn cases(cases: impl IntoIterator<Item = Vec<Script>>) -> Self {
        let mut scripts = Vec::new();
        let mut plans = Vec::new();
        for (number, sides) in cases.into_iter().enumerate() {
            let case = format!("n{number}");
            let side = |(i, variant): (usize, &str)| Side {
                benchmark: format!("mocked/{case}/{variant}").parse::<BenchmarkId>().unwrap(),
                origin: Origin::Head,
                worker: scripts.len() + i,
                reference: (i > 0).then_some(0),
                skip: None,
                expect: OutcomeKind::Ok,
                memory_bytes: None,
                layout: None,
            };
            let sides_of_plan = VARIANTS.into_iter().take(sides.len()).enumerate().map(side).collect();
            plans.push(CasePlan {
                workload: "mocked".parse().unwrap(),
                version: 1,
                case: case.parse().unwrap(),
                sides: sides_of_plan,
                design: CaseDesign::default(),
            });
            scripts.extend(sides);
        }
        let state = RunState::new(plans.iter().map(|case| case.sides.len()));
        let plan = Plan {
            seed: 1,
            device: "auto".into(),
            settings: BTreeMap::new(),
            effort: Effort::Quick,
            budget: PLENTY,
            timeout: Duration::from_secs(30),
            memory_limit_bytes: None,
            design: Design {
                looks: LookPlan::Fixed { launches: 8 },
                half_width: 0.02,
                confidence: 0.99,
                sample_ns: 3_000_000,
            },
            cases: plans,
            on_gpu: Vec::new(),
        };
        Self { plan, metrics: Vec::new(), executor: MockExecutor::new(scripts), state, events: Vec::new() }
    }

    fn launches(mut self, launches: u32) -> Self {
        self.plan.design.looks = LookPlan::Fixed { launches };
        self
    }

    fn sequential(mut self) -> Self {
        self.plan.design.looks = LookPlan::Sequential;
        self
    }

    fn budget(mut self, budget: Duration) -> Self {
        self.plan.budget = budget;
        self
    }

    fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    fn metric(mut self, metric: MetricDef) -> Self {
        self.metrics.push(metric);
        self
    }

    /// Changes a side of the first case.
    fn side(mut self, side: usize, change: impl FnOnce(&mut Side)) -> Self {
        change(&mut self.plan.cases[0].sides[side]);
        self
    }

    /// Makes the first two sides of the first case the base and the head of one benchmark.
    fn versions(self) -> Self {
        let benchmark = self.plan.cases[0].sides[0].benchmark.clone();
        self.side(0, |side| side.origin = Origin::Base).side(1, |side| side.benchmark = benchmark)
    }

    /// Sets the memory that the sides declare, on a machine with 100 bytes.
    fn memory(mut self, declared: &[u64]) -> Self {
        for (side, bytes) in self.plan.cases[0].sides.iter_mut().zip(declared) {
            side.memory_bytes = Some(*bytes);
        }
        self.executor.total_memory = 100;
        self
    }

    /// Measures the rest of the plan.
    fn go(&mut self) -> RunEnd {
        let Self { plan, metrics, executor, state, events } = self;
        run_plan(plan, &|_| metrics.clone(), executor, state, &mut |event| events.push(event.clone()))
    }

    /// Measures to the end.
    fn run(mut self) -> Self {
        assert_eq!(self.go(), RunEnd::Complete);
        self
    }

    /// Returns the first case.
    fn case(&self) -> &CaseState {
        &self.state.cases[0]
    }

    fn end(&self) -> Option<CaseEnd> {
        self.case().end.clone()
    }

    fn outcome(&self, side: usize) -> Outcome {
        self.case().sides[side].outcome.clone().expect("a side of a case that ended is decided")
    }

    fn kinds(&self) -> Vec<OutcomeKind> {
        (0..self.case().sides.len()).map(|side| self.outcome(side).kind).collect()
    }

    fn estimate(&self, candidate: usize, reference: usize) -> Estimate {
        estimate(&self.case().paired(candidate, reference), 0.99).expect("there are blocks to estimate from")
    }

    /// Returns the timed samples of a side that count.
    fn counted(&self, side: usize) -> Vec<&SampleEvent> {
        self.case().counted().filter(|s| s.side == side).collect()
    }

    /// Returns the launches in which a side has samples that count.
    fn launches_of(&self, side: usize) -> usize {
        self.case().levels(side, |s| Some(s.iteration_ns())).len()
    }

    /// Returns the timed samples of all blocks in order of time, incomplete blocks included.
    fn timed(&self) -> Vec<&SampleEvent> {
        self.sampled(Mode::Timed)
    }

    fn metered(&self) -> Vec<&SampleEvent> {
        self.sampled(Mode::Metered)
    }

    fn sampled(&self, mode: Mode) -> Vec<&SampleEvent> {
        let samples = self.events.iter().filter_map(|event| match event {
            Event::Sampled(sample) => Some(sample),
            _ => None,
        });
        samples.filter(|sample| sample.mode == mode).collect()
    }

    fn transcript(&self) -> Vec<Entry> {
        self.executor.transcript()
    }

    /// Returns the requests for samples of a worker, in order.
    fn sample_requests(&self, worker: usize) -> Vec<SampleRequest> {
        self.transcript().iter().filter(|e| e.worker == worker).filter_map(Entry::sample).collect()
    }

    /// Returns the operations that a worker was asked for in one launch.
    fn ops(&self, worker: usize, launch: u32) -> Vec<&'static str> {
        let own = |entry: &&Entry| (entry.worker, entry.launch) == (worker, launch);
        self.transcript().iter().filter(own).map(Entry::op).collect()
    }

    fn times_launched(&self, worker: usize) -> usize {
        self.transcript().iter().filter(|e| e.worker == worker && e.step == Step::Launched).count()
    }
}

/// Returns the planned placements and blocks of each launch.
fn allocations(scenario: &Scenario) -> Vec<(u32, u32)> {
    let allocation = |event: &Event| match event {
        Event::LaunchStarted { placements, blocks, .. } => Some((*placements, *blocks)),
        _ => None,
    };
    scenario.events.iter().filter_map(allocation).collect()
}

/// Returns the samples of each block, in order of time.
fn blocks<'a>(samples: &[&'a SampleEvent]) -> Vec<Vec<&'a SampleEvent>> {
    let mut blocks: Vec<Vec<&SampleEvent>> = Vec::new();
    let key = |s: &SampleEvent| (s.case, s.launch, s.part, s.placement, s.block);
    for sample in samples {
        match blocks.last_mut() {
            Some(block) if key(block[0]) == key(sample) => block.push(sample),
            _ => blocks.push(vec![sample]),
        }
    }
    blocks
}

/// Whether a step asks for a sample of a block; `half` is 0 for its first round.
fn is_sample(step: &Step, place: PlacementRounds, block: u32, half: u32) -> bool {
    match step {
        Step::Asked(Request::Sample(sample)) => sample.round == place.round(block, half),
        _ => false,
    }
}

/// Whether a step asks for a check.
fn is_check(step: &Step, when_fresh: bool) -> bool {
    matches!(step, Step::Asked(Request::Check { fresh, .. }) if *fresh == when_fresh)
}

fn place(launch: u32, placement: u32) -> PlacementRounds {
    PlacementRounds { launch, placement }
}

fn readings(id: &str, value: u64) -> BTreeMap<String, Reading> {
    [(id.to_owned(), Reading::from(value))].into()
}

/// Returns a pseudo-random number from -1 to 1 that is a function of `of`.
fn noise(of: impl std::fmt::Debug) -> f64 {
    let mut rng = input_rng(0, &format!("{of:?}"), 0);
    rng.next_u64() as f64 / u64::MAX as f64 * 2.0 - 1.0
}
