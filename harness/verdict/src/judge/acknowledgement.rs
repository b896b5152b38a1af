use perfharness_contract::Direction;

use super::{Advisory, Evidence, Judgement, Reason, Verdict};

/// The worst that somebody accepts. Without either bound, any regression is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The largest figure without noise or size (the smallest, where more is better), or the latest version of a
    /// definition.
    pub figure: Option<f64>,
    /// The largest ratio to the baseline (the smallest, where more is better).
    pub ratio: Option<f64>,
}

impl Bounds {
    /// Whether a judgement is within the bounds.
    fn cover(&self, judgement: &Judgement, direction: Direction) -> bool {
        let (figure, ratio) = match (&judgement.reason, &judgement.evidence) {
            // A bound is needed, or each later version would be excused as well.
            (Reason::Redefined { to, .. }, _) => {
                return self.figure.is_some_and(|version| f64::from(*to) <= version);
            }
            _ if judgement.verdict == Verdict::Redefined => return true,
            (_, Evidence::Exact { candidate, baseline, .. } | Evidence::Size { candidate, baseline, .. }) => {
                (Some(*candidate), Some(candidate / baseline))
            }
            (_, evidence) => (None, evidence.effect().map(f64::exp)),
        };
        let within = |bound: f64, found: f64| match direction {
            Direction::Higher => found >= bound,
            Direction::Lower | Direction::Neutral => found <= bound,
        };
        let holds = |bound: Option<f64>, found: Option<f64>| {
            bound.is_none_or(|bound| found.is_some_and(|found| within(bound, found)))
        };
        holds(self.figure, figure) && holds(self.ratio, ratio)
    }
}

impl Judgement {
    /// The judgement once somebody accepted it up to these bounds, for a reason: it cannot fail the gate where they
    /// hold, and says so where they do not. Only a regression and a redefinition can be accepted.
    #[must_use]
    pub fn acknowledge(self, bounds: &Bounds, reason: &str, direction: Direction) -> Self {
        match self.verdict {
            Verdict::Regressed | Verdict::Redefined if bounds.cover(&self, direction) => {
                self.advise(Advisory::Acknowledged { reason: reason.to_owned() })
            }
            Verdict::Regressed | Verdict::Redefined => Self { beyond_acknowledged: true, ..self },
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::judge::{ExactFigure, ExactPolicy, GateOutcome, judge_exact};

    fn grown(from: f64, to: f64) -> Judgement {
        let figures = (ExactFigure::same(from), ExactFigure::same(to));
        judge_exact(figures.0, figures.1, ExactPolicy::COUNTS, Direction::Lower).unwrap()
    }

    #[rstest]
    #[case::no_bound(grown(3.0, 5.0), None, None, true)]
    #[case::at_the_figure(grown(3.0, 4.0), Some(4.0), None, true)]
    #[case::beyond_the_figure(grown(3.0, 5.0), Some(4.0), None, false)]
    #[case::within_the_ratio(grown(2.0, 3.0), None, Some(1.5), true)]
    #[case::within_one_of_both(grown(2.0, 3.0), Some(3.0), Some(1.4), false)]
    #[case::the_version(Judgement::redefined(1, 2), Some(2.0), None, true)]
    #[case::a_later_version(Judgement::redefined(1, 3), Some(2.0), None, false)]
    #[case::any_version(Judgement::redefined(1, 2), None, None, false)]
    #[case::another_way(Judgement::changed(["its role"]), None, None, true)]
    fn what_is_accepted_up_to_a_bound_fails_no_gate_within_it(
        #[case] judgement: Judgement,
        #[case] figure: Option<f64>,
        #[case] ratio: Option<f64>,
        #[case] covered: bool,
    ) {
        let outcome = judgement.outcome();
        let row = judgement.acknowledge(&Bounds { figure, ratio }, "agreed", Direction::Lower);
        assert_eq!(row.outcome(), if covered { GateOutcome::Ok } else { outcome });
        assert_eq!(row.beyond_acknowledged, !covered);
    }

    #[test]
    fn only_what_is_worse_or_redefined_can_be_accepted() {
        for judgement in [grown(3.0, 3.0), Judgement::failed("crashed"), Judgement::skipped("no adapter")] {
            let row = judgement.clone().acknowledge(&Bounds::default(), "agreed", Direction::Lower);
            assert_eq!(row, judgement);
        }
    }
}
