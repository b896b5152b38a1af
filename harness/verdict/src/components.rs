use serde::{Deserialize, Serialize};

use crate::summary::{mean, variance};
use crate::{EstimateError, Paired};

/// The placements and blocks that fill a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allocation {
    /// The placements in a launch, `P`.
    pub placements: usize,
    /// The blocks in a placement, `R`.
    pub blocks: usize,
}

/// The share of each level of the nesting in the variance of a log-ratio. All figures are variances of
/// log-ratios: 0.0009 is a standard deviation of 3 %.
///
/// A component is absent where the data cannot tell it from the levels below. It is 0 where the level above
/// shows no more spread than the levels below explain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Components {
    /// The variance between launches, `sL2`, without what placements and blocks add to it; absent for one
    /// launch, or if no launch has two placements.
    pub launch: Option<f64>,
    /// The variance between placements of a launch, `sP2`, without what blocks add to it; absent if no launch
    /// has two placements, or no placement two blocks.
    pub placement: Option<f64>,
    /// The variance between blocks of a placement, `sR2`; absent if no placement has two blocks.
    pub block: Option<f64>,
}

impl Components {
    /// The variance of a launch value that `allocation` would give, `sL2 + sP2/P + sR2/(P R)`; none if a
    /// component is absent.
    ///
    /// It is exact for means; the medians, which an estimate takes, vary a little more than means on normal
    /// data, and much less on data with outliers.
    pub fn launch_variance(&self, allocation: Allocation) -> Option<f64> {
        let placements = allocation.placements as f64;
        let blocks = allocation.blocks as f64;
        Some(self.launch? + (self.placement? + self.block? / blocks) / placements)
    }
}

/// Splits the variance of the log-ratios into its components.
///
/// With `S1`, `S2` and `S3` for the pooled variance between the blocks of a placement, the pooled variance
/// between the placement means of a launch, and the variance between the launch means, and `R` blocks in each
/// of the `P` placements of a launch,
///
/// ```text
/// sR2 = S1        sP2 = max(0, S2 - S1/R)        sL2 = max(0, S3 - S2/P)
/// ```
///
/// These are the unbiased estimators of T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time",
/// ISMM 2013, <https://doi.org/10.1145/2464157.2464160>, in the corrected form of its revised version. The
/// first version took `sP2` for `S2` in the last term, which forgets the share of the blocks; libkalibera
/// records the correction:
/// <https://github.com/softdevteam/libkalibera/blob/661aa9f00c35d6be344f3e4e0a4899a02ab71fea/python/pykalibera/data.py>.
///
/// Where the counts differ, `1/R` and `1/P` are averaged over the placements and launches with the weights
/// that their means have in `S2` and `S3`. `R` and `P` are thus harmonic means, and the estimators stay
/// unbiased before the cut at zero. Every level uses means, unlike [`estimate()`](crate::estimate()), which
/// takes medians: only for means do the variances of the levels add up.
///
/// # Errors
///
/// Returns an error if a log-ratio is not finite, or the values are too large for their variance. Too little data is
/// not an error: the component is absent.
pub fn components(paired: &Paired) -> Result<Components, EstimateError> {
    let launches = paired.block_means()?;
    let mut within_placements = Pool::default();
    let mut within_launches = Pool::default();
    // The share of `sR2` in `S2`: the mean of 1/R, pooled as `S2` is.
    let mut blocks_in_placements = Pool::default();
    // One entry per launch: its mean, and the shares of `sP2` and `sR2` in the variance of that mean.
    let mut launch_means = Vec::with_capacity(launches.len());
    let mut placements_in_launches = Vec::with_capacity(launches.len());
    let mut blocks_in_launches = Vec::with_capacity(launches.len());
    for placements in &launches {
        for blocks in placements {
            within_placements.add(variance(blocks), blocks.len());
        }
        let means: Vec<f64> = placements.iter().filter_map(|blocks| mean(blocks)).collect();
        let inverse_blocks: Vec<f64> = placements.iter().map(|blocks| 1.0 / blocks.len() as f64).collect();
        within_launches.add(variance(&means), means.len());
        blocks_in_placements.add(mean(&inverse_blocks), means.len());
        launch_means.extend(mean(&means));
        let inverse_placements = 1.0 / means.len() as f64;
        placements_in_launches.push(inverse_placements);
        blocks_in_launches.extend(mean(&inverse_blocks).map(|inverse| inverse * inverse_placements));
    }

    let block = within_placements.mean();
    let placement_means = within_launches.mean();
    // Before the cut at zero, which would otherwise carry over into the level above.
    let uncut_placement = match (placement_means, block, blocks_in_placements.mean()) {
        (Some(spread), Some(block), Some(share)) => Some(spread - block * share),
        _ => None,
    };
    let below_launch = match (uncut_placement, block) {
        (Some(placement), Some(block)) => {
            let of_placements = mean(&placements_in_launches).map(|share| placement * share);
            let of_blocks = mean(&blocks_in_launches).map(|share| block * share);
            of_placements.zip(of_blocks).map(|(placements, blocks)| placements + blocks)
        }
        // One block in every placement: `S2` holds placement and block together, and both shrink by 1/P.
        _ => placement_means.zip(mean(&placements_in_launches)).map(|(spread, share)| spread * share),
    };
    let launch = variance(&launch_means).zip(below_launch).map(|(spread, below)| (spread - below).max(0.0));
    let placement = uncut_placement.map(|placement| placement.max(0.0));
    if ![launch, placement, block].into_iter().flatten().all(f64::is_finite) {
        return Err(EstimateError::Overflow);
    }
    Ok(Components { launch, placement, block })
}

/// A mean over groups, weighted with their degrees of freedom `n - 1`.
#[derive(Default)]
struct Pool {
    sum: f64,
    degrees_of_freedom: usize,
}

impl Pool {
    /// Adds the figure of a group of `n` values; a group of one has no degree of freedom and adds nothing.
    fn add(&mut self, figure: Option<f64>, n: usize) {
        if let (Some(figure), Some(degrees @ 1..)) = (figure, n.checked_sub(1)) {
            self.sum += figure * degrees as f64;
            self.degrees_of_freedom += degrees;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.degrees_of_freedom > 0).then(|| self.sum / self.degrees_of_freedom as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::simulation::{Normal, Truth};
    use crate::{Block, Launch, Placement};

    /// A comparison from its block values.
    fn paired(launches: &[Vec<Vec<f64>>]) -> Paired {
        let placement =
            |blocks: &Vec<f64>| -> Placement { blocks.iter().map(|&d| Block::new(d, d)).collect() };
        launches.iter().map(|placements| placements.iter().map(placement).collect::<Launch>()).collect()
    }

    #[test]
    fn the_components_of_a_worked_example() {
        // S1 = 2 in each placement; placement means 0, 4 and 10, 18, so S2 = (8 + 32) / 2 = 20; launch means
        // 2 and 14, so S3 = 72. sR2 = 2, sP2 = 20 - 2/2 = 19, sL2 = 72 - 20/2 = 62.
        let components = components(&paired(&[
            vec![vec![-1.0, 1.0], vec![3.0, 5.0]],
            vec![vec![9.0, 11.0], vec![17.0, 19.0]],
        ]))
        .unwrap();
        assert_eq!(components, Components { launch: Some(62.0), placement: Some(19.0), block: Some(2.0) });
        // And back: the variance of the launch means is S3.
        assert_eq!(components.launch_variance(Allocation { placements: 2, blocks: 2 }), Some(72.0));
    }

    #[rstest]
    #[case::empty(&[], (None, None, None))]
    #[case::one_block(&[vec![vec![1.0]]], (None, None, None))]
    #[case::two_blocks(&[vec![vec![1.0, 3.0]]], (None, None, Some(2.0)))]
    #[case::one_launch(&[vec![vec![1.0, 3.0], vec![2.0, 4.0]]], (None, Some(0.0), Some(2.0)))]
    #[case::one_placement_each(&[vec![vec![1.0, 3.0]], vec![vec![2.0, 4.0]]], (None, None, Some(2.0)))]
    // S2 = 2 and 8, pooled 5; launch means 1 and 12, S3 = 60.5; minus 5/2.
    #[case::one_block_each(
        &[vec![vec![0.0], vec![2.0]], vec![vec![10.0], vec![14.0]]],
        (Some(58.0), None, None)
    )]
    #[case::constant(&[vec![vec![5.0; 2]; 2], vec![vec![5.0; 2]; 2]], (Some(0.0), Some(0.0), Some(0.0)))]
    #[case::negative(&[vec![vec![-1.0, -3.0]]], (None, None, Some(2.0)))]
    fn a_component_is_absent_where_the_data_cannot_tell(
        #[case] launches: &[Vec<Vec<f64>>],
        #[case] (launch, placement, block): (Option<f64>, Option<f64>, Option<f64>),
    ) {
        assert_eq!(components(&paired(launches)), Ok(Components { launch, placement, block }));
    }

    #[test]
    fn the_variance_of_a_launch_needs_all_components() {
        let known = Components { launch: Some(1.0), placement: Some(8.0), block: Some(16.0) };
        let allocation = Allocation { placements: 4, blocks: 2 };
        assert_eq!(known.launch_variance(allocation), Some(5.0));
        for unknown in [
            Components { launch: None, ..known },
            Components { placement: None, ..known },
            Components { block: None, ..known },
        ] {
            assert_eq!(unknown.launch_variance(allocation), None);
        }
    }

    #[test]
    fn a_cut_at_zero_does_not_carry_over_into_the_level_above() {
        // S1 = 50 and S2 = 0, so sP2 = -25 is cut; S3 = 2 is all due to launches, because the placement means
        // agree.
        let components = components(&paired(&[vec![vec![-5.0, 5.0]; 2], vec![vec![-3.0, 7.0]; 2]])).unwrap();
        assert_eq!(components, Components { launch: Some(2.0), placement: Some(0.0), block: Some(50.0) });
    }

    #[test]
    fn a_log_ratio_that_is_not_finite_is_an_error() {
        let error = components(&paired(&[vec![vec![1.0, f64::NAN]]])).unwrap_err();
        assert!(matches!(error, EstimateError::NonFiniteBlock { launch: 0, placement: 0, block: 1, .. }));
        assert_eq!(components(&paired(&[vec![vec![1e200, -1e200]]])), Err(EstimateError::Overflow));
    }

    /// A truth in which every level matters, as standard deviations of log-ratios.
    const PLANTED: Truth = Truth { effect: 0.1, launch_sd: 0.03, placement_sd: 0.04, round_sd: 0.05 };

    fn unbalanced_blocks(launch: usize, placement: usize) -> usize {
        // 1, 2, 3 or 5 blocks, so that placement and launch means differ widely in their own variance.
        [1, 5, 2, 3][(launch + placement) % 4]
    }

    #[rstest]
    #[case::balanced(|_, _| 2)]
    #[case::unbalanced(unbalanced_blocks)]
    fn planted_components_are_recovered(#[case] blocks: fn(usize, usize) -> usize) {
        let mut normal = Normal::seeded(5);
        let found = components(&PLANTED.paired(&mut normal, 4000, 4, blocks)).unwrap();
        let within = |found: Option<f64>, sd: f64| (found.unwrap() / sd.powi(2) - 1.0).abs() < 0.1;
        assert!(within(found.launch, PLANTED.launch_sd), "{found:?}");
        assert!(within(found.placement, PLANTED.placement_sd), "{found:?}");
        // A block is the mean of two rounds, which halves their variance.
        assert!(within(found.block, PLANTED.round_sd / 2_f64.sqrt()), "{found:?}");
    }

    #[test]
    fn placements_of_unequal_number_leave_the_estimators_unbiased() {
        let mut normal = Normal::seeded(6);
        let mut paired = PLANTED.paired(&mut normal, 4000, 8, unbalanced_blocks);
        for (index, launch) in paired.launches.iter_mut().enumerate() {
            launch.placements.truncate([2, 8, 3, 1][index % 4]);
        }
        let found = components(&paired).unwrap();
        assert!((found.launch.unwrap() / PLANTED.launch_sd.powi(2) - 1.0).abs() < 0.15, "{found:?}");
        assert!((found.placement.unwrap() / PLANTED.placement_sd.powi(2) - 1.0).abs() < 0.1, "{found:?}");
    }

    proptest! {
        #[test]
        fn a_common_shift_leaves_the_components_alone(
            values in prop::collection::vec(-1.0..1.0, 12),
            shift in -5.0..5.0,
        ) {
            let build = |shift: f64| {
                let v: Vec<f64> = values.iter().map(|value| value + shift).collect();
                let blocks = |range: std::ops::Range<usize>| v[range].to_vec();
                paired(&[vec![blocks(0..3), blocks(3..5)], vec![blocks(5..6), blocks(6..10), blocks(10..12)]])
            };
            let (plain, shifted) = (components(&build(0.0)).unwrap(), components(&build(shift)).unwrap());
            for (a, b) in [
                (plain.launch, shifted.launch),
                (plain.placement, shifted.placement),
                (plain.block, shifted.block),
            ] {
                prop_assert!((a.unwrap() - b.unwrap()).abs() < 1e-12);
                prop_assert!(a.unwrap() >= 0.0);
            }
        }
    }
}
