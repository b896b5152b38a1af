use serde::{Deserialize, Serialize};

use crate::location::degrees_of_freedom;
use crate::student;

/// The power behind a minimum detectable effect: the chance that an effect of that size is seen.
pub const MDE_POWER: f64 = 0.90;

/// The most launches that [`Detection::launches_needed`] answers with; beyond it, no run would be that long.
pub const MAX_LAUNCHES_NEEDED: usize = 1_000_000;

/// The rule by which an effect counts as detected: the lower bound of `theta` exceeds a threshold. All effects are
/// log-ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detection {
    /// The threshold, the smallest change that matters, not negative.
    pub delta: f64,
    /// The chance that an effect of exactly `delta` is flagged. A two-sided interval of confidence `c`, of
    /// which one bound is held against the threshold, has `(1 - c) / 2`.
    pub one_sided_alpha: f64,
    /// The chance that the effect asked about is flagged.
    pub power: f64,
}

impl Detection {
    /// Detection beyond `delta` with the power [`MDE_POWER`].
    pub fn new(delta: f64, one_sided_alpha: f64) -> Self {
        Self { delta, one_sided_alpha, power: MDE_POWER }
    }

    /// The minimum detectable effect, `delta + (t(1 - alpha) + t(power)) * sd / sqrt(L)`, where `sd` is that of an
    /// [`Estimate`](crate::Estimate) of `launches` launches, with the degrees of freedom of such an estimate: `L - 1`
    /// below [`TRIMMED_FROM_LAUNCHES`](crate::TRIMMED_FROM_LAUNCHES), and about `0.6 L` from there on.
    ///
    /// None below two launches, and for arguments without meaning: `delta` or `sd` negative or not finite, a
    /// probability that [`student::quantile`] refuses. The sum of two quantiles stands for the quantile of
    /// the noncentral distribution, which flatters few launches a little: of a promised power of 90 % at an
    /// alpha of 1 %, 8 launches keep 88 %, and 32 keep 89 %.
    pub fn mde(&self, sd: f64, launches: usize) -> Option<f64> {
        let valid = |value: f64| value.is_finite() && value >= 0.0;
        if launches < 2 || !valid(self.delta) || !valid(sd) {
            return None;
        }
        let df = degrees_of_freedom(launches) as f64;
        let t_alpha = student::quantile(1.0 - self.one_sided_alpha, df).ok()?;
        let t_power = student::quantile(self.power, df).ok()?;
        // With more alpha than power every effect is "detected"; none below the threshold is promised,
        // though.
        let mde = self.delta + (t_alpha + t_power).max(0.0) * (sd / (launches as f64).sqrt());
        mde.is_finite().then_some(mde)
    }

    /// The fewest launches, two at least, whose minimum detectable effect is at most `effect`.
    ///
    /// None if `effect` does not exceed `delta`, so that no number of launches would do, if it would take
    /// more than [`MAX_LAUNCHES_NEEDED`], or where [`Detection::mde`] has none.
    pub fn launches_needed(&self, effect: f64, sd: f64) -> Option<usize> {
        if effect <= self.delta {
            return None;
        }
        let enough = |launches: usize| Some(self.mde(sd, launches)? <= effect);
        // The effect that can be seen falls with the launches, so the answer is found by halving.
        let (mut too_few, mut upper) = (1, MAX_LAUNCHES_NEEDED);
        if !enough(upper)? {
            return None;
        }
        while upper - too_few > 1 {
            let middle = usize::midpoint(too_few, upper);
            // An overflow at few launches is an effect too large to be seen with them.
            if enough(middle).unwrap_or(false) {
                upper = middle;
            } else {
                too_few = middle;
            }
        }
        Some(upper)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::estimate;
    use crate::simulation::{Normal, Truth};

    const ONE_PERCENT: Detection = Detection { delta: 0.01, one_sided_alpha: 0.01, power: MDE_POWER };

    #[test]
    fn the_minimum_detectable_effect_of_a_worked_example() {
        // t(7, 0.99) = 2.99795 and t(7, 0.90) = 1.41492, so 0.01 + 4.41287 * 0.03 / sqrt(8) = 0.056806.
        let mde = ONE_PERCENT.mde(0.03, 8).unwrap();
        assert!((mde - 0.056_806).abs() < 1e-6, "{mde}");
        assert_eq!(Detection::new(0.01, 0.01), ONE_PERCENT);
    }

    #[rstest]
    #[case::no_launch(ONE_PERCENT, 0.03, 0)]
    #[case::one_launch(ONE_PERCENT, 0.03, 1)]
    #[case::negative_sd(ONE_PERCENT, -0.03, 8)]
    #[case::sd_not_a_number(ONE_PERCENT, f64::NAN, 8)]
    #[case::infinite_sd(ONE_PERCENT, f64::INFINITY, 8)]
    #[case::negative_threshold(Detection { delta: -0.01, ..ONE_PERCENT }, 0.03, 8)]
    #[case::threshold_not_a_number(Detection { delta: f64::NAN, ..ONE_PERCENT }, 0.03, 8)]
    #[case::alpha_zero(Detection { one_sided_alpha: 0.0, ..ONE_PERCENT }, 0.03, 8)]
    #[case::power_one(Detection { power: 1.0, ..ONE_PERCENT }, 0.03, 8)]
    #[case::overflow(ONE_PERCENT, f64::MAX, 2)]
    fn there_is_no_minimum_detectable_effect_for(
        #[case] detection: Detection,
        #[case] sd: f64,
        #[case] launches: usize,
    ) {
        assert_eq!(detection.mde(sd, launches), None);
    }

    #[test]
    fn without_noise_everything_beyond_the_threshold_is_seen() {
        assert_eq!(ONE_PERCENT.mde(0.0, 2), Some(0.01));
        assert_eq!(ONE_PERCENT.launches_needed(0.010_001, 0.0), Some(2));
    }

    #[test]
    fn no_effect_below_the_threshold_is_promised_however_generous_alpha_is() {
        let generous = Detection { one_sided_alpha: 0.5, power: 0.1, ..ONE_PERCENT };
        assert_eq!(generous.mde(0.03, 8), Some(0.01));
    }

    #[test]
    fn the_launches_needed_depend_on_effect_and_spread_by_their_ratio_only() {
        let detection = Detection::new(0.0, 0.01);
        let needed = detection.launches_needed(1.6, 1.0);
        assert!(needed.is_some());
        // At four launches the large figures overflow, which is not a reason to stop there.
        assert_eq!(detection.mde(1e308, 4), None);
        assert_eq!(detection.launches_needed(1.6e308, 1e308), needed);
    }

    #[rstest]
    #[case::at_the_threshold(0.01, 0.03)]
    #[case::below_the_threshold(-0.05, 0.03)]
    #[case::not_a_number(f64::NAN, 0.03)]
    #[case::more_than_any_run(0.010_000_1, 0.03)]
    #[case::bad_sd(0.05, -1.0)]
    fn no_number_of_launches_is_enough_for(#[case] effect: f64, #[case] sd: f64) {
        assert_eq!(ONE_PERCENT.launches_needed(effect, sd), None);
    }

    /// Launches by the normal approximation `(z(1 - alpha) + z(power))^2 * s^2 / (effect - delta)^2`, with
    /// `z(0.99) = 2.3263`, `z(0.95) = 1.6449` and `z(0.80) = 0.8416`, rounded up. Student's t and trimming add a
    /// few launches.
    #[rstest]
    #[case::large_effect_at_99(0.05, 0.99, 0.03, 13)]
    #[case::medium_effect_at_95(0.03, 0.95, 0.03, 36)]
    #[case::small_effect_at_80(0.02, 0.80, 0.03, 91)]
    #[case::large_effect_loud(0.05, 0.99, 0.06, 49)]
    #[case::small_effect_loud(0.02, 0.80, 0.06, 362)]
    #[case::small_effect_quiet(0.02, 0.80, 0.01, 11)]
    fn the_launches_needed_exceed_the_normal_approximation_by_little(
        #[case] effect: f64,
        #[case] power: f64,
        #[case] sd: f64,
        #[case] approximation: usize,
    ) {
        let needed = Detection { power, ..ONE_PERCENT }.launches_needed(effect, sd).unwrap();
        assert!((approximation..=approximation + 8).contains(&needed), "{needed}");
    }

    #[rstest]
    #[case::launches_8(8, 0.883)]
    #[case::launches_32(32, 0.89)]
    fn an_effect_of_the_minimum_detectable_size_is_seen_as_often_as_documented(
        #[case] launches: usize,
        #[case] documented: f64,
    ) {
        // Over 4000 trials the standard error is 0.5 %.
        const TRIALS: usize = 4000;
        let sd = 0.03;
        let effect = ONE_PERCENT.mde(sd, launches).unwrap();
        let truth = Truth { effect, launch_sd: sd, placement_sd: 0.0, round_sd: 0.0 };
        let mut normal = Normal::seeded(7);
        let seen = (0..TRIALS)
            .filter(|_| {
                let paired = truth.paired(&mut normal, launches, 1, |_, _| 1);
                let interval = estimate(&paired, 1.0 - 2.0 * ONE_PERCENT.one_sided_alpha).unwrap().interval;
                interval.unwrap().lower > ONE_PERCENT.delta
            })
            .count() as f64;
        let power = seen / TRIALS as f64;
        assert!((power - documented).abs() < 0.02, "{power}");
    }

    proptest! {
        #[test]
        fn the_launches_needed_are_the_fewest_that_suffice(
            effect in 0.02..0.2,
            sd in 0.001..0.1,
        ) {
            let needed = ONE_PERCENT.launches_needed(effect, sd).unwrap();
            prop_assert!(ONE_PERCENT.mde(sd, needed).unwrap() <= effect);
            prop_assert!(needed == 2 || ONE_PERCENT.mde(sd, needed - 1).unwrap() > effect);
        }
    }
}
