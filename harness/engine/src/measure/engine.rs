//! Running of a plan: look after look over all cases, launch after launch, until each case is measured enough.

use perfharness_contract::{MetricDef, OutcomeKind};
use perfharness_record::{CaseEnd, Outcome, Pairing, RunEnd, Side, Stage};
use perfharness_verdict::judge::RowTerms;
use perfharness_verdict::{Allocation, Components, Looks, components, estimate, level};

use super::event::{Event, LaunchTiming};
use super::executor::Executor;
use super::launch::{Interrupted, LaunchRunner};
use super::pairing::{SideNeeds, choose_pairing, parts};
use super::state::{CaseState, RunState};
use super::stopping::{CaseProgress, decide};
use super::{SampleEvent, allocation, layouts};
use crate::plan::{CasePlan, LAYOUT_LAUNCHES, Plan};

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
    let recorder = Recorder { state, forward };
    match (PlanRunner { plan, metrics, executor, recorder }).run() {
        Ok(()) => RunEnd::Complete,
        Err(Interrupted) => RunEnd::Interrupted,
    }
}

/// The next launch of a case.
struct Turn {
    case: usize,
    allocation: Allocation,
    /// Time that the launch should take at most, in ns.
    limit_ns: u64,
    /// Time that it is expected to take, in ns; 0 if nobody knows.
    cost_ns: f64,
}

struct PlanRunner<'a, 'e> {
    plan: &'a Plan,
    metrics: &'a dyn Fn(&CasePlan) -> Vec<MetricDef>,
    executor: &'a mut dyn Executor,
    recorder: Recorder<'e>,
}

impl PlanRunner<'_, '_> {
    fn run(&mut self) -> Result<(), Interrupted> {
        // What a killed harness left of its cases is put in order before anything is decided.
        for case in
            self.open().into_iter().filter(|case| self.state(*case).pairing.is_some()).collect::<Vec<_>>()
        {
            self.begin(case);
        }
        while let Some(turn) = self.next_turn() {
            if self.executor.interrupted() {
                return Err(Interrupted);
            }
            self.launch(&turn)?;
            self.finish_if_done(turn.case);
        }
        Ok(())
    }

    fn state(&self, case: usize) -> &CaseState {
        &self.recorder.state.cases[case]
    }

    /// Returns the cases that have not ended.
    fn open(&self) -> Vec<usize> {
        (0..self.plan.cases.len()).filter(|case| self.state(*case).end.is_none()).collect()
    }

    fn looks(&self, case: usize) -> Looks {
        self.plan.design_of(&self.plan.cases[case]).looks()
    }

    fn needs(&self, case: usize) -> Vec<SideNeeds> {
        let need = |side: &Side| {
            // A side that is skipped needs no memory, whatever it declares.
            let memory_bytes = side.memory_bytes.filter(|_| side.skip.is_none()).unwrap_or(0);
            SideNeeds { reference: side.reference, memory_bytes }
        };
        self.plan.cases[case].sides.iter().map(need).collect()
    }

    /// Returns the sides of each part of a launch.
    fn parts(&self, case: usize) -> Vec<Vec<usize>> {
        let state = self.state(case);
        parts(state.pairing.unwrap_or(Pairing::Together), &self.needs(case), &state.active())
    }

    /// Begins a case, or continues it after an interruption.
    fn begin(&mut self, case: usize) {
        let needs = self.needs(case);
        let chosen = self.state(case).pairing;
        let pairing = chosen.unwrap_or_else(|| choose_pairing(&needs, self.executor.total_memory()));
        self.recorder.emit(&Event::CaseStarted { case, pairing });
        for side in self.state(case).active() {
            if let Some(reason) = &self.plan.cases[case].sides[side].skip {
                let outcome = Outcome::new(OutcomeKind::Skipped, reason.clone());
                self.recorder.emit(&Event::OutcomeSet { case, side, outcome });
            }
        }
        if self.plan.cases[case].design.stage == Stage::Layouts && pairing != Pairing::Together {
            // Layouts that are not alive together cannot be told apart. Their pair is measured all the same.
            return self.finish(case, CaseEnd::NothingLeft);
        }
        self.finish_if_done(case);
    }

    /// Chooses the next launch; `None` once all cases have ended.
    ///
    /// The case with the smallest next look comes first, so that all cases are looked at once before any goes on to its
    /// second look. A case has an even share of the time that is left. If that does not last for a launch, the others
    /// come first, and may leave some of theirs; at last, whoever had the fewest launches goes on while any time is left.
    fn next_turn(&mut self) -> Option<Turn> {
        loop {
            self.end_comparisons_of_layouts();
            let mut open = self.open();
            open.sort_by_cached_key(|case| {
                let launches = self.state(*case).launches_with_blocks();
                self.looks(*case).next_look(launches).unwrap_or(usize::MAX)
            });
            let mut too_long = Vec::new();
            for case in open {
                if self.state(case).pairing.is_none() {
                    self.begin(case);
                    if self.state(case).end.is_some() {
                        break;
                    }
                }
                let (turn, share_ns) = self.turn(case);
                if turn.cost_ns <= share_ns as f64 {
                    return Some(turn);
                }
                too_long.push(turn);
            }
            let open = self.open();
            if open.is_empty() {
                return None;
            }
            // A case that ended meanwhile leaves its share to the others.
            if too_long.len() < open.len() {
                continue;
            }
            let left_ns = self.left_ns() as f64;
            too_long.sort_by_cached_key(|turn| self.state(turn.case).launches_with_blocks());
            if let Some(turn) = too_long.into_iter().find(|turn| turn.cost_ns <= left_ns) {
                return Some(turn);
            }
            for case in open {
                let launches = self.state(case).launches_with_blocks();
                self.finish(case, CaseEnd::Budget { launches });
            }
        }
    }

    /// Ends the comparisons of layouts that time does not suffice for. Their pairs are measured all the same.
    fn end_comparisons_of_layouts(&mut self) {
        let is_one = |case: &usize| self.plan.cases[*case].design.stage == Stage::Layouts;
        let all = (0..self.plan.cases.len()).filter(is_one);
        let spent_ns: u64 = all.map(|case| self.state(case).spent_ns()).sum();
        let is_late = spent_ns as f64 > self.plan.budget.as_nanos() as f64 * layouts::BUDGET_SHARE;
        for case in self.open().into_iter().filter(is_one).collect::<Vec<_>>() {
            let (Turn { cost_ns, .. }, share_ns) = self.turn(case);
            if is_late || cost_ns > share_ns as f64 {
                let launches = self.state(case).launches_with_blocks();
                self.finish(case, CaseEnd::Budget { launches });
            }
        }
    }

    /// Returns the next launch of a case, and the time that the case has until its next look, in ns.
    fn turn(&self, case: usize) -> (Turn, u64) {
        let state = self.state(case);
        let launches = state.launches_with_blocks();
        let until = self.looks(case).next_look(launches).map_or(1, |look| look - launches);
        let timings: Vec<LaunchTiming> = state.launches.iter().filter_map(|l| l.timing).collect();
        let costs = allocation::costs(&timings, self.parts(case).len());
        let components = (launches >= allocation::PILOT_LAUNCHES).then(|| self.components(case)).flatten();
        let share_ns = self.share_ns(case);
        let pilots = components.as_ref().map(|components| (components, launches));
        let allocation = match self.plan.cases[case].design.stage {
            Stage::Layouts => layouts::ALLOCATION,
            _ => allocation::choose(pilots, costs.as_ref(), until, share_ns),
        };
        let cost_ns = costs.map_or(0.0, |costs| allocation::launch_cost(&costs, allocation));
        // The cost of the first launch is unknown: it gets its share, not all of the time until the look.
        let limit_ns = if costs.is_some() { share_ns } else { share_ns / until as u64 };
        (Turn { case, allocation, limit_ns: limit_ns.max(cost_ns as u64), cost_ns }, share_ns)
    }

    /// Returns the time that is left of the budget, in ns.
    fn left_ns(&self) -> u64 {
        (self.plan.budget.as_nanos() as u64).saturating_sub(self.recorder.state.spent_ns())
    }

    /// Returns the time that a case has until its next look, in ns: all cases that have not ended share what is left and what
    /// they used evenly.
    fn share_ns(&self, case: usize) -> u64 {
        let can_run = |case: &usize| self.plan.cases[*case].sides.iter().any(|side| side.skip.is_none());
        let waiting: Vec<usize> = self.open().into_iter().filter(can_run).collect();
        let used_ns: u64 = waiting.iter().map(|case| self.state(*case).spent_ns()).sum();
        let share_ns = (self.left_ns() + used_ns) / waiting.len().max(1) as u64;
        share_ns.saturating_sub(self.state(case).spent_ns())
    }

    fn launch(&mut self, turn: &Turn) -> Result<(), Interrupted> {
        let Turn { case, allocation, limit_ns, .. } = *turn;
        let case_plan = &self.plan.cases[case];
        let parts = self.parts(case);
        let metrics = (self.metrics)(case_plan);
        let runner = LaunchRunner {
            plan: self.plan,
            case_plan,
            metrics: &metrics,
            case,
            launch: self.state(case).next_launch().max(case_plan.design.stage.first_launch()),
            deadline_ns: self.executor.now_ns().saturating_add(limit_ns),
            limit_ns,
            part_blocks: 0,
            block_ns: 0,
            is_checked: false,
            executor: &mut *self.executor,
            recorder: &mut self.recorder,
            allocation,
            timing: LaunchTiming::default(),
            checked: Vec::new(),
            metered: Vec::new(),
        };
        runner.run(&parts)
    }

    /// Ends a case that needs no more launches.
    fn finish_if_done(&mut self, case: usize) {
        let state = self.state(case);
        let launches = state.launches_with_blocks();
        let end = decide(&CaseProgress {
            launches,
            looks: &self.looks(case),
            finished: state.launches.iter().any(|launch| launch.timing.is_some()),
            active: state.active().len(),
            settled: || self.settled(case, launches),
        });
        let case_plan = &self.plan.cases[case];
        let explains_nothing = case_plan.design.stage == Stage::Layouts
            && launches == LAYOUT_LAUNCHES as usize
            && layouts::compared(case_plan, state).explained <= 0.0;
        if let Some(end) = end.or_else(|| explains_nothing.then_some(CaseEnd::Precise { launches })) {
            self.finish(case, end);
        }
    }

    /// Decides the sides that are still open, `ok` with a complete block, else `not-run`, and ends the case.
    fn finish(&mut self, case: usize, end: CaseEnd) {
        // A layout is not a benchmark, which alone has an outcome.
        let is_benchmark = self.plan.cases[case].design.stage != Stage::Layouts;
        for side in self.state(case).active().into_iter().filter(|_| is_benchmark) {
            let measured = self.state(case).counted().any(|s| s.side == side);
            let outcome = if measured {
                Outcome::ok()
            } else {
                Outcome::new(OutcomeKind::NotRun, "none of its blocks was completed")
            };
            self.recorder.emit(&Event::OutcomeSet { case, side, outcome });
        }
        self.recorder.emit(&Event::CaseFinished { case, end });
    }

    fn comparisons(&self, case: usize) -> Vec<(usize, usize)> {
        let active = self.state(case).active();
        let all = self.plan.cases[case].comparisons();
        all.filter(|(c, r)| active.contains(c) && active.contains(r)).collect()
    }

    fn confidence_at(&self, case: usize, launches: usize) -> f64 {
        self.plan.design_of(&self.plan.cases[case]).confidence_at(launches)
    }

    /// Whether the case is measured enough: every comparison is settled by the terms of its row or, without terms, precise
    /// enough.
    fn settled(&self, case: usize, launches: usize) -> bool {
        let Some(terms) = self.plan.cases[case].design.terms else {
            return self.half_width(case, launches).is_some_and(|width| width <= self.plan.design.half_width);
        };
        let explained = layouts::explained(self.plan, self.recorder.state, &self.plan.cases[case]);
        let terms = RowTerms { layout_spread: explained.unwrap_or(terms.layout_spread), ..terms };
        let confidence = self.confidence_at(case, launches);
        self.comparisons(case).into_iter().all(|(c, r)| {
            estimate(&self.state(case).paired(c, r), confidence)
                .is_ok_and(|estimate| terms.is_settled(&estimate))
        })
    }

    /// Returns the widest half-width among the comparisons, or among the levels if nothing is compared.
    fn half_width(&self, case: usize, launches: usize) -> Option<f64> {
        let confidence = self.confidence_at(case, launches);
        let comparisons = self.comparisons(case);
        let widths: Vec<Option<f64>> = if comparisons.is_empty() {
            let log_width = |side| {
                let levels = self.state(case).levels(side, |s: &SampleEvent| Some(s.iteration_ns()));
                let interval = level(&levels, confidence).ok()?.interval?;
                Some((interval.upper / interval.lower).ln() / 2.0)
            };
            self.state(case).active().into_iter().map(log_width).collect()
        } else {
            let width = |(c, r)| estimate(&self.state(case).paired(c, r), confidence).ok()?.half_width();
            comparisons.into_iter().map(width).collect()
        };
        widths.into_iter().try_fold(0.0, |widest: f64, width| Some(widest.max(width?)))
    }

    /// Returns the components of the comparison that varies most from launch to launch.
    fn components(&self, case: usize) -> Option<Components> {
        let of = |(c, r)| {
            let paired = self.state(case).paired(c, r);
            Some((estimate(&paired, self.plan.design.confidence).ok()?.sd?, components(&paired).ok()?))
        };
        let all = self.comparisons(case).into_iter().filter_map(of);
        all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, components)| components)
    }
}
