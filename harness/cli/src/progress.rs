//! Progress on stderr: a bar on a terminal, lines elsewhere. A consumer of events.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perfharness_contract::OutcomeKind;
use perfharness_engine::measure::Event;
use perfharness_engine::plan::{CasePlan, Plan};
use perfharness_platform::clock;
use perfharness_record::plain_text::plain;
use perfharness_record::{Stage, units};

use crate::terminal::say;

/// Shows the progress of a run.
pub(crate) struct Progress {
    style: Style,
    plan: Plan,
    started: Instant,
    launches: Vec<u64>,
    /// Cases that have ended.
    ended: BTreeSet<usize>,
    /// Notes of the workers that were already shown, by case: several variants usually send the same note.
    shown_notes: BTreeSet<(usize, String)>,
}

enum Style {
    Bar(ProgressBar),
    Lines,
    Quiet,
}

impl Progress {
    /// Returns the progress of a run; silent if the user wants quiet.
    pub(crate) fn new(plan: &Plan, quiet: bool) -> Self {
        let style = if quiet {
            Style::Quiet
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg}") {
                bar.set_style(style);
            }
            Style::Bar(bar)
        } else {
            Style::Lines
        };
        let launches = vec![0; plan.cases.len()];
        Self {
            style,
            plan: plan.clone(),
            started: clock::now(),
            launches,
            ended: BTreeSet::new(),
            shown_notes: BTreeSet::new(),
        }
    }

    /// Handles an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::CaseStarted { case, .. } => {
                let case = &self.plan.cases[*case];
                let sides: Vec<&str> = case
                    .sides
                    .iter()
                    .filter(|s| s.skip.is_none())
                    .map(|s| s.benchmark.variant.as_str())
                    .collect();
                let line = match case.design.stage {
                    Stage::Layouts => {
                        format!("{}: layouts of {}", case.label(), sides.first().unwrap_or(&""))
                    }
                    _ => format!("{}: {}", case.label(), sides.join(", ")),
                };
                self.line(&line);
            }
            Event::LaunchStarted { case, .. } => self.show(*case),
            Event::LaunchFinished { case, .. } => {
                self.launches[*case] += 1;
                self.show(*case);
            }
            Event::OutcomeSet { case, side, outcome } => {
                if !matches!(outcome.kind, OutcomeKind::Ok) {
                    let benchmark = &self.plan.cases[*case].sides[*side].benchmark;
                    let reason = outcome.reason.as_deref().unwrap_or("");
                    self.line(&format!("{benchmark}: {} ({reason})", outcome.kind.as_str()));
                }
            }
            Event::CaseFinished { case, .. } => {
                let label = self.plan.cases[*case].label();
                self.ended.insert(*case);
                self.line(&format!("{label}: {} launches", self.launches[*case]));
                self.show(*case);
            }
            // Notes arrive with the reply to `prepare`, before any timed sample.
            Event::Noted { case, note, .. } => {
                if self.shown_notes.insert((*case, note.clone())) {
                    self.line(&format!("{}: {note}", self.plan.cases[*case].label()));
                }
            }
            Event::WorkerOpened { .. }
            | Event::WarmedUp { .. }
            | Event::Tuned { .. }
            | Event::Sampled(_)
            | Event::BlockFinished { .. }
            | Event::Checked { .. }
            | Event::WorkerFinished { .. }
            | Event::Audited { .. }
            | Event::Counted { .. }
            | Event::Dispatched { .. }
            | Event::Watched(_) => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Style::Bar(bar) = &self.style {
            bar.finish_and_clear();
        }
    }

    fn show(&self, case: usize) {
        let Style::Bar(bar) = &self.style else { return };
        let share = self.share();
        bar.set_position((share * 1000.0) as u64);
        let spent = self.started.elapsed();
        let left = if share > 0.02 {
            let left = Duration::from_secs_f64(spent.as_secs_f64() * (1.0 - share) / share);
            format!("  about {} left", units::duration(left.as_nanos() as f64))
        } else {
            String::new()
        };
        bar.set_message(format!(
            "{} launch {}{left}",
            plain(&self.plan.cases[case].label()),
            self.launches[case] + 1
        ));
    }

    /// Returns the completed share of the run: by the cases that have ended and the launches of the others, or by time if
    /// the budget is closer to its end.
    fn share(&self) -> f64 {
        let by_launches = completed(&self.plan, &self.launches, &self.ended);
        let by_time = self.started.elapsed().as_secs_f64() / self.plan.budget.as_secs_f64().max(1e-9);
        by_launches.max(by_time).min(1.0)
    }

    fn line(&self, text: &str) {
        match &self.style {
            Style::Bar(bar) => bar.suspend(|| say(text)),
            Style::Lines => say(text),
            Style::Quiet => {}
        }
    }
}

/// Returns the share of its launches that a run has made, if each case that goes on needs all of its looks.
fn completed(plan: &Plan, launches: &[u64], ended: &BTreeSet<usize>) -> f64 {
    let share = |(number, case): (usize, &CasePlan)| {
        if ended.contains(&number) {
            return 1.0;
        }
        let most = plan.design_of(case).looks().max_launches().max(1);
        (launches[number] as f64 / most as f64).min(1.0)
    };
    plan.cases.iter().enumerate().map(share).sum::<f64>() / plan.cases.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Effort;
    use perfharness_engine::plan::CaseDesign;
    use perfharness_record::{Design, LookPlan};

    use super::*;

    #[test]
    fn progress_counts_cases_in_whatever_turns_they_are_measured() {
        let case = |launches| CasePlan {
            workload: "w".parse().unwrap(),
            version: 1,
            case: "c".parse().unwrap(),
            sides: Vec::new(),
            design: CaseDesign { looks: Some(LookPlan::Fixed { launches }), ..CaseDesign::default() },
        };
        let plan = Plan {
            seed: 1,
            device: "auto".into(),
            settings: std::collections::BTreeMap::new(),
            effort: Effort::Quick,
            budget: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            memory_limit_bytes: None,
            design: Design::of(Effort::Quick),
            on_gpu: Vec::new(),
            cases: vec![case(4), case(40)],
        };
        let share = |launches: [u64; 2], ended: &[usize]| {
            completed(&plan, &launches, &ended.iter().copied().collect())
        };
        assert_eq!([share([0, 0], &[]), share([2, 10], &[])], [0.0, 0.375]);
        // The second case ended at an early look.
        assert_eq!([share([2, 10], &[1]), share([9, 10], &[0, 1])], [0.75, 1.0]);
        let nothing = Plan { cases: Vec::new(), ..plan.clone() };
        assert_eq!(completed(&nothing, &[], &BTreeSet::new()), 0.0);
    }
}
