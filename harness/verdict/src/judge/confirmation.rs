use perfharness_contract::Direction;
use serde::{Deserialize, Serialize};

use super::worsening::worse;
use super::{Advisory, Evidence, Judgement, Reason, Verdict, benjamini_hochberg};
use crate::{Detection, Estimate, Interval, TRIMMED_FROM_LAUNCHES};

/// The one-sided alpha that the number of fresh launches is chosen for. It is the smallest p-value that a single flag
/// needs; several flags are judged together.
pub const CONFIRMATION_ALPHA: f64 = 0.01;

/// The fewest fresh launches for one flag: with fewer, no location is trimmed.
pub const MIN_CONFIRMATION_LAUNCHES: usize = TRIMMED_FROM_LAUNCHES;

/// The most fresh launches for one flag.
pub const MAX_CONFIRMATION_LAUNCHES: usize = 64;

/// A flagged judgement, and the one from fresh launches alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Recheck {
    /// The judgement that was flagged.
    pub first: Judgement,
    /// The judgement of the fresh launches, by the same policy.
    pub fresh: Judgement,
}

/// The fate of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// The effect that was flagged, as a log-ratio.
    pub first_effect: Option<f64>,
    /// The p-value of the fresh launches, one-sided, for "it is not worse"; absent where they cannot be judged. In files of
    /// earlier versions, for "the effect is at most the threshold".
    pub p_value: Option<f64>,
    /// The number of flags that were judged together.
    pub flags: usize,
    /// The share of false ones that is tolerated among those that stand.
    pub false_discovery_rate: f64,
    /// Whether the flag stands.
    pub stands: bool,
}

/// The number of fresh launches to confirm a flagged estimate with; none if it is not for the worse. `delta` is the
/// smallest change that matters, as a log-ratio.
///
/// A true effect is to be found again in nine of ten cases. A flagged effect tends to be overestimated, because an estimate
/// that was too small would not have been flagged; so the number is that for an effect `e` in the middle between the
/// estimate and the nearer end of its interval. That takes the smallest `L` with which its p-value falls below
/// [`CONFIRMATION_ALPHA`] and its estimate is beyond `delta`, each in nine of ten cases,
///
/// ```text
/// L >= (t(0.99) + t(0.90))^2 * sd^2 / e^2        L >= t(0.90)^2 * sd^2 / (e - delta)^2
/// ```
///
/// as [`Detection::launches_needed`] finds it, but at least [`MIN_CONFIRMATION_LAUNCHES`] and at most
/// [`MAX_CONFIRMATION_LAUNCHES`].
pub fn confirmation_launches(flagged: &Estimate, delta: f64, direction: Direction) -> Option<usize> {
    let worse = worse(direction)?;
    let effect = worse * flagged.theta;
    let sd = flagged.sd.filter(|sd| sd.is_finite())?;
    if effect.is_nan() || effect <= 0.0 {
        return None;
    }
    let nearer = |interval: Interval| (worse * interval.lower).min(worse * interval.upper);
    let expected = flagged.interval.map_or(effect, |interval| f64::midpoint(effect, nearer(interval)));
    let needed = |delta: f64, one_sided_alpha: f64| {
        // No number within reach is enough for an effect so close to the threshold.
        let launches = Detection::new(delta, one_sided_alpha).launches_needed(expected, sd);
        launches.unwrap_or(MAX_CONFIRMATION_LAUNCHES)
    };
    // Half of all estimates of an effect are beyond it.
    let launches = needed(0.0, CONFIRMATION_ALPHA).max(needed(delta, 0.5));
    Some(launches.clamp(MIN_CONFIRMATION_LAUNCHES, MAX_CONFIRMATION_LAUNCHES))
}

impl Judgement {
    /// The number of fresh launches to confirm it with; none if it needs no confirmation.
    pub fn launches_to_confirm(&self, direction: Direction) -> Option<usize> {
        self.needs_confirmation().then(|| match &self.evidence {
            Evidence::TimePaired(evidence) => {
                confirmation_launches(&evidence.estimate, evidence.threshold.ln_1p(), direction)
                    .unwrap_or(MAX_CONFIRMATION_LAUNCHES)
            }
            // A run again.
            _ => MIN_CONFIRMATION_LAUNCHES,
        })
    }

    /// Whether a time has at least the effect that matters, in the direction of `first`, and one that is larger than the
    /// spread of its layouts.
    fn is_as_large_as_matters(&self, first: &Self) -> bool {
        let found = || {
            let worse = first.evidence.effect()?.signum();
            let (threshold, layout_spread) = self.evidence.limits()?;
            let effect = worse * self.evidence.effect()?;
            Some(effect >= threshold && effect > layout_spread)
        };
        found().unwrap_or(false)
    }
}

/// Judges all flags of a gate by their fresh launches alone, so that no luck of the first ones counts.
///
/// Their p-values for "it is not worse" go through [`benjamini_hochberg`] together. A flag stands, and is `regressed`, if
/// its p-value does and its fresh effect is at least the threshold, and larger than the spread of its layouts. Otherwise
/// the verdict of the fresh launches holds, except that what leaves a regression open is inconclusive with
/// [`Reason::NotConfirmed`], also if one row by itself would have been `regressed`.
///
/// On a change that makes nothing slower, the chance that any flag stands is at most `false_discovery_rate`. That holds
/// for paired rounds, where everything is measured anew. Fresh runs of a candidate against a stored baseline share the luck
/// of the baseline with the first ones, and confirm less.
pub fn confirm(rechecks: Vec<Recheck>, false_discovery_rate: f64) -> Vec<Judgement> {
    let flags = rechecks.len();
    let p_values: Vec<f64> =
        rechecks.iter().map(|recheck| recheck.fresh.evidence.p_value().unwrap_or(f64::NAN)).collect();
    let shown = benjamini_hochberg(&p_values, false_discovery_rate);
    rechecks
        .into_iter()
        .zip(shown)
        .map(|(Recheck { first, fresh }, is_shown)| {
            let is_large = fresh.is_as_large_as_matters(&first);
            let stands = is_shown && is_large;
            let would_alone = is_large && fresh.evidence.p_value().is_some_and(|p| p <= false_discovery_rate);
            let (verdict, reason) = match (&fresh.verdict, &fresh.reason) {
                _ if stands => (Verdict::Regressed, Reason::BeyondThreshold),
                (Verdict::Regressed, _) | (_, Reason::AcrossThreshold) => {
                    (Verdict::Inconclusive, Reason::NotConfirmed)
                }
                _ if would_alone => (Verdict::Inconclusive, Reason::NotConfirmed),
                (verdict, reason) => (*verdict, reason.clone()),
            };
            let confirmation = Confirmation {
                first_effect: first.evidence.effect(),
                p_value: fresh.evidence.p_value(),
                flags,
                false_discovery_rate,
                stands,
            };
            // A fresh measurement that left nothing to judge takes no evidence away.
            let evidence = if fresh.evidence == Evidence::None { first.evidence } else { fresh.evidence };
            let mut confirmed =
                Judgement { verdict, reason, evidence, confirmation: Some(confirmation), ..fresh };
            // What was flagged is not excused because its fresh launches show too little.
            confirmed.advisory.retain(|advisory| *advisory != Advisory::SoftwareAdapter);
            first.advisory.into_iter().fold(confirmed, Judgement::advise)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::judge::{Ended, GateOutcome, PairedRun, RowTerms, TimePolicy, judge_paired};
    use crate::location::degrees_of_freedom;
    use crate::{Block, Launch, Paired, Placement, estimate, sign_flip, student};

    /// Sixteen launches about `center` whose sd is about `sd`.
    fn measured(center: f64, sd: f64) -> Estimate {
        let launches = (0..16).map(|launch| {
            let value = center + sd * [-1.2, 1.2, 0.6, -0.6][launch % 4];
            let placement: Placement = [Block::new(value, value)].into_iter().collect();
            [placement].into_iter().collect::<Launch>()
        });
        estimate(&launches.collect::<Paired>(), 0.99).unwrap()
    }

    /// An estimate with an interval of this half-width.
    fn flagged(theta: f64, half_width: f64, sd: f64) -> Estimate {
        let interval = Interval { lower: theta - half_width, upper: theta + half_width };
        Estimate { theta, sd: Some(sd), interval: Some(interval), ..measured(0.1, 0.01) }
    }

    fn judged(estimate: &Estimate) -> Judgement {
        judged_by(estimate, TimePolicy::HARDWARE.terms())
    }

    fn judged_by(estimate: &Estimate, terms: RowTerms) -> Judgement {
        let run = PairedRun {
            estimate,
            if_kept: None,
            dropped_blocks: 0,
            blocks: 16,
            ended: Ended::Look { launches: 16 },
            terms,
        };
        judge_paired(&run, Direction::Lower).unwrap()
    }

    fn recheck(fresh: f64) -> Recheck {
        Recheck { first: judged(&measured(0.1, 0.01)), fresh: judged(&measured(fresh, 0.01)) }
    }

    fn delta() -> f64 {
        TimePolicy::HARDWARE.delta()
    }

    #[rstest]
    #[case::large_and_quiet(0.1, 0.01, Some(16))]
    #[case::close_to_the_threshold(0.031, 0.01, Some(64))]
    #[case::at_the_threshold(0.03_f64.ln_1p(), 0.01, Some(64))]
    #[case::below_the_threshold(0.01, 0.01, Some(64))]
    #[case::for_the_better(-0.1, 0.01, None)]
    #[case::not_a_number(f64::NAN, 0.01, None)]
    #[case::sd_not_a_number(0.1, f64::NAN, None)]
    #[case::no_spread(0.1, 0.0, Some(16))]
    fn the_fresh_launches_are_between_sixteen_and_sixty_four(
        #[case] theta: f64,
        #[case] sd: f64,
        #[case] launches: Option<usize>,
    ) {
        let flagged = flagged(theta, 0.001, sd);
        assert_eq!(confirmation_launches(&flagged, delta(), Direction::Lower), launches);
    }

    #[rstest]
    #[case::the_p_value(0.06, 0.02, 0.07, 0.99, 0.0)]
    #[case::the_effect(0.06, 0.02, 0.07, 0.5, 0.035)]
    fn between_the_limits_the_formula_holds_that_needs_more(
        #[case] theta: f64,
        #[case] half_width: f64,
        #[case] sd: f64,
        #[case] quantile: f64,
        #[case] threshold: f64,
    ) {
        let flagged = flagged(theta, half_width, sd);
        let launches = confirmation_launches(&flagged, threshold, Direction::Lower).unwrap();
        let formula = |launches: usize| {
            let df = degrees_of_freedom(launches) as f64;
            let t = student::quantile(quantile, df).unwrap() + student::quantile(0.90, df).unwrap();
            // The middle between the estimate and the nearer bound.
            (t * sd / (theta - half_width / 2.0 - threshold)).powi(2)
        };
        assert!(formula(launches) <= launches as f64 && formula(launches - 1) > (launches - 1) as f64);
        assert!((17..64).contains(&launches), "{launches}");
        let mirrored = Estimate {
            theta: -flagged.theta,
            interval: flagged.interval.map(|i| Interval { lower: -i.upper, upper: -i.lower }),
            ..flagged.clone()
        };
        assert_eq!(confirmation_launches(&mirrored, threshold, Direction::Higher), Some(launches));
        assert_eq!(confirmation_launches(&flagged, threshold, Direction::Neutral), None);
    }

    #[rstest]
    #[case::still_slower(0.1, Verdict::Regressed, Reason::BeyondThreshold)]
    #[case::at_the_threshold(0.03, Verdict::Regressed, Reason::BeyondThreshold)]
    #[case::below_the_threshold(0.01, Verdict::Unchanged, Reason::WithinThreshold)]
    #[case::alike(0.0, Verdict::Unchanged, Reason::WithinThreshold)]
    #[case::faster(-0.1, Verdict::Improved, Reason::BeyondThreshold)]
    fn a_single_flag_is_judged_by_its_fresh_launches(
        #[case] fresh: f64,
        #[case] verdict: Verdict,
        #[case] reason: Reason,
    ) {
        let rows = confirm(vec![recheck(fresh)], 0.01);
        assert_eq!((rows[0].verdict, &rows[0].reason), (verdict, &reason));
        let confirmation = rows[0].confirmation.unwrap();
        assert_eq!(confirmation.stands, verdict == Verdict::Regressed);
        assert!((confirmation.first_effect.unwrap() - 0.1).abs() < 1e-12);
        assert!((rows[0].evidence.effect().unwrap() - fresh).abs() < 1e-12);
        assert!(!rows[0].needs_confirmation());
    }

    #[test]
    fn among_many_flags_one_of_middling_evidence_does_not_stand() {
        // One-sided p = 0.004: enough alone, but not as the best of ten.
        let first = || judged(&measured(0.1, 0.01));
        let middling = || Recheck { first: first(), fresh: judged(&measured(0.07, 0.06)) };
        let p = middling().fresh.evidence.p_value().unwrap();
        assert!((0.001..0.01).contains(&p), "{p}");
        assert_eq!(confirm(vec![middling()], 0.01)[0].verdict, Verdict::Regressed);
        let mut many = vec![recheck(0.0); 9];
        many.push(middling());
        let row = confirm(many, 0.01).pop().unwrap();
        assert_eq!((row.verdict, row.reason.clone()), (Verdict::Inconclusive, Reason::NotConfirmed));
        assert_eq!(row.outcome(), GateOutcome::Undecided);
    }

    #[test]
    fn a_sure_effect_below_the_threshold_or_within_the_layouts_does_not_stand() {
        let first = judged(&measured(0.1, 0.01));
        let terms = RowTerms { layout_spread: 0.08, ..TimePolicy::HARDWARE.terms() };
        for (fresh, verdict) in [
            (judged(&measured(0.02, 0.001)), Verdict::Unchanged),
            (judged_by(&measured(0.07, 0.01), terms), Verdict::Placement),
            (judged_by(&measured(0.09, 0.01), terms), Verdict::Regressed),
        ] {
            assert!(fresh.evidence.p_value().unwrap() < 1e-6);
            let row = confirm(vec![Recheck { first: first.clone(), fresh }], 0.01).pop().unwrap();
            assert_eq!(
                (row.verdict, row.confirmation.unwrap().stands),
                (verdict, verdict == Verdict::Regressed)
            );
        }
    }

    #[test]
    fn fresh_launches_that_cannot_be_judged_leave_it_open() {
        let Recheck { first, .. } = recheck(0.1);
        let fresh = Judgement::unusable("crashed while it was confirmed");
        let row = confirm(vec![Recheck { first: first.clone(), fresh }], 0.01).pop().unwrap();
        assert_eq!(row.outcome(), GateOutcome::Undecided);
        assert_eq!((&row.evidence, row.confirmation.unwrap().p_value), (&first.evidence, None));
        assert_eq!(confirm(vec![], 0.01), []);
    }

    #[test]
    fn advice_of_the_first_judgement_is_kept() {
        let Recheck { first, fresh } = recheck(0.1);
        let row = confirm(vec![Recheck { first: first.advise(Advisory::Exhibit), fresh }], 0.01).pop();
        assert_eq!(row.unwrap().advisory, [Advisory::Exhibit]);
    }

    #[test]
    fn what_was_flagged_is_not_excused_by_fresh_launches_that_show_too_little() {
        let first = judged(&measured(0.1, 0.01));
        let why = Reason::CouldNotSee { could_see: 0.6, must_see: 0.4 };
        let fresh = Judgement::new(Verdict::Inconclusive, why, Evidence::None);
        let row =
            confirm(vec![Recheck { first, fresh: fresh.advise(Advisory::SoftwareAdapter) }], 0.01).pop();
        assert_eq!(row.unwrap().outcome(), GateOutcome::Undecided);
    }

    #[test]
    fn a_flag_needs_confirmation_until_it_has_one_unless_it_cannot_fail_the_gate() {
        let Recheck { first, fresh } = recheck(0.0);
        assert!(first.needs_confirmation() && !fresh.needs_confirmation());
        assert!(!first.advise(Advisory::Diagnosis).needs_confirmation());
    }

    #[test]
    fn the_exact_sign_flip_test_agrees_with_the_p_value_on_normal_data() {
        let mut normal = crate::simulation::Normal::seeded(31);
        for effect in [0.0, 0.005, 0.01] {
            for _ in 0..20 {
                let values: Vec<f64> = (0..12).map(|_| effect + 0.01 * normal.next()).collect();
                let paired: Paired = values
                    .iter()
                    .map(|v| [[Block::new(*v, *v)].into_iter().collect::<Placement>()].into_iter().collect())
                    .collect();
                let estimate = estimate(&paired, 0.99).unwrap();
                let p = judged(&estimate).evidence.p_value().unwrap();
                let two_sided = sign_flip(&values).unwrap();
                let one_sided = if estimate.theta > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 };
                assert!((p - one_sided).abs() < 0.05, "{p} {one_sided}");
            }
        }
    }
}
