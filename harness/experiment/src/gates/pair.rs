//! One kernel in two processes, base and head, measured by the engine of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use perfharness_contract::{Effort, MetricDef, Name, OutcomeKind};
use perfharness_engine::measure::{ProcessExecutor, RunState, run_plan};
use perfharness_engine::plan::{CaseDesign, CasePlan, Plan};
use perfharness_known_work::{VARIABLE, workload};
use perfharness_record::Side;
use perfharness_record::WorkerCommand;
use perfharness_record::{Design, LookPlan, Origin};
use perfharness_verdict::Paired;

/// The variant that both processes run. What differs is planted.
pub(super) const VARIANT: &str = "w100";
const TIMEOUT: Duration = Duration::from_mins(1);

/// How a pair is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// The factor by which head has more work; 1 for identical sides.
    pub(super) planted: f64,
    /// What a launch of both processes may take.
    pub(super) launch: Duration,
    /// How long a timed sample should last.
    pub(super) sample: Duration,
}

/// The two workers: the same program, whose environments differ in one digit or in none. They are equally long,
/// because the size of the environment moves the stack, and with it the time of what lies there.
pub(super) fn workers(planted: f64) -> anyhow::Result<Vec<WorkerCommand>> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let worker = |name: &str, factor: f64| WorkerCommand {
        name: name.into(),
        command: vec![program.clone(), "worker".into()],
        env: BTreeMap::from([(VARIABLE.to_owned(), format!("time={factor:.3}"))]),
        folder: None,
    };
    Ok(vec![worker("base", 1.0), worker("head", planted)])
}

/// A kernel that is being measured.
pub(super) struct Pair {
    plan: Plan,
    state: RunState,
    metrics: Vec<MetricDef>,
    executor: ProcessExecutor,
    launch: Duration,
}

impl Pair {
    pub(super) fn new(kernel: &str, seed: u64, conditions: &Conditions) -> anyhow::Result<Self> {
        let workload = workload();
        let definition = workload.definition();
        let case: Name = kernel.parse()?;
        if definition.cases.iter().all(|known| known.id != case) {
            bail!("there is no kernel `{kernel}`");
        }
        let benchmark = definition.benchmark_id(&case, &VARIANT.parse()?);
        let special = definition.benchmark(&case, &benchmark.variant);
        let side = |worker: usize, reference| Side {
            benchmark: benchmark.clone(),
            origin: Origin::Head,
            worker,
            reference,
            skip: None,
            expect: special.expect,
            memory_bytes: special.memory_bytes,
        };
        let sides = vec![side(0, None), side(1, Some(0))];
        let design =
            Design { sample_ns: conditions.sample.as_nanos() as u64, ..Design::of(Effort::Standard) };
        let plan = Plan {
            seed,
            device: "auto".into(),
            settings: BTreeMap::new(),
            effort: Effort::Standard,
            budget: Duration::ZERO,
            timeout: TIMEOUT,
            memory_limit_bytes: None,
            design,
            cases: vec![CasePlan {
                workload: definition.id.clone(),
                version: definition.version,
                case,
                sides,
                design: CaseDesign::default(),
            }],
        };
        Ok(Self {
            state: RunState::new([2]),
            plan,
            metrics: definition.metrics.clone(),
            executor: ProcessExecutor::new(workers(conditions.planted)?, Arc::new(AtomicBool::new(false))),
            launch: conditions.launch,
        })
    }

    /// Measures until there are so many launches.
    pub(super) fn extend(&mut self, launches: usize) -> anyhow::Result<()> {
        let mut patience = 1;
        loop {
            let have = self.launches();
            let missing = launches.saturating_sub(have);
            if missing == 0 {
                return Ok(());
            }
            // Launches that took longer than they should, on a machine that is busy, leave too little for the last
            // ones.
            let more = self.launch * missing as u32 * patience;
            self.plan.budget = Duration::from_nanos(self.state.spent_ns()) + more;
            self.plan.design.looks = LookPlan::Fixed { launches: launches as u32 };
            self.state.cases[0].end = None;
            let metrics = self.metrics.clone();
            run_plan(&self.plan, &|_| metrics.clone(), &mut self.executor, &mut self.state, &mut |_| {});
            let mut outcomes = self.state.cases[0].sides.iter().filter_map(|side| side.outcome.as_ref());
            // A side that is not run yet has lost its blocks to contamination so far, and goes on.
            let is_failure = |kind| !matches!(kind, OutcomeKind::Ok | OutcomeKind::NotRun);
            if let Some(failed) = outcomes.find(|outcome| is_failure(outcome.kind)) {
                bail!("{} failed: {failed:?}", self.plan.cases[0].label());
            }
            if self.launches() == have {
                patience *= 2;
            }
            if patience > 1000 {
                bail!("{} makes no launch", self.plan.cases[0].label());
            }
        }
    }

    /// Launches with complete blocks of both sides, dropped ones included.
    fn launches(&self) -> usize {
        let of = |side| {
            let samples = self.state.cases[0].samples.iter().map(|row| &row.sample);
            samples.filter(|s| s.side == side).map(|s| s.launch).collect::<BTreeSet<_>>().len()
        };
        of(0).min(of(1))
    }

    /// Log-ratios of head against base.
    pub(super) fn paired(&self) -> Paired {
        self.state.cases[0].paired(1, 0)
    }

    /// Seconds of each launch.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let launches = &self.state.cases[0].launches;
        launches.iter().filter_map(|row| Some(row.timing?.total_ns as f64 / 1e9)).collect()
    }

    /// Blocks that were dropped, and all that were measured.
    pub(super) fn blocks(&self) -> (usize, usize) {
        let case = &self.state.cases[0];
        (case.dropped.values().sum::<u64>() as usize, case.blocks as usize)
    }

    /// Load average when the first launch began.
    pub(super) fn load_average(&self) -> anyhow::Result<Option<f64>> {
        Ok(self.state.cases[0].launches.first().context("no launch")?.load_average)
    }
}
