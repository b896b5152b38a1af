use serde::{Deserialize, Serialize};

use crate::location::Location;
use crate::paired::led_values;
use crate::{EstimateError, Interval, Paired};

/// The fewest launches on which a verdict may stand. With fewer, an estimate is shown, and the verdict stays
/// open.
pub const MIN_LAUNCHES_TO_DECIDE: usize = 8;

/// The effect of a candidate against a reference, as a log-ratio of times: positive is slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The effect: the location of the launch values.
    pub theta: f64,
    /// The standard error of `theta` times the root of the launches; none for a single launch. Below
    /// [`TRIMMED_FROM_LAUNCHES`](crate::TRIMMED_FROM_LAUNCHES) launches with the same lead, it is the standard deviation
    /// of the launch values.
    pub sd: Option<f64>,
    /// The standard error of `theta`; none for a single launch, and in files of earlier versions.
    #[serde(default)]
    pub standard_error: Option<f64>,
    /// The degrees of freedom behind the standard error; absent where that is.
    #[serde(default)]
    pub df: Option<f64>,
    /// Half of what the launches led by the candidate have more than those led by the reference, as a log-ratio. It is
    /// taken out of `theta`. None where the leads are not told apart.
    #[serde(default)]
    pub order_effect: Option<f64>,
    /// The interval of `theta`; none below [`MIN_LAUNCHES_FOR_INTERVAL`](crate::MIN_LAUNCHES_FOR_INTERVAL)
    /// launches.
    pub interval: Option<Interval>,
    /// The confidence of the interval, for example 0.99.
    pub confidence: f64,
    /// The launches that hold a block: the independent values behind the interval.
    pub launches: usize,
    /// The launches outside of the trimmed middle, among `launches`.
    #[serde(default)]
    pub trimmed: usize,
    /// The placements that hold a block.
    pub placements: usize,
    /// The rounds, two per block.
    pub rounds: usize,
    /// The launches that were left out because they hold no block.
    pub empty_launches: usize,
    /// The placements that were left out because they hold no block, those of empty launches among them.
    pub empty_placements: usize,
}

impl Estimate {
    /// The effect as a ratio of times: 1.01 is a candidate that takes 1 % longer.
    pub fn ratio(&self) -> f64 {
        self.theta.exp()
    }

    /// The interval as a ratio of times. It is not symmetric about [`Estimate::ratio`].
    pub fn ratio_interval(&self) -> Option<Interval> {
        self.interval.map(|interval| interval.map(f64::exp))
    }

    /// Half the width of the interval, as a log-ratio.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|interval| interval.half_width())
    }

    /// The standard error and its degrees of freedom. An estimate of an earlier version is a mean of all launches.
    pub(crate) fn error(&self) -> Option<(f64, f64)> {
        let launches = self.launches as f64;
        let standard_error = self.standard_error.or_else(|| Some(self.sd? / launches.sqrt()))?;
        Some((standard_error, self.df.unwrap_or(launches - 1.0)))
    }
}

/// Estimates the effect of the candidate against the reference.
///
/// A placement is the median of the rounds of its blocks, a launch the median of its placements. The launches make two
/// strata, those that the candidate led and those that the reference led, so that an advantage of going first is in
/// neither the effect nor its interval. With `n_j` launches in stratum `j`,
///
/// ```text
/// theta = (m_1 + m_2) / 2        theta ± t(df, 1 - alpha/2) * se        alpha = 1 - confidence
///
/// se = sqrt(d_1 + d_2) / 2       df = (h_1 - 1) + (h_2 - 1)
/// d_j = (n_j - 1) s_wj^2 / (h_j (h_j - 1))
/// ```
///
/// From [`TRIMMED_FROM_LAUNCHES`](crate::TRIMMED_FROM_LAUNCHES) launches on, `m_j` is the 20 % trimmed mean: the mean of
/// the `h_j = n_j - 2 g_j` values without the `g_j = floor(0.2 n_j)` smallest and largest, and `s_wj^2` the variance of
/// the winsorized values, where those outside of the middle are moved to its ends. A few disturbed launches, which every
/// shared machine has, then move neither the effect nor the interval much. With fewer launches, `m_j` is the mean, `h_j =
/// n_j`, and `d_j = s_j^2 / n_j`.
///
/// There is one stratum, with `theta = m` and `se = sqrt(d)`, where a lead is unknown, with fewer than 8 launches, or
/// fewer than 2 of either lead. Where one side led fewer than three of eight launches, `df` is that of the smaller stratum.
///
/// Sources: J. W. Tukey and D. H. `McLaughlin`, "Less Vulnerable Confidence and Significance Procedures for Location Based
/// on a Single Sample", Sankhya A 25(3), 1963, <https://www.jstor.org/stable/25049278>; K. K. Yuen, "The Two-Sample
/// Trimmed t for Unequal Population Variances", Biometrika 61(1), 1974, <https://doi.org/10.1093/biomet/61.1.165>.
///
/// Only launches count as independent: values within a launch share its address space and its luck, so more
/// of them make the spread smaller at best, and never raise the degrees of freedom. Student's t over launches
/// keeps its nominal coverage at any number of launches, which a bootstrap over few launches does not.
///
/// Launch values without any spread give an interval of zero width. That is what the formula says, and it is
/// right for metrics without noise; on times it means a clock too coarse to see the spread, which the caller
/// has to judge.
///
/// # Errors
///
/// Returns an error if no launch holds a block, a log-ratio is not finite, the values are too large to average, or
/// `confidence` does not lie between 0 and 1 or leaves less than [`MIN_TAIL`](crate::student::MIN_TAIL) on a side of
/// the interval.
pub fn estimate(paired: &Paired, confidence: f64) -> Result<Estimate, EstimateError> {
    let launches = paired.block_means()?;
    let location = Location::of(&led_values(paired), confidence)?;
    let placements: usize = launches.iter().map(Vec::len).sum();
    let blocks: usize = launches.iter().flatten().map(Vec::len).sum();
    let all_placements: usize = paired.launches.iter().map(|launch| launch.placements.len()).sum();
    Ok(Estimate {
        theta: location.center,
        sd: location.sd,
        standard_error: location.standard_error,
        df: location.df,
        order_effect: location.order_effect,
        interval: location.interval,
        confidence,
        launches: launches.len(),
        trimmed: location.trimmed,
        placements,
        rounds: 2 * blocks,
        empty_launches: paired.launches.len() - launches.len(),
        empty_placements: all_placements - placements,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::simulation::Normal;
    use crate::{Block, Launch, Lead, Placement};

    /// Launches of one placement with one block, whose two rounds differ but average to the given value.
    fn launches(values: &[f64]) -> Paired {
        values
            .iter()
            .map(|value| {
                let block = Block::new(value - 0.25, value + 0.25);
                Launch { placements: vec![Placement { blocks: vec![block] }], ..Launch::default() }
            })
            .collect()
    }

    fn map(paired: &Paired, change: impl Fn(f64) -> f64) -> Paired {
        let mut paired = paired.clone();
        for block in paired.launches.iter_mut().flat_map(|l| &mut l.placements).flat_map(|p| &mut p.blocks) {
            *block = Block::new(change(block.first), change(block.second));
        }
        paired
    }

    #[test]
    fn the_estimate_counts_what_it_used_and_what_it_left_out() {
        let mut paired = launches(&[1.0, 2.0, 3.0, 4.0]);
        paired.launches[0].placements.push(Placement { blocks: vec![Block::new(3.0, 3.0); 2] });
        paired.launches[1].placements.push(Placement::default());
        paired.launches.push(Launch::default());
        paired.launches.push(Launch { placements: vec![Placement::default(); 2], ..Launch::default() });
        let estimate = estimate(&paired, 0.95).unwrap();
        // The first launch is the median of 1 and 3.
        assert_eq!(estimate.theta, 2.75);
        assert_eq!((estimate.launches, estimate.placements, estimate.rounds), (4, 5, 12));
        assert_eq!((estimate.empty_launches, estimate.empty_placements), (2, 3));
        assert_eq!(estimate.confidence, 0.95);
    }

    #[rstest]
    #[case::nothing(Paired::default())]
    #[case::empty_launch(Paired { launches: vec![Launch::default()] })]
    #[case::empty_placement(Paired { launches: vec![Launch { placements: vec![Placement::default()], ..Launch::default() }] })]
    fn without_a_block_there_is_no_estimate(#[case] paired: Paired) {
        assert_eq!(estimate(&paired, 0.99), Err(EstimateError::Empty));
    }

    #[rstest]
    #[case::one(&[0.5], 0.5, None, false)]
    #[case::two(&[0.0, 2.0], 1.0, Some(2_f64.sqrt()), false)]
    #[case::three(&[3.0, 2.0, 1.0], 2.0, Some(1.0), false)]
    #[case::descending(&[4.0, 3.0, 2.0, 1.0], 2.5, Some((5_f64 / 3.0).sqrt()), true)]
    #[case::negative(&[-4.0, -3.0, -2.0, -1.0], -2.5, Some((5_f64 / 3.0).sqrt()), true)]
    fn the_estimate_is_right_for(
        #[case] values: &[f64],
        #[case] theta: f64,
        #[case] sd: Option<f64>,
        #[case] has_interval: bool,
    ) {
        let estimate = estimate(&launches(values), 0.99).unwrap();
        assert_eq!((estimate.theta, estimate.sd), (theta, sd));
        assert_eq!(estimate.interval.is_some(), has_interval);
        assert_eq!(estimate.half_width().is_some(), has_interval);
        assert_eq!(estimate.ratio_interval().is_some(), has_interval);
    }

    #[test]
    fn constant_data_have_an_interval_of_zero_width() {
        let estimate = estimate(&map(&launches(&[0.0; 5]), |_| 0.1), 0.99).unwrap();
        assert_eq!(estimate.theta, 0.1);
        assert_eq!(estimate.sd, Some(0.0));
        assert_eq!(estimate.interval, Some(Interval { lower: 0.1, upper: 0.1 }));
    }

    #[test]
    fn a_log_ratio_of_a_doubled_time_is_the_ratio_two() {
        let estimate = estimate(&map(&launches(&[0.0; 4]), |_| 2_f64.ln()), 0.99).unwrap();
        assert!((estimate.ratio() - 2.0).abs() < 1e-15);
        let ratios = estimate.ratio_interval().unwrap();
        assert_eq!((ratios.lower, ratios.upper), (estimate.ratio(), estimate.ratio()));
    }

    #[test]
    fn one_bad_log_ratio_is_an_error_and_not_a_verdict_on_the_rest() {
        let mut paired = launches(&[1.0; 8]);
        paired.launches[5].placements[0].blocks[0].second = f64::NAN;
        let error = estimate(&paired, 0.99).unwrap_err();
        assert!(matches!(error, EstimateError::NonFiniteBlock { launch: 5, placement: 0, block: 0, .. }));
    }

    #[test]
    fn a_bad_confidence_is_an_error() {
        let error = estimate(&launches(&[1.0]), 1.0);
        assert_eq!(error, Err(EstimateError::BadConfidence { confidence: 1.0 }));
    }

    #[rstest]
    #[case::single_launch(&[0.1])]
    #[case::with_interval(&[0.1, 0.2, 0.4, 0.3, 1.0 / 3.0])]
    fn an_estimate_survives_json(#[case] values: &[f64]) {
        let estimate = estimate(&launches(values), 0.99).unwrap();
        let json = serde_json::to_string(&estimate).unwrap();
        assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), estimate);
    }

    /// The shapes of noise that coverage is shown for, with the launches and the effect of going first.
    #[derive(Clone, Copy)]
    enum Noise {
        Normal,
        /// Student's t with 3 degrees of freedom: no fourth moment.
        HeavyTailed,
        /// A side that is opened first takes 50 % longer.
        ShiftedByOrder,
    }

    impl Noise {
        fn draw(self, normal: &mut Normal, lead: Lead) -> f64 {
            match self {
                Self::Normal => 0.03 * normal.next(),
                Self::HeavyTailed => {
                    let squares: f64 = (0..3).map(|_| normal.next().powi(2)).sum();
                    0.03 * normal.next() / (squares / 3.0).sqrt()
                }
                Self::ShiftedByOrder => {
                    let shift = 1.5_f64.ln();
                    0.03 * normal.next() + if lead == Lead::Candidate { shift } else { -shift }
                }
            }
        }
    }

    /// The share of 20000 seeded comparisons whose 99 % interval holds the truth, and the mean half-width in
    /// percent. In the first launches the candidate leads.
    fn coverage(noise: Noise, launches: usize, led_by_candidate: usize) -> (f64, f64) {
        const TRIALS: usize = 20_000;
        const EFFECT: f64 = 0.02;
        let mut normal = Normal::seeded(launches as u64);
        let (mut covered, mut half_widths) = (0, 0.0);
        for _ in 0..TRIALS {
            let launches = (0..launches).map(|launch| {
                let lead = if launch < led_by_candidate { Lead::Candidate } else { Lead::Reference };
                let value = EFFECT + noise.draw(&mut normal, lead);
                let placement: Placement = [Block::new(value, value)].into_iter().collect();
                Launch { placements: vec![placement], lead }
            });
            let estimate = estimate(&launches.collect(), 0.99).unwrap();
            covered += usize::from(estimate.interval.unwrap().contains(EFFECT));
            half_widths += estimate.half_width().unwrap();
        }
        (covered as f64 / TRIALS as f64, 100.0 * half_widths / TRIALS as f64)
    }

    #[rstest]
    fn the_interval_covers_the_truth_as_often_as_it_promises(
        #[values(Noise::Normal, Noise::HeavyTailed, Noise::ShiftedByOrder)] noise: Noise,
        #[values(8, 16, 32, 64)] launches: usize,
    ) {
        // Over 20000 trials the standard error is 0.07 %. Heavy tails widen the interval of a mean of few launches, and
        // Yuen's interval is an approximation: half a percent either way is allowed.
        let (covered, half_width) = coverage(noise, launches, launches / 2);
        eprintln!("{launches} launches: {covered:.4}, half-width {half_width:.2} %");
        assert!((0.985..=0.998).contains(&covered), "{covered}");
    }

    #[rstest]
    #[case::three_of_eight(8, 3)]
    #[case::six_of_sixteen(16, 6)]
    #[case::twelve_of_thirty_two(32, 12)]
    #[case::a_quarter(32, 8)]
    #[case::an_eighth(16, 2)]
    #[case::few_of_many(64, 4)]
    fn it_does_so_where_one_side_led_less_often(#[case] launches: usize, #[case] led_by_candidate: usize) {
        let (covered, half_width) = coverage(Noise::ShiftedByOrder, launches, led_by_candidate);
        eprintln!("{led_by_candidate} of {launches} launches: {covered:.4}, half-width {half_width:.2} %");
        assert!(covered >= 0.985, "{covered}");
    }

    #[test]
    fn an_effect_of_order_is_taken_out_and_told() {
        let mut paired = launches(&[0.3, -0.1, 0.3, -0.1, 0.3, -0.1, 0.3, -0.1, 0.3, -0.1]);
        for (at, launch) in paired.launches.iter_mut().enumerate() {
            launch.lead = if at % 2 == 0 { Lead::Candidate } else { Lead::Reference };
        }
        let found = estimate(&paired, 0.99).unwrap();
        assert!((found.theta - 0.1).abs() < 1e-12 && (found.order_effect.unwrap() - 0.2).abs() < 1e-12);
        assert!(found.half_width().unwrap() < 1e-12);
        // Where the lead of a launch is unknown, nothing is known of the order.
        paired.launches[0].lead = Lead::Unknown;
        let found = estimate(&paired, 0.99).unwrap();
        assert!(found.order_effect.is_none() && found.half_width().unwrap() > 0.1);
    }

    #[test]
    fn an_estimate_of_an_earlier_version_is_read_as_a_mean_of_all_launches() {
        let json = r#"{"theta":0.1,"sd":0.02,"interval":null,"confidence":0.99,"launches":16,"placements":16,
            "rounds":32,"empty_launches":0,"empty_placements":0}"#;
        let earlier: Estimate = serde_json::from_str(json).unwrap();
        assert_eq!((earlier.error(), earlier.trimmed), (Some((0.005, 15.0)), 0));
    }

    fn paired_data() -> impl Strategy<Value = Paired> {
        let block = (-3.0..3.0, -3.0..3.0).prop_map(|(first, second): (f64, f64)| Block::new(first, second));
        let placement = prop::collection::vec(block, 0..5).prop_map(|blocks| Placement { blocks });
        let lead = prop_oneof![Just(Lead::Candidate), Just(Lead::Reference)];
        let launch = (prop::collection::vec(placement, 1..5), lead)
            .prop_map(|(placements, lead)| Launch { placements, lead });
        prop::collection::vec(launch, 4..24)
            .prop_map(|launches| Paired { launches })
            .prop_filter("there is a block", |paired| estimate(paired, 0.5).is_ok())
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_effect_and_its_ratio_is_ordered(
            paired in paired_data(),
            confidence in 0.01..0.999,
        ) {
            let estimate = estimate(&paired, confidence).unwrap();
            if let (Some(interval), Some(ratios)) = (estimate.interval, estimate.ratio_interval()) {
                prop_assert!(interval.contains(estimate.theta));
                prop_assert!(ratios.lower > 0.0 && ratios.lower <= estimate.ratio());
                prop_assert!(estimate.ratio() <= ratios.upper);
            } else {
                prop_assert!(estimate.launches < crate::MIN_LAUNCHES_FOR_INTERVAL);
            }
        }

        #[test]
        fn swapping_candidate_and_reference_negates_the_estimate_exactly(paired in paired_data()) {
            let forth = estimate(&paired, 0.99).unwrap();
            let mut swapped = map(&paired, |value| -value);
            for launch in &mut swapped.launches {
                launch.lead = match launch.lead {
                    Lead::Candidate => Lead::Reference,
                    Lead::Reference => Lead::Candidate,
                    Lead::Unknown => Lead::Unknown,
                };
            }
            let back = estimate(&swapped, 0.99).unwrap();
            let mirrored = forth.interval.map(|i| Interval { lower: -i.upper, upper: -i.lower });
            prop_assert_eq!(back, Estimate { theta: -forth.theta, interval: mirrored, ..forth });
        }

        #[test]
        fn adding_a_constant_to_every_log_ratio_shifts_the_estimate_by_it(
            paired in paired_data(),
            shift in -3.0_f64..3.0,
        ) {
            let before = estimate(&paired, 0.99).unwrap();
            let after = estimate(&map(&paired, |value| value + shift), 0.99).unwrap();
            prop_assert!((after.theta - before.theta - shift).abs() < 1e-12);
            if let (Some(before), Some(after)) = (before.half_width(), after.half_width()) {
                prop_assert!((after - before).abs() < 1e-11);
            }
        }

        #[test]
        fn more_confidence_means_a_wider_interval(paired in paired_data()) {
            let narrow = estimate(&paired, 0.95).unwrap().half_width();
            let wide = estimate(&paired, 0.99).unwrap().half_width();
            // The values are random reals, so their spread is never exactly 0.
            prop_assert!(narrow.is_none() || wide > narrow);
        }
    }
}
