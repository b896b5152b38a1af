use perfharness_contract::Direction;

use super::worsening::{Worsening, is_proper, ratio, share, worse};
use super::{Ended, Evidence, Judgement, PairedEvidence, Reason, RowTerms, Verdict, Why};
use crate::Estimate;

/// The largest share of blocks that may be dropped as contaminated. Beyond it the rest is a selection, and no longer
/// what was measured.
pub const MAX_DROPPED_SHARE: f64 = 0.1;

/// The measurement of one time in paired rounds, with the baseline as the reference.
#[derive(Clone, Copy, Debug)]
pub struct PairedRun<'a> {
    /// The estimate from the blocks that were kept.
    pub estimate: &'a Estimate,
    /// The estimate from all blocks, where some were dropped.
    pub if_kept: Option<&'a Estimate>,
    /// The blocks that were dropped as contaminated.
    pub dropped_blocks: usize,
    /// The blocks that were measured, dropped ones among them.
    pub blocks: usize,
    /// The end of the measurement.
    pub ended: Ended,
    /// The terms that it is judged by.
    pub terms: RowTerms,
}

impl PairedRun<'_> {
    /// Whether more than [`MAX_DROPPED_SHARE`] was dropped. Multiplied, because 0 of 0 is not a share.
    fn dropped_too_much(&self) -> bool {
        self.dropped_blocks as f64 > MAX_DROPPED_SHARE * self.blocks as f64
    }
}

/// Judges a time, or what is derived from one, that was measured in paired rounds. None for a neutral metric.
///
/// With the effect `theta` and its interval turned so that positive is worse, the threshold `delta = ln(1 + threshold)`, and
/// the smallest change `c` that the row could have seen ([`RowTerms::could_see`]), the first of these that holds decides:
///
/// | verdict | where |
/// | --- | --- |
/// | placement | it would be regressed or improved, but `|theta|` is at most the layout spread |
/// | regressed | lower bound > 0, and `theta >= delta` |
/// | improved | upper bound < 0, and `theta <= -delta` |
/// | inconclusive, [`Reason::AcrossThreshold`] | upper bound > c |
/// | inconclusive, [`Reason::CouldNotSee`] | c > what the row must see, and > delta |
/// | unchanged | otherwise |
///
/// It is inconclusive in any case with fewer than [`MIN_LAUNCHES_TO_DECIDE`](crate::MIN_LAUNCHES_TO_DECIDE) launches, with
/// more than [`MAX_DROPPED_SHARE`] of the blocks dropped, and without any spread between launches.
///
/// `regressed` is a flag here, which [`confirm`](super::confirm()) turns into a verdict that counts.
pub fn judge_paired(run: &PairedRun<'_>, direction: Direction) -> Option<Judgement> {
    let sign = worse(direction)?;
    let (estimate, terms) = (run.estimate, &run.terms);
    if !estimate.theta.is_finite() || estimate.interval.is_some_and(|interval| !is_proper(interval)) {
        return Some(Judgement::unusable(Why::NotFinite));
    }
    let (mut verdict, mut reason) = terms.decide(estimate, sign);
    let mut judged = is_open_to_judgement(&reason);
    if run.dropped_too_much() {
        (verdict, judged) = (Verdict::Inconclusive, false);
        reason = Reason::TooMuchDropped { dropped: run.dropped_blocks, blocks: run.blocks };
    }
    let if_kept = run.if_kept.map(|kept| terms.decide(kept, sign).0);
    let worsening = Worsening::of(estimate, sign).filter(|_| judged);
    let evidence = PairedEvidence {
        estimate: estimate.clone(),
        ratio: ratio(estimate.theta),
        ratio_interval: estimate.interval.map(|interval| interval.map(ratio)),
        dropped_blocks: run.dropped_blocks,
        blocks: run.blocks,
        verdict_if_kept: if_kept.filter(|if_kept| *if_kept != verdict),
        threshold: share(terms.threshold),
        could_see: Some(terms.could_see(estimate)).filter(|could_see| judged && could_see.is_finite()),
        layout_spread: terms.layout_spread,
        p_value: worsening.and_then(|worsening| worsening.p_value()),
        ended: run.ended,
    };
    Some(Judgement::new(verdict, reason, Evidence::TimePaired(evidence)))
}

/// Whether the reason is one of the interval, and not that there is too little to judge by.
fn is_open_to_judgement(reason: &Reason) -> bool {
    !matches!(reason, Reason::TooFewLaunches { .. } | Reason::NoSpread | Reason::Unusable { .. })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::{Advisory, TimePolicy};
    use crate::{Block, Interval, Launch, Paired, Placement, estimate};

    fn measured(values: &[f64]) -> Estimate {
        let launches = values.iter().map(|&value| {
            let placement: Placement = [Block::new(value, value)].into_iter().collect();
            [placement].into_iter().collect::<Launch>()
        });
        estimate(&launches.collect::<Paired>(), 0.99).unwrap()
    }

    /// Launch values about `center`, whose sd is about 1 %.
    fn spread(center: f64, launches: usize) -> Estimate {
        let values: Vec<f64> =
            (0..launches).map(|launch| center + [-0.01, 0.01, 0.005, -0.005][launch % 4]).collect();
        measured(&values)
    }

    fn run(estimate: &Estimate) -> PairedRun<'_> {
        PairedRun {
            estimate,
            if_kept: None,
            dropped_blocks: 0,
            blocks: estimate.rounds / 2,
            ended: Ended::Look { launches: estimate.launches },
            terms: TimePolicy::HARDWARE.terms(),
        }
    }

    fn judge(estimate: &Estimate) -> Judgement {
        judge_paired(&run(estimate), Direction::Lower).unwrap()
    }

    fn paired(judgement: &Judgement) -> &PairedEvidence {
        match &judgement.evidence {
            Evidence::TimePaired(evidence) => evidence,
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::much_slower(0.1, 16, Verdict::Regressed)]
    #[case::much_faster(-0.1, 16, Verdict::Improved)]
    #[case::alike(0.0, 16, Verdict::Unchanged)]
    #[case::beyond_zero_and_below_the_threshold(0.015, 16, Verdict::Unchanged)]
    #[case::beyond_the_threshold(0.03, 16, Verdict::Regressed)]
    #[case::one_launch_too_few(0.1, 7, Verdict::Inconclusive)]
    #[case::a_single_launch(0.1, 1, Verdict::Inconclusive)]
    #[case::just_enough_launches(0.1, 8, Verdict::Regressed)]
    fn the_verdict_follows_from_interval_and_launches(
        #[case] center: f64,
        #[case] launches: usize,
        #[case] verdict: Verdict,
    ) {
        assert_eq!(judge(&spread(center, launches)).verdict, verdict);
    }

    #[test]
    fn the_evidence_holds_what_the_verdict_rests_on() {
        let estimate = spread(0.1, 16);
        let row = judge(&estimate);
        let evidence = paired(&row);
        assert_eq!(evidence.estimate, estimate);
        assert_eq!(evidence.ratio, estimate.theta.exp());
        assert_eq!(evidence.ratio_interval, estimate.ratio_interval());
        assert_eq!((evidence.threshold, evidence.blocks), (0.03, 16));
        assert_eq!(evidence.could_see, Some(TimePolicy::HARDWARE.terms().could_see(&estimate)));
        assert!(evidence.p_value.unwrap() < 1e-6);
        assert_eq!(evidence.verdict_if_kept, None);
    }

    #[test]
    fn evidence_of_format_2_is_read() {
        let json = serde_json::to_value(judge(&spread(0.1, 16))).unwrap();
        let mut evidence = json["evidence"].clone();
        let found = evidence.as_object_mut().unwrap();
        let could_see = found.remove("could_see").unwrap();
        found.insert("smallest_detectable".into(), could_see.clone());
        found.remove("layout_spread");
        let Evidence::TimePaired(read) = serde_json::from_value(evidence).unwrap() else { panic!() };
        assert_eq!((read.could_see, read.layout_spread), (could_see.as_f64(), 0.0));
    }

    #[test]
    fn a_judgement_survives_json() {
        let row = judge(&spread(0.1, 16)).advise(Advisory::Exhibit);
        let json = serde_json::to_string(&row).unwrap();
        assert!(json.contains(r#""evidence":{"by":"time-paired","estimate":"#), "{json}");
        assert_eq!(serde_json::from_str::<Judgement>(&json).unwrap(), row);
    }

    #[test]
    fn for_a_metric_where_more_is_better_the_signs_are_swapped_and_a_neutral_one_is_not_judged() {
        let estimate = spread(0.1, 16);
        let judge = |direction| judge_paired(&run(&estimate), direction);
        assert_eq!(judge(Direction::Higher).unwrap().verdict, Verdict::Improved);
        assert_eq!(judge(Direction::Neutral), None);
        let p = |direction| judge(direction).unwrap().evidence.p_value().unwrap();
        assert!(p(Direction::Lower) < 1e-6 && p(Direction::Higher) > 1.0 - 1e-6);
    }

    #[test]
    fn on_a_software_adapter_only_large_effects_are_judged() {
        let judge = |center: f64| {
            let estimate = spread(center, 16);
            let run = PairedRun { terms: TimePolicy::SOFTWARE_ADAPTER.terms(), ..run(&estimate) };
            judge_paired(&run, Direction::Lower).unwrap().verdict
        };
        assert_eq!((judge(0.3), judge(0.5)), (Verdict::Unchanged, Verdict::Regressed));
    }

    #[test]
    fn launches_without_any_spread_decide_nothing() {
        for value in [0.0, 0.5, -0.5] {
            let row = judge(&measured(&[value; 16]));
            assert_eq!((row.verdict, &row.reason), (Verdict::Inconclusive, &Reason::NoSpread));
            assert_eq!(paired(&row).p_value, None);
        }
    }

    #[rstest]
    #[case::a_tenth(2, 20, Verdict::Regressed)]
    #[case::more_than_a_tenth(3, 20, Verdict::Inconclusive)]
    #[case::all(20, 20, Verdict::Inconclusive)]
    #[case::more_than_there_were(1, 0, Verdict::Inconclusive)]
    fn with_too_much_dropped_nothing_is_decided(
        #[case] dropped_blocks: usize,
        #[case] blocks: usize,
        #[case] verdict: Verdict,
    ) {
        let estimate = spread(0.1, 16);
        let run = PairedRun { dropped_blocks, blocks, ..run(&estimate) };
        let row = judge_paired(&run, Direction::Lower).unwrap();
        assert_eq!(row.verdict, verdict);
        if verdict == Verdict::Inconclusive {
            assert_eq!(row.reason, Reason::TooMuchDropped { dropped: dropped_blocks, blocks });
            assert_eq!(row.evidence.p_value(), None);
        }
    }

    #[test]
    fn a_verdict_that_depends_on_the_dropping_says_so() {
        let (estimate, kept) = (spread(0.0, 16), spread(0.1, 16));
        let judge = |if_kept| {
            let run = PairedRun { if_kept: Some(if_kept), dropped_blocks: 1, blocks: 17, ..run(&estimate) };
            judge_paired(&run, Direction::Lower).unwrap()
        };
        let row = judge(&kept);
        assert_eq!(row.verdict, Verdict::Unchanged);
        assert_eq!(paired(&row).verdict_if_kept, Some(Verdict::Regressed));
        assert_eq!(paired(&judge(&estimate)).verdict_if_kept, None);
    }

    #[test]
    fn where_dropping_left_too_few_launches_the_evidence_names_what_all_of_them_would_have_given() {
        let (estimate, kept) = (spread(0.1, 7), spread(0.1, 8));
        let run = PairedRun { if_kept: Some(&kept), dropped_blocks: 1, blocks: 16, ..run(&estimate) };
        let row = judge_paired(&run, Direction::Lower).unwrap();
        assert_eq!(row.verdict, Verdict::Inconclusive);
        assert_eq!(paired(&row).verdict_if_kept, Some(Verdict::Regressed));
    }

    #[rstest]
    #[case::effect_not_a_number(Estimate { theta: f64::NAN, ..spread(0.0, 16) })]
    #[case::bound_not_a_number(
        Estimate { interval: Some(Interval { lower: f64::NAN, upper: 0.01 }), ..spread(0.0, 16) }
    )]
    #[case::infinite_bound(
        Estimate { interval: Some(Interval { lower: -0.01, upper: f64::INFINITY }), ..spread(0.0, 16) }
    )]
    #[case::bounds_out_of_order(
        Estimate { interval: Some(Interval { lower: 0.01, upper: -0.01 }), ..spread(0.0, 16) }
    )]
    #[case::no_interval(Estimate { interval: None, ..spread(0.0, 16) })]
    #[case::no_sd(Estimate { sd: None, standard_error: None, ..spread(0.0, 16) })]
    #[case::error_not_a_number(Estimate { standard_error: Some(f64::NAN), ..spread(0.0, 16) })]
    fn a_damaged_estimate_is_inconclusive(#[case] estimate: Estimate) {
        assert_eq!(judge(&estimate).verdict, Verdict::Inconclusive);
    }

    proptest! {
        #[test]
        fn more_time_is_never_less_severe(
            values in prop::collection::vec(-0.1..0.1, 8..20), more in 0.0..0.2,
        ) {
            let slower: Vec<f64> = values.iter().map(|value| value + more).collect();
            prop_assert!(judge(&measured(&values)).outcome() <= judge(&measured(&slower)).outcome());
        }

        #[test]
        fn swapping_the_sides_swaps_regressed_and_improved(
            values in prop::collection::vec(0.0..0.05, 8..20), shift in -0.15..0.1,
        ) {
            let forth: Vec<f64> = values.iter().map(|value| value + shift).collect();
            let back: Vec<f64> = forth.iter().map(|value| -value).collect();
            let (here, there) = (judge(&measured(&forth)).verdict, judge(&measured(&back)).verdict);
            prop_assert_eq!(here == Verdict::Regressed, there == Verdict::Improved);
            prop_assert_eq!(here == Verdict::Improved, there == Verdict::Regressed);
        }

        #[test]
        fn too_few_launches_never_decide(values in prop::collection::vec(-0.1..0.1, 1..8)) {
            prop_assert_eq!(judge(&measured(&values)).verdict, Verdict::Inconclusive);
        }

        #[test]
        fn the_order_of_the_launches_makes_no_difference(
            mut values in prop::collection::vec(-0.1..0.1, 8..20),
        ) {
            let forth = judge(&measured(&values)).verdict;
            values.reverse();
            prop_assert_eq!(judge(&measured(&values)).verdict, forth);
        }
    }
}
