//! A run that is planned.

use std::cell::OnceCell;
use std::sync::Arc;

use perfharness_contract::BenchmarkId;
use perfharness_record::baseline::accept::identity;
use perfharness_record::baseline::calibration::Calibration;
use perfharness_record::{Design, Machine, Origin, Pattern, SelectedRecord, Side, WorkerCommand};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;
use perfharness_verdict::judge::Adapter;

use super::workers::{ask, insist_on_workloads};
use super::{ComparedWith, Listener, Note, RecordPlace, Run, RunError, RunSpec};
use crate::build::BaseFacts;
use crate::measure::{ProcessExecutor, StackCounter};
use crate::plan::{
    CasePlan, Catalog, Judging, Plan, Selection, any_needs_gpu, defined_by_base, on_gpu, pairs, select,
    with_layouts,
};
use crate::probe::listed_adapter;
use crate::read_machine;
use crate::request::RunRequest;

/// A run whose workers were asked and whose plan is made.
#[derive(Debug)]
pub struct PlannedRun {
    pub(super) request: RunSpec,
    pub(super) catalog: Catalog,
    pub(super) base: Option<BaseFacts>,
    pub(super) plan: Plan,
    machine: OnceCell<Machine>,
}

impl PlannedRun {
    /// Asks the workers of a request, selects what its patterns match, and plans.
    ///
    /// # Errors
    /// When a pattern or setting is wrong, a pattern selects nothing, or no worker has a workload.
    pub fn new(request: RunSpec, listener: &mut dyn Listener) -> Result<Self, RunError> {
        let run = &request.run;
        let patterns = run.patterns.iter().map(|text| text.parse()).collect::<Result<Vec<Pattern>, _>>()?;
        let mut catalog = ask(run, &run.workers, &request.interrupted, listener)?;
        insist_on_workloads(&catalog)?;
        if let Some((name, known)) = request.settings.unknown(&catalog) {
            return Err(RunError::Setting { name, known });
        }
        let machine = OnceCell::new();
        // A driver is asked only where something computes on a GPU.
        let adapter = |selection: &Selection, catalog: &Catalog, listener: &mut dyn Listener| {
            if any_needs_gpu(catalog, selection) {
                machine.get_or_init(|| machine_of(&request, listener)).adapter()
            } else {
                Adapter::Hardware
            }
        };
        let (cases, base) = match &request.against {
            ComparedWith::References => (select(&catalog, &patterns, run.effort)?.cases, None),
            ComparedWith::Itself { policy } => {
                let selection = select(&catalog, &patterns, run.effort)?;
                let judging = Judging { policy, adapter: adapter(&selection, &catalog, listener) };
                let mut cases = pairs(&catalog, &selection, &selection, 0, judging);
                // A benchmark that is measured for its counts alone has no time to calibrate.
                cases.retain(|case| case.design.terms.is_some());
                if cases.is_empty() {
                    return Err(RunError::NothingToCalibrate);
                }
                let cases = in_all_layouts(cases, &catalog, run, &[]);
                let base = BaseFacts {
                    source: request.source.clone(),
                    selected: selected(&catalog, &selection),
                    catalog: catalog.clone(),
                    identical: false,
                    versions: None,
                    redefined: Vec::new(),
                };
                (cases, Some(base))
            }
            ComparedWith::Base(base) => {
                let theirs = ask(run, &base.workers, &request.interrupted, listener)?;
                let before = select_known(&theirs, &patterns, &request);
                let (defined, redefined) = defined_by_base(&catalog, &theirs);
                catalog = defined;
                let selection = select(&catalog, &patterns, run.effort)?;
                let cases = if base.identical {
                    Vec::new()
                } else {
                    let adapter = adapter(&selection, &catalog, listener);
                    let judging = Judging { policy: &base.policy, adapter };
                    let pairs = pairs(&catalog, &selection, &before, run.workers.len(), judging);
                    in_all_layouts(pairs, &catalog, run, &base.workers)
                };
                let base = BaseFacts {
                    source: base.source.clone(),
                    selected: selected(&theirs, &before),
                    catalog: theirs,
                    identical: base.identical,
                    versions: base.versions.clone(),
                    redefined: [base.redefined.clone(), redefined].concat(),
                };
                (cases, Some(base))
            }
        };
        let plan = plan(&request, &catalog, cases);
        let on_gpu = on_gpu(&catalog, &plan.cases);
        let has_gpu = !on_gpu.is_empty() && {
            let machine = machine.get_or_init(|| machine_of(&request, listener));
            machine.facts.contains_key("gpu") && machine.adapter() == Adapter::Hardware
        };
        let plan = Plan { on_gpu: if has_gpu { on_gpu } else { Vec::new() }, ..plan };
        Ok(Self { request, catalog, base, plan, machine })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The workloads of the workers here.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The other build.
    pub fn base(&self) -> Option<&BaseFacts> {
        self.base.as_ref()
    }

    /// Lets each row end as the calibration of this machine class says, which is known once the machine is.
    pub fn set_calibration(&mut self, calibration: &Calibration) {
        for case in &mut self.plan.cases {
            let Some(head) = case.sides.iter().find(|side| side.origin == Origin::Head) else { continue };
            let calibrated = calibration.of(&head.benchmark, case.version);
            if let (Some(terms), Some(calibrated)) = (&mut case.design.terms, calibrated) {
                terms.calibrated = Some(calibrated.sd);
                terms.layout_spread = calibrated.layout_spread.unwrap_or(0.0);
            }
        }
    }

    /// Starts the workers of the plan, for launches in which nothing is timed.
    pub fn executor(&self) -> ProcessExecutor {
        ProcessExecutor::new(self.workers(), Arc::clone(&self.request.interrupted))
    }

    /// A counter of instructions by call stack.
    ///
    /// # Errors
    /// When nothing can count here, with the reason.
    pub fn stack_counter(&self) -> Result<StackCounter, String> {
        StackCounter::new(&self.workers(), &self.request.interrupted)
    }

    /// Why the instructions of a side cannot be counted whatever the machine, as a clause.
    pub fn uncountable(&self, side: &Side) -> Option<String> {
        let definition = self.catalog.definition(side.benchmark.workload.as_str());
        let variant = definition.and_then(|definition| definition.variant(&side.benchmark.variant))?;
        variant.needs.iter().any(|need| need == "gpu").then(|| "it computes on a GPU".to_owned())
    }

    /// The workers of the plan, by number.
    pub(super) fn workers(&self) -> Vec<WorkerCommand> {
        let others = match &self.request.against {
            ComparedWith::Base(base) => base.workers.as_slice(),
            ComparedWith::References | ComparedWith::Itself { .. } => &[],
        };
        self.request.run.workers.iter().chain(others).cloned().collect()
    }

    /// The machine with the adapter that the run uses. A driver that fails is no reason not to measure anything else.
    pub fn machine(&self, listener: &mut dyn Listener) -> &Machine {
        self.machine.get_or_init(|| machine_of(&self.request, listener))
    }

    /// Begins the run at a place, or goes on with the one that was cut off there.
    ///
    /// # Errors
    /// When the place is taken, cannot be written, or belongs to another run.
    pub fn begin(self, place: RecordPlace, listener: &mut dyn Listener) -> Result<Run, RunError> {
        Run::begin(self, place, listener)
    }
}

/// Adds the comparisons of layouts to pairs. They serve times, and fewer launches do not judge any.
fn in_all_layouts(
    pairs: Vec<CasePlan>,
    catalog: &Catalog,
    run: &RunRequest,
    others: &[WorkerCommand],
) -> Vec<CasePlan> {
    let judges = |launches: u32| launches as usize >= MIN_LAUNCHES_TO_DECIDE;
    if !run.launches.is_none_or(judges) {
        return pairs;
    }
    let workers: Vec<&WorkerCommand> = run.workers.iter().chain(others).collect();
    with_layouts(pairs, catalog, &workers)
}

fn machine_of(request: &RunSpec, listener: &mut dyn Listener) -> Machine {
    let gpu = listed_adapter(&request.run.device).map_err(|error| {
        let fault = format!("the process that lists the adapters {error}");
        listener.note(&Note::NoAdapter { fault: fault.clone() });
        fault
    });
    read_machine(request.machine_class.as_deref(), gpu.as_ref().map(Option::as_ref))
}

/// The selection of another build: maybe nothing, which is no mistake of the user's, and maybe because none of its workers
/// works, which the gate reports.
fn select_known(catalog: &Catalog, patterns: &[Pattern], request: &RunSpec) -> Selection {
    let effort = request.run.effort;
    let is_known = |pattern: &&Pattern| select(catalog, &[(*pattern).clone()], effort).is_ok();
    let known: Vec<Pattern> = patterns.iter().filter(is_known).cloned().collect();
    select(catalog, &known, effort).unwrap_or_default()
}

fn plan(request: &RunSpec, catalog: &Catalog, cases: Vec<CasePlan>) -> Plan {
    let is_timed = |case: &&CasePlan| match request.against {
        // A benchmark without a base has no time to compare.
        ComparedWith::Base(_) => case.design.stage.is_first() && case.sides.len() > 1,
        ComparedWith::References | ComparedWith::Itself { .. } => {
            case.sides.iter().any(|side| side.skip.is_none())
        }
    };
    let timed = cases.iter().filter(is_timed).count() as u32;
    let settings = request.settings.placed(&request.run, catalog);
    let is_gate = matches!(request.against, ComparedWith::Base(_));
    let plan = request.run.plan(cases, settings, timed, is_gate);
    let design = match request.sample {
        Some(sample) => Design { sample_ns: sample.as_nanos() as u64, ..plan.design },
        None => plan.design,
    };
    Plan { design, ..plan }
}

/// Returns the selected benchmarks of a build.
fn selected(catalog: &Catalog, selection: &Selection) -> Vec<SelectedRecord> {
    let record = |case: &CasePlan, id: &BenchmarkId| {
        let workload = catalog.definition(id.workload.as_str())?;
        let identity = identity(workload, workload.case(&id.case)?, workload.variant(&id.variant)?);
        Some(SelectedRecord { id: id.clone(), definition: case.version, identity })
    };
    let sides = selection.cases.iter().flat_map(|case| case.sides.iter().map(move |side| (case, side)));
    sides
        .filter(|(_, side)| side.skip.is_none())
        .filter_map(|(case, side)| record(case, &side.benchmark))
        .collect()
}
