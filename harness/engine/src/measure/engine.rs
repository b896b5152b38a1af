//! Running of a plan: case after case, launch after launch, until each case is measured enough.

use perfharness_contract::{MetricDef, OutcomeKind};
use perfharness_record::{Outcome, RunEnd};
use perfharness_verdict::{Components, components, estimate, level};

use super::event::{Event, LaunchTiming};
use super::executor::Executor;
use super::launch::{Interrupted, LaunchRunner};
use super::pairing::{SideNeeds, choose_pairing, parts};
use super::state::{CaseState, RunState};
use super::stopping::{CaseProgress, decide};
use super::{SampleEvent, allocation};
use crate::plan::{CasePlan, Plan};

/// Applies events to the state and forwards them.
pub(super) struct Recorder<'e> {
    pub(super) state: &'e mut RunState,
    pub(super) forward: &'e mut dyn FnMut(&Event),
}

impl Recorder<'_> {
    pub(super) fn emit(&mut self, event: &Event) {
        self.state.apply(event);
        (self.forward)(event);
    }
}

/// Measures the part of the plan that the state does not have yet. `metrics` returns the metric definitions of a workload.
///
/// Every event is applied to `state` and then given to `forward`, in order.
pub fn run_plan(
    plan: &Plan,
    metrics: &dyn Fn(&CasePlan) -> Vec<MetricDef>,
    executor: &mut dyn Executor,
    state: &mut RunState,
    forward: &mut dyn FnMut(&Event),
) -> RunEnd {
    let mut recorder = Recorder { state, forward };
    for (case, case_plan) in plan.cases.iter().enumerate() {
        let metrics = metrics(case_plan);
        let mut runner =
            CaseRunner { plan, case_plan, metrics: &metrics, case, executor, recorder: &mut recorder };
        if runner.run() == Err(Interrupted) {
            return RunEnd::Interrupted;
        }
    }
    RunEnd::Complete
}

struct CaseRunner<'a, 'e> {
    plan: &'a Plan,
    case_plan: &'a CasePlan,
    metrics: &'a [MetricDef],
    case: usize,
    executor: &'a mut dyn Executor,
    recorder: &'a mut Recorder<'e>,
}

impl CaseRunner<'_, '_> {
    fn state(&self) -> &CaseState {
        &self.recorder.state.cases[self.case]
    }

    fn run(&mut self) -> Result<(), Interrupted> {
        if self.state().end.is_some() {
            return Ok(());
        }
        let needs: Vec<SideNeeds> = self
            .case_plan
            .sides
            .iter()
            .map(|s| {
                // A side that is skipped needs no memory, whatever it declares.
                let memory_bytes = s.memory_bytes.filter(|_| s.skip.is_none()).unwrap_or(0);
                SideNeeds { reference: s.reference, memory_bytes }
            })
            .collect();
        let pairing =
            self.state().pairing.unwrap_or_else(|| choose_pairing(&needs, self.executor.total_memory()));
        self.recorder.emit(&Event::CaseStarted { case: self.case, pairing });
        self.skip_what_cannot_run();
        let budget_ns = self.budget_ns();
        let design = self.plan.design_of(self.case_plan);
        let looks = design.looks();
        loop {
            if self.executor.interrupted() {
                return Err(Interrupted);
            }
            let state = self.state();
            let active = state.active();
            let parts = parts(pairing, &needs, &active);
            let timings: Vec<LaunchTiming> = state.launches.iter().filter_map(|l| l.timing).collect();
            let launches = state.launches_with_blocks();
            let left_ns = budget_ns.saturating_sub(state.spent_ns());
            let until = looks.next_look(launches).unwrap_or(launches + 1).saturating_sub(launches).max(1);
            let costs = allocation::costs(&timings, parts.len());
            let components = (launches >= allocation::PILOT_LAUNCHES).then(|| self.components()).flatten();
            let chosen = allocation::choose(components.as_ref(), costs.as_ref(), until, left_ns);
            let end = decide(&CaseProgress {
                launches,
                looks: &looks,
                finished: !timings.is_empty(),
                active: active.len(),
                settled: self.settled(launches),
                left_ns,
                next_ns: costs.map_or(0.0, |costs| allocation::launch_cost(&costs, chosen)),
            });
            if let Some(end) = end {
                self.conclude();
                self.recorder.emit(&Event::CaseFinished { case: self.case, end });
                return Ok(());
            }
            // The cost of the first launch is unknown: it gets its share, not all of the time that is left.
            let share_ns = if costs.is_some() { left_ns } else { left_ns / until as u64 };
            let runner = LaunchRunner {
                plan: self.plan,
                case_plan: self.case_plan,
                metrics: self.metrics,
                case: self.case,
                launch: self.state().next_launch().max(self.case_plan.design.stage.first_launch()),
                deadline_ns: self.executor.now_ns().saturating_add(share_ns),
                executor: self.executor,
                recorder: self.recorder,
                allocation: chosen,
                timing: LaunchTiming::default(),
                checked: Vec::new(),
                metered: Vec::new(),
            };
            runner.run(&parts)?;
        }
    }

    /// Returns the time for this case: an even share of the time that is left for it and those after it.
    fn budget_ns(&self) -> u64 {
        let others: u64 = self
            .recorder
            .state
            .cases
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != self.case)
            .map(|(_, c)| c.spent_ns())
            .sum();
        let can_run = |case: &&CasePlan| case.sides.iter().any(|side| side.skip.is_none());
        let waiting = self.plan.cases[self.case..].iter().filter(can_run).count();
        let total = self.plan.budget.as_nanos() as u64;
        total.saturating_sub(others) / waiting.max(1) as u64
    }

    fn skip_what_cannot_run(&mut self) {
        for side in self.state().active() {
            if let Some(reason) = &self.case_plan.sides[side].skip {
                let outcome = Outcome::new(OutcomeKind::Skipped, reason.clone());
                self.recorder.emit(&Event::OutcomeSet { case: self.case, side, outcome });
            }
        }
    }

    /// Decides the sides that are still open: `ok` with a complete block, else `not-run`.
    fn conclude(&mut self) {
        for side in self.state().active() {
            let measured = self.state().counted().any(|s| s.side == side);
            let outcome = if measured {
                Outcome::ok()
            } else {
                Outcome::new(OutcomeKind::NotRun, "none of its blocks was completed")
            };
            self.recorder.emit(&Event::OutcomeSet { case: self.case, side, outcome });
        }
    }

    fn comparisons(&self) -> Vec<(usize, usize)> {
        let active = self.state().active();
        self.case_plan.comparisons().filter(|(c, r)| active.contains(c) && active.contains(r)).collect()
    }

    fn confidence_at(&self, launches: usize) -> f64 {
        self.plan.design_of(self.case_plan).confidence_at(launches)
    }

    /// Whether the case is measured enough: every comparison is precise enough or, with a threshold, known to be on one side of
    /// it.
    fn settled(&self, launches: usize) -> bool {
        let Some(terms) = self.case_plan.design.terms else {
            return self.half_width(launches).is_some_and(|width| width <= self.plan.design.half_width);
        };
        let confidence = self.confidence_at(launches);
        self.comparisons().into_iter().all(|(c, r)| {
            estimate(&self.state().paired(c, r), confidence).is_ok_and(|estimate| terms.is_settled(&estimate))
        })
    }

    /// Returns the widest half-width among the comparisons, or among the levels if nothing is compared.
    fn half_width(&self, launches: usize) -> Option<f64> {
        let confidence = self.confidence_at(launches);
        let comparisons = self.comparisons();
        let widths: Vec<Option<f64>> = if comparisons.is_empty() {
            let log_width = |side| {
                let levels = self.state().levels(side, |s: &SampleEvent| Some(s.iteration_ns()));
                let interval = level(&levels, confidence).ok()?.interval?;
                Some((interval.upper / interval.lower).ln() / 2.0)
            };
            self.state().active().into_iter().map(log_width).collect()
        } else {
            let width = |(c, r)| estimate(&self.state().paired(c, r), confidence).ok()?.half_width();
            comparisons.into_iter().map(width).collect()
        };
        widths.into_iter().try_fold(0.0, |widest: f64, width| Some(widest.max(width?)))
    }

    /// Returns the components of the comparison that varies most from launch to launch.
    fn components(&self) -> Option<Components> {
        let of = |(c, r)| {
            let paired = self.state().paired(c, r);
            Some((estimate(&paired, self.plan.design.confidence).ok()?.sd?, components(&paired).ok()?))
        };
        let all = self.comparisons().into_iter().filter_map(of);
        all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, components)| components)
    }
}
