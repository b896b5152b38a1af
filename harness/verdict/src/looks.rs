use serde::{Deserialize, Serialize};

/// One planned look at the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// The number of launches at which to look.
    pub launches: usize,
    /// The share of the whole alpha that this look may spend, above 0 and at most 1.
    pub share: f64,
}

/// The looks of the sequential design. Most rows are settled by 64 launches, where most of the alpha is spent; the looks
/// after that are for the few rows that are not, while the budget lasts.
pub const SEQUENTIAL_LOOKS: [Look; 5] = [
    Look { launches: 16, share: 0.2 },
    Look { launches: 32, share: 0.3 },
    Look { launches: 64, share: 0.3 },
    Look { launches: 128, share: 0.1 },
    Look { launches: 256, share: 0.1 },
];

/// The launch counts at which the data may be looked at, and what each look may spend.
///
/// Looking at a 99 % interval after every launch, and stopping as soon as it excludes zero, flags far more
/// than 1 % of identical pairs. Here each look spends its own share of alpha. The shares sum to at most 1, so
/// the chance that any look excludes the truth is at most alpha (Bonferroni's inequality), whatever the
/// correlation of the looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<Look>", into = "Vec<Look>")]
pub struct Looks {
    looks: Vec<Look>,
}

/// A list of looks that is not a plan.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LooksError {
    /// A plan without looks would never end a measurement.
    #[error("a plan needs at least one look")]
    NoLooks,

    /// A look comes at no launch, or not after the look before it.
    #[error("the look at {launches} launches must come after the one at {previous}")]
    NotIncreasing {
        /// The launches of the look before, 0 for the first.
        previous: usize,
        /// The launches of the offending look.
        launches: usize,
    },

    /// A share that is not above 0 and at most 1.
    #[error("the look at {launches} launches spends the share {share}, which must be above 0 and at most 1")]
    BadShare {
        /// The launches of the offending look.
        launches: usize,
        /// The rejected share.
        share: f64,
    },

    /// The shares sum to more than 1, so the looks together would spend more than the whole alpha.
    #[error("the shares of all looks sum to {sum}, which must be at most 1")]
    Overspent {
        /// The sum of the shares.
        sum: f64,
    },
}

impl Looks {
    /// A plan of `looks`, in the order of their launches.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no look, launches do not increase, a share is not above 0 and at most 1, or the
    /// shares sum to more than 1.
    pub fn new(looks: Vec<Look>) -> Result<Self, LooksError> {
        if looks.is_empty() {
            return Err(LooksError::NoLooks);
        }
        let mut previous = 0;
        for &Look { launches, share } in &looks {
            if launches <= previous {
                return Err(LooksError::NotIncreasing { previous, launches });
            }
            if !(share > 0.0 && share <= 1.0) {
                return Err(LooksError::BadShare { launches, share });
            }
            previous = launches;
        }
        let sum: f64 = looks.iter().map(|look| look.share).sum();
        // Decimal shares such as ten times 0.1 miss 1 by the last bits.
        if sum > 1.0 + 1e-9 {
            return Err(LooksError::Overspent { sum });
        }
        Ok(Self { looks })
    }

    /// The design with a single look at a fixed number of launches, which spends the whole alpha.
    ///
    /// # Errors
    ///
    /// Returns an error if `launches` is 0.
    pub fn fixed(launches: usize) -> Result<Self, LooksError> {
        Self::new(vec![Look { launches, share: 1.0 }])
    }

    /// The looks, in the order of their launches.
    pub fn as_slice(&self) -> &[Look] {
        &self.looks
    }

    /// The launches of the last look, after which no more are measured.
    pub fn max_launches(&self) -> usize {
        self.looks.last().map_or(0, |look| look.launches)
    }

    /// The launches of the first look after `launches`; none if the last look is reached.
    pub fn next_look(&self, launches: usize) -> Option<usize> {
        self.looks.iter().map(|look| look.launches).find(|&look| look > launches)
    }

    /// The alpha that the look at exactly `launches` launches may spend, out of `total_alpha`; none at
    /// any other number.
    pub fn alpha_at(&self, launches: usize, total_alpha: f64) -> Option<f64> {
        self.looks.iter().find(|look| look.launches == launches).map(|look| look.share * total_alpha)
    }

    /// The confidence of the interval at the look at exactly `launches` launches; none at any other number.
    pub fn confidence_at(&self, launches: usize, total_alpha: f64) -> Option<f64> {
        self.alpha_at(launches, total_alpha).map(|alpha| 1.0 - alpha)
    }

    /// The alpha that is left when something other than the data, such as the time budget, ends the
    /// measurement at `launches` launches: what the looks before that did not spend; none after the last
    /// look.
    ///
    /// A look at exactly `launches` launches counts as not yet taken, so that it can spend the rest at once.
    /// This keeps the whole alpha only if the reason for the end does not depend on the effect.
    pub fn alpha_left(&self, launches: usize, total_alpha: f64) -> Option<f64> {
        let left: f64 =
            self.looks.iter().filter(|look| look.launches >= launches).map(|look| look.share).sum();
        (left > 0.0).then_some(left * total_alpha)
    }
}

impl Default for Looks {
    /// The sequential design, [`SEQUENTIAL_LOOKS`].
    fn default() -> Self {
        Self { looks: SEQUENTIAL_LOOKS.to_vec() }
    }
}

impl TryFrom<Vec<Look>> for Looks {
    type Error = LooksError;

    fn try_from(looks: Vec<Look>) -> Result<Self, LooksError> {
        Self::new(looks)
    }
}

impl From<Looks> for Vec<Look> {
    fn from(looks: Looks) -> Self {
        looks.looks
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::simulation::{Normal, Truth};
    use crate::{Paired, estimate};

    fn look(launches: usize, share: f64) -> Look {
        Look { launches, share }
    }

    #[test]
    fn the_sequential_design_is_a_valid_plan_that_spends_the_whole_alpha() {
        let looks = Looks::new(SEQUENTIAL_LOOKS.to_vec()).unwrap();
        assert_eq!(looks, Looks::default());
        assert!((SEQUENTIAL_LOOKS.iter().map(|look| look.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(looks.max_launches(), 256);
        assert_eq!(looks.as_slice(), SEQUENTIAL_LOOKS);
    }

    #[rstest]
    #[case::none(vec![], LooksError::NoLooks)]
    #[case::zero_launches(vec![look(0, 1.0)], LooksError::NotIncreasing { previous: 0, launches: 0 })]
    #[case::twice(vec![look(8, 0.1), look(8, 0.1)], LooksError::NotIncreasing { previous: 8, launches: 8 })]
    #[case::descending(
        vec![look(8, 0.1), look(4, 0.1)],
        LooksError::NotIncreasing { previous: 8, launches: 4 }
    )]
    #[case::zero_share(vec![look(8, 0.0)], LooksError::BadShare { launches: 8, share: 0.0 })]
    #[case::negative_share(vec![look(8, -0.5)], LooksError::BadShare { launches: 8, share: -0.5 })]
    #[case::large_share(vec![look(8, 1.5)], LooksError::BadShare { launches: 8, share: 1.5 })]
    #[case::overspent(vec![look(8, 0.75), look(9, 0.5)], LooksError::Overspent { sum: 1.25 })]
    fn a_list_that_is_no_plan_is_refused(#[case] looks: Vec<Look>, #[case] error: LooksError) {
        assert_eq!(Looks::new(looks), Err(error));
    }

    #[test]
    fn a_share_that_is_not_a_number_is_refused() {
        assert!(matches!(Looks::new(vec![look(8, f64::NAN)]), Err(LooksError::BadShare { .. })));
    }

    #[test]
    fn ten_looks_of_a_tenth_are_not_overspent() {
        let looks = Looks::new((1..=10).map(|launches| look(launches, 0.1)).collect());
        assert!(looks.is_ok());
    }

    #[rstest]
    #[case::none_yet(0, Some(16), None, Some(0.01))]
    #[case::before_the_first(15, Some(16), None, Some(0.01))]
    #[case::at_the_first(16, Some(32), Some(0.002), Some(0.01))]
    #[case::between(17, Some(32), None, Some(0.008))]
    #[case::at_the_third(64, Some(128), Some(0.003), Some(0.005))]
    #[case::at_the_last(256, None, Some(0.001), Some(0.001))]
    #[case::after_the_last(257, None, None, None)]
    fn the_sequential_design_looks_at_five_counts_only(
        #[case] launches: usize,
        #[case] next: Option<usize>,
        #[case] alpha: Option<f64>,
        #[case] left: Option<f64>,
    ) {
        let looks = Looks::default();
        let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (a, b) => a == b,
        };
        assert_eq!(looks.next_look(launches), next);
        assert!(close(looks.alpha_at(launches, 0.01), alpha));
        assert!(close(looks.confidence_at(launches, 0.01), alpha.map(|alpha| 1.0 - alpha)));
        assert!(close(looks.alpha_left(launches, 0.01), left));
    }

    #[test]
    fn the_fixed_design_looks_once_with_the_whole_alpha() {
        let looks = Looks::fixed(12).unwrap();
        assert_eq!(
            (looks.next_look(0), looks.next_look(11), looks.next_look(12)),
            (Some(12), Some(12), None)
        );
        assert_eq!((looks.alpha_at(12, 0.01), looks.alpha_at(8, 0.01)), (Some(0.01), None));
        assert_eq!(looks.confidence_at(12, 0.01), Some(0.99));
        assert_eq!(Looks::fixed(0), Err(LooksError::NotIncreasing { previous: 0, launches: 0 }));
    }

    #[test]
    fn looks_are_a_list_in_json_and_a_bad_list_is_refused() {
        let json = serde_json::to_string(&Looks::fixed(8).unwrap()).unwrap();
        assert_eq!(json, r#"[{"launches":8,"share":1.0}]"#);
        assert_eq!(serde_json::from_str::<Looks>(&json).unwrap(), Looks::fixed(8).unwrap());
        let error = serde_json::from_str::<Looks>(r#"[{"launches":8,"share":2}]"#).unwrap_err();
        assert!(error.to_string().contains("spends the share 2"), "{error}");
    }

    #[test]
    fn five_looks_spend_no_more_than_the_whole_alpha_but_five_uncorrected_ones_do() {
        const TRIALS: usize = 4000;
        const ALPHA: f64 = 0.1;
        let looks = Looks::default();
        let mut normal = Normal::seeded(3);
        let (mut split, mut uncorrected) = (0, 0);
        for _ in 0..TRIALS {
            let all = Truth::NOISY.paired(&mut normal, looks.max_launches(), 1, |_, _| 1);
            let excludes_truth = |launches: usize, confidence: f64| {
                let so_far = Paired { launches: all.launches[..launches].to_vec() };
                !estimate(&so_far, confidence).unwrap().interval.unwrap().contains(0.0)
            };
            let any = |confidence: &dyn Fn(usize) -> f64| {
                looks.as_slice().iter().any(|look| excludes_truth(look.launches, confidence(look.launches)))
            };
            split += usize::from(any(&|launches| looks.confidence_at(launches, ALPHA).unwrap()));
            uncorrected += usize::from(any(&|_| 1.0 - ALPHA));
        }
        let (split, uncorrected) = (split as f64 / TRIALS as f64, uncorrected as f64 / TRIALS as f64);
        // Bonferroni's inequality is not sharp for correlated looks, but the split is not to waste half of
        // the alpha.
        assert!((0.07..=0.1).contains(&split), "{split}");
        assert!(uncorrected > 0.15, "{uncorrected}");
    }
}
