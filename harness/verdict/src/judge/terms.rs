use serde::{Deserialize, Serialize};

use super::worsening::Worsening;
use super::{Reason, Verdict, Why};
use crate::location::degrees_of_freedom;
use crate::{Estimate, MIN_LAUNCHES_TO_DECIDE, student};

/// The standard errors beyond the half-width of an interval in which the upper bound of an identical pair lies in 399 of
/// 400 cases: the 0.9975 quantile of the normal distribution.
const STANDARD_ERRORS_BEYOND: f64 = 2.81;

/// The factor by which a row claims to see less than its own launches say, because their spread is itself an estimate.
const CAUTION: f64 = 1.2;

/// The changes that a row may claim to see, as shares. Above, each is twice the one before.
const LADDER: [f64; 15] =
    [0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0];

/// The launches from which on a row is settled by what it could have seen: with fewer, the noise of a row that seems calm
/// is not yet known well. A calibration knows it.
const SETTLED_FROM_LAUNCHES: usize = 64;

/// The same for a row with a calibration.
const SETTLED_IF_CALIBRATED_FROM_LAUNCHES: usize = 16;

/// The terms by which a time of one row is judged, and by which its measurement ends. Changes are log-ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowTerms {
    /// The smallest change that matters.
    pub threshold: f64,
    /// The change that a row must be able to see; one that sees less stays open.
    pub must_see: f64,
    /// The standard deviation of launch values of identical sides, as a calibration found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<f64>,
    /// The spread of the times that the same object code has when it is linked in other orders; 0 if it is not known.
    #[serde(default)]
    pub layout_spread: f64,
}

impl RowTerms {
    /// The smallest slowdown that the row could have seen, as a log-ratio: the largest of the threshold, the layout
    /// spread, and
    ///
    /// ```text
    /// ladder(1.2 (hw + 2.81 se))
    /// ```
    ///
    /// with the half-width `hw` and the standard error `se` of the estimate. A pair without any change ends with an upper
    /// bound beyond `hw + 2.81 se` in one of 400 cases, so that an upper bound beyond 1.2 times that is a sign of a change.
    /// The ladder rounds up to 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 75, 100 %, and then doubles, because nobody
    /// needs to know it more precisely. Where the row was calibrated, the same from the calibrated standard deviation at as
    /// many launches counts, if it is larger: a row that happens to be calm may not claim more than it keeps.
    ///
    /// Infinite for an estimate without an interval.
    pub fn could_see(&self, estimate: &Estimate) -> f64 {
        let own = Worsening::of(estimate, 1.0).map(|worsening| self.visible(&worsening));
        own.map_or(f64::INFINITY, |own| own.max(self.visible_if_calibrated(estimate)))
    }

    /// The smallest slowdown that identical sides with this standard deviation of launch values could show after so many
    /// launches, as a log-ratio; infinite where that is not known.
    pub fn could_see_with(&self, sd: f64, launches: usize, confidence: f64) -> f64 {
        let terms = Self { calibrated: Some(sd), ..*self };
        terms.calibrated_sees(launches, confidence).unwrap_or(f64::INFINITY)
    }

    /// Whether the row needs no more launches, with the estimate of a time at a look.
    ///
    /// It is settled once it is [`regressed`](Verdict::Regressed), [`improved`](Verdict::Improved) or a matter of
    /// [`placement`](Verdict::Placement), or its upper bound is at most the threshold. From 64 launches on, or 16 where it
    /// was calibrated, it is also settled once it is [`unchanged`](Verdict::Unchanged), and so has seen what it must.
    pub fn is_settled(&self, estimate: &Estimate) -> bool {
        let (verdict, _) = self.decide(estimate, 1.0);
        let from = match self.calibrated {
            Some(_) => SETTLED_IF_CALIBRATED_FROM_LAUNCHES,
            None => SETTLED_FROM_LAUNCHES,
        };
        match verdict {
            Verdict::Regressed | Verdict::Improved | Verdict::Placement => true,
            Verdict::Unchanged => {
                let upper = estimate.interval.map(|interval| interval.upper);
                estimate.launches >= from || upper.is_some_and(|upper| upper <= self.threshold)
            }
            _ => false,
        }
    }

    /// The verdict on an estimate from paired rounds, where `sign` is that of a change for the worse.
    pub(super) fn decide(&self, estimate: &Estimate, sign: f64) -> (Verdict, Reason) {
        let Estimate { launches, .. } = *estimate;
        if launches < MIN_LAUNCHES_TO_DECIDE {
            let needed = MIN_LAUNCHES_TO_DECIDE;
            return (Verdict::Inconclusive, Reason::TooFewLaunches { launches, needed });
        }
        match Worsening::of(estimate, sign) {
            Some(worsening) => self.judge(&worsening, self.could_see(estimate)),
            None if estimate.sd.is_none() => (Verdict::Inconclusive, Reason::NoSpread),
            None => (Verdict::Inconclusive, Reason::Unusable { why: Why::NoInterval }),
        }
    }

    /// The verdict on an effect with noise that could have seen a change of `could_see`: the rule that all times are judged
    /// by.
    pub(super) fn judge(&self, worsening: &Worsening, could_see: f64) -> (Verdict, Reason) {
        let Worsening { effect, interval, standard_error, .. } = *worsening;
        if standard_error.is_nan() || standard_error <= 0.0 {
            return (Verdict::Inconclusive, Reason::NoSpread);
        }
        let is_worse = interval.lower > 0.0 && effect >= self.threshold;
        let is_better = interval.upper < 0.0 && effect <= -self.threshold;
        let is_placement = self.layout_spread > 0.0 && effect.abs() <= self.layout_spread;
        let must_see = self.must_see.max(self.threshold);
        if (is_worse || is_better) && is_placement {
            (Verdict::Placement, Reason::WithinLayouts { spread: self.layout_spread })
        } else if is_worse {
            (Verdict::Regressed, Reason::BeyondThreshold)
        } else if is_better {
            (Verdict::Improved, Reason::BeyondThreshold)
        } else if interval.upper > could_see {
            (Verdict::Inconclusive, Reason::AcrossThreshold)
        } else if could_see > must_see {
            (Verdict::Inconclusive, Reason::CouldNotSee { could_see, must_see })
        } else {
            (Verdict::Unchanged, Reason::WithinThreshold)
        }
    }

    /// What an effect with this noise could have shown; see [`RowTerms::could_see`].
    pub(super) fn visible(&self, worsening: &Worsening) -> f64 {
        self.at_least(worsening.interval.half_width(), worsening.standard_error)
    }

    /// The same from the calibrated standard deviation; 0 where there is none.
    fn visible_if_calibrated(&self, estimate: &Estimate) -> f64 {
        self.calibrated_sees(estimate.launches, estimate.confidence).unwrap_or(0.0)
    }

    fn calibrated_sees(&self, launches: usize, confidence: f64) -> Option<f64> {
        let standard_error = self.calibrated.filter(|sd| *sd >= 0.0)? / (launches as f64).sqrt();
        let t = student::quantile(0.5 + confidence / 2.0, degrees_of_freedom(launches) as f64).ok()?;
        Some(self.at_least(t * standard_error, standard_error))
    }

    fn at_least(&self, half_width: f64, standard_error: f64) -> f64 {
        let visible = CAUTION * (half_width + STANDARD_ERRORS_BEYOND * standard_error);
        rung(visible).max(self.threshold).max(self.layout_spread)
    }
}

/// The first step of the ladder that is at least `log_ratio`, as a log-ratio; infinite for what is not a number or beyond
/// all of them.
pub(super) fn rung(log_ratio: f64) -> f64 {
    let share = log_ratio.exp_m1();
    if !share.is_finite() {
        return f64::INFINITY;
    }
    // A step is its own step, although it lost its last digit as a log-ratio.
    let reaches = |step: &f64| share <= step * (1.0 + 1e-9);
    let doubling = std::iter::successors(Some(2.0), |step| Some(step * 2.0));
    LADDER.into_iter().chain(doubling).find(reaches).map_or(f64::INFINITY, f64::ln_1p)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::{Evidence, GateOutcome, Judgement};
    use crate::{Block, Interval, Launch, Paired, Placement, estimate};

    /// Three percent matter, and 25 % must be seen.
    fn terms() -> RowTerms {
        RowTerms {
            threshold: 0.03_f64.ln_1p(),
            must_see: 0.25_f64.ln_1p(),
            calibrated: None,
            layout_spread: 0.0,
        }
    }

    /// Launches about `center` whose standard error is about a quarter of `spread` with 16 of them.
    fn measured(center: f64, spread: f64, launches: usize) -> Estimate {
        let launches = (0..launches).map(|launch| {
            let value = center + spread * [-1.2, 1.2, 0.6, -0.6][launch % 4];
            let placement: Placement = [Block::new(value, value)].into_iter().collect();
            [placement].into_iter().collect::<Launch>()
        });
        estimate(&launches.collect::<Paired>(), 0.99).unwrap()
    }

    fn judged(terms: &RowTerms, effect: f64, half_width: f64) -> (Verdict, Reason) {
        let interval = Interval::around(effect, half_width);
        let worsening = Worsening { effect, interval, standard_error: half_width / 3.0, df: 20.0 };
        terms.judge(&worsening, terms.visible(&worsening))
    }

    #[rstest]
    #[case::surely_more(0.05, 0.02, Verdict::Regressed)]
    #[case::surely_more_than_none_and_across_the_threshold(0.032, 0.03, Verdict::Regressed)]
    #[case::at_the_threshold(0.03_f64.ln_1p(), 0.01, Verdict::Regressed)]
    #[case::surely_some_and_below_the_threshold(0.015, 0.01, Verdict::Unchanged)]
    #[case::large_and_not_sure(0.05, 0.05, Verdict::Unchanged)]
    #[case::alike(0.0, 0.01, Verdict::Unchanged)]
    #[case::alike_and_noisy(0.0, 0.05, Verdict::Unchanged)]
    #[case::slightly_better(-0.02, 0.01, Verdict::Unchanged)]
    #[case::better(-0.05, 0.04, Verdict::Improved)]
    fn a_row_that_can_see_is(#[case] effect: f64, #[case] half_width: f64, #[case] verdict: Verdict) {
        assert_eq!(judged(&terms(), effect, half_width).0, verdict);
    }

    #[test]
    fn an_upper_bound_beyond_what_it_could_have_seen_leaves_it_open() {
        // 1.2 (0.05 + 2.81 * 0.05 / 3) = 0.116, on the ladder 15 %; the bounds are -0.2 % and 9.8 %, or 15.8 %.
        let (standard_error, could_see) = (0.05 / 3.0, 0.15_f64.ln_1p());
        let row = |effect: f64, half_width: f64| Worsening {
            effect,
            interval: Interval::around(effect, half_width),
            standard_error,
            df: 20.0,
        };
        assert_eq!(terms().visible(&row(0.0, 0.05)), could_see);
        assert_eq!(terms().judge(&row(0.048, 0.05), could_see).0, Verdict::Unchanged);
        let open = (Verdict::Inconclusive, Reason::AcrossThreshold);
        assert_eq!(terms().judge(&row(0.076, 0.08), could_see), open);
    }

    #[test]
    fn a_row_that_could_not_see_what_it_must_is_open_and_says_so() {
        let (verdict, reason) = judged(&terms(), 0.0, 0.2);
        assert_eq!(verdict, Verdict::Inconclusive);
        let Reason::CouldNotSee { could_see, must_see } = reason else { panic!("{reason:?}") };
        assert!((could_see.exp_m1() - 0.75).abs() < 1e-9 && must_see == terms().must_see, "{could_see}");
        let seldom = RowTerms { must_see: 1.0_f64.ln_1p(), ..terms() };
        assert_eq!(judged(&seldom, 0.0, 0.2).0, Verdict::Unchanged);
        // Nobody must see less than what matters.
        let coarse = RowTerms { threshold: 1.0_f64.ln_1p(), ..terms() };
        assert_eq!(judged(&coarse, 0.0, 0.2).0, Verdict::Unchanged);
    }

    #[rstest]
    #[case::not_known(0.0, Verdict::Regressed, Verdict::Improved)]
    #[case::smaller(0.07, Verdict::Regressed, Verdict::Improved)]
    #[case::as_large(0.08, Verdict::Placement, Verdict::Placement)]
    #[case::larger(0.2, Verdict::Placement, Verdict::Placement)]
    fn a_change_within_the_spread_of_layouts_is_placement(
        #[case] layout_spread: f64,
        #[case] slower: Verdict,
        #[case] faster: Verdict,
    ) {
        let terms = RowTerms { layout_spread, ..terms() };
        assert_eq!((judged(&terms, 0.08, 0.01).0, judged(&terms, -0.08, 0.01).0), (slower, faster));
    }

    #[rstest]
    #[case::nothing(0.0, 0.01)]
    #[case::a_step(0.02, 0.02)]
    #[case::the_first(0.01, 0.01)]
    #[case::between(0.0201, 0.03)]
    #[case::the_last(1.0, 1.0)]
    #[case::beyond_it(1.01, 2.0)]
    #[case::far_beyond_it(5.0, 8.0)]
    #[case::negative(-0.5, 0.01)]
    fn the_ladder_rounds_up(#[case] share: f64, #[case] step: f64) {
        assert_eq!(rung(share.ln_1p()), step.ln_1p());
    }

    #[rstest]
    #[case::not_a_number(f64::NAN)]
    #[case::infinite(f64::INFINITY)]
    #[case::beyond_any_number(1e4)]
    fn beyond_the_ladder_nothing_is_seen(#[case] log_ratio: f64) {
        assert_eq!(rung(log_ratio), f64::INFINITY);
    }

    #[test]
    fn what_a_row_could_see_is_the_largest_of_what_limits_it() {
        // Of sixteen launches with one lead: h = 10, winsorized variance 0.96 spread^2 (to 0.1 %).
        let estimate = measured(0.0, 0.01, 16);
        let (half_width, standard_error) = (estimate.half_width().unwrap(), estimate.standard_error.unwrap());
        let visible = 1.2 * (half_width + 2.81 * standard_error);
        assert!(visible > 0.02_f64.ln_1p() && visible < 0.03_f64.ln_1p(), "{visible}");
        let terms = RowTerms { threshold: 0.01, ..terms() };
        assert_eq!(terms.could_see(&estimate), 0.03_f64.ln_1p());
        assert_eq!(RowTerms { threshold: 0.04, ..terms }.could_see(&estimate), 0.04);
        assert_eq!(RowTerms { layout_spread: 0.2, ..terms }.could_see(&estimate), 0.2);
        // A calmer calibration takes nothing away; with one of 5 %, se = 1.25 %, t(10, 0.995) = 3.169, and
        // 1.2 (3.96 + 3.51) % = 8.97 %.
        assert_eq!(RowTerms { calibrated: Some(0.001), ..terms }.could_see(&estimate), 0.03_f64.ln_1p());
        assert_eq!(RowTerms { calibrated: Some(0.05), ..terms }.could_see(&estimate), 0.1_f64.ln_1p());
        assert_eq!(terms.could_see(&Estimate { interval: None, ..estimate }), f64::INFINITY);
    }

    #[rstest]
    #[case::flagged(0.1, 0.01, 16, true)]
    #[case::improved(-0.1, 0.01, 16, true)]
    #[case::not_worse(0.0, 0.01, 16, true)]
    #[case::unchanged_and_early(0.0, 0.06, 32, false)]
    #[case::unchanged_and_late(0.0, 0.06, 64, true)]
    #[case::blind(0.0, 0.8, 64, false)]
    #[case::few_launches(0.1, 0.01, 7, false)]
    #[case::no_spread(0.1, 0.0, 64, false)]
    fn a_row_is_settled_once_it_is(
        #[case] effect: f64,
        #[case] spread: f64,
        #[case] launches: usize,
        #[case] settled: bool,
    ) {
        assert_eq!(terms().is_settled(&measured(effect, spread, launches)), settled);
    }

    #[test]
    fn a_calibrated_row_is_settled_earlier_and_one_of_placement_at_once() {
        let estimate = measured(0.0, 0.06, 16);
        assert!(!terms().is_settled(&estimate));
        assert!(RowTerms { calibrated: Some(0.06), ..terms() }.is_settled(&estimate));
        assert!(RowTerms { layout_spread: 0.2, ..terms() }.is_settled(&measured(0.1, 0.01, 16)));
    }

    #[test]
    fn terms_have_a_stable_form_in_json() {
        let json = serde_json::to_string(&RowTerms { threshold: 0.5, must_see: 0.25, ..terms() }).unwrap();
        assert_eq!(json, r#"{"threshold":0.5,"must_see":0.25,"layout_spread":0.0}"#);
        let read: RowTerms = serde_json::from_str(r#"{"threshold":0.5,"must_see":0.25}"#).unwrap();
        assert_eq!((read.calibrated, read.layout_spread), (None, 0.0));
    }

    fn outcome(effect: f64, half_width: f64) -> GateOutcome {
        let (verdict, reason) = judged(&terms(), effect, half_width);
        Judgement::new(verdict, reason, Evidence::None).outcome()
    }

    proptest! {
        #[test]
        fn a_larger_effect_is_never_less_severe(effect in -0.2..0.2, half in 0.001..0.2, more in 0.0..0.4) {
            prop_assert!(outcome(effect, half) <= outcome(effect + more, half));
        }

        #[test]
        fn what_is_surely_slower_than_it_could_see_never_passes(effect in 0.03..0.5, half in 0.001..0.2) {
            let terms = terms();
            let interval = Interval::around(effect, half);
            let worsening = Worsening { effect, interval, standard_error: half / 3.0, df: 20.0 };
            let could_see = terms.visible(&worsening);
            let (verdict, _) = terms.judge(&worsening, could_see);
            prop_assert!(effect < could_see || verdict == Verdict::Regressed);
        }
    }
}
