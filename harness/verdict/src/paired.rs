use crate::EstimateError;
use crate::summary::median;

/// The log-ratio of a round, `ln(candidate / reference)`, of two times in the same unit. Dimensionless; 0.01
/// is a candidate that takes about 1 % longer.
///
/// It is taken as a difference of logarithms, so that swapping the sides negates it exactly. A time that is
/// not positive gives a log-ratio that is not finite, which [`estimate()`](crate::estimate()) refuses by
/// naming its place.
pub fn log_ratio(candidate: f64, reference: f64) -> f64 {
    candidate.ln() - reference.ln()
}

/// Two rounds: the sides in a random order, and then in its reverse, so that a drift which is linear over the
/// block cancels in their mean. Both members are log-ratios. A round without its reverse is not a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The log-ratio of the first round.
    pub first: f64,
    /// The log-ratio of the round in reverse order.
    pub second: f64,
}

impl Block {
    /// A block of two log-ratios.
    pub fn new(first: f64, second: f64) -> Self {
        Self { first, second }
    }

    /// The value of the block: the mean of its two rounds.
    pub fn mean(&self) -> f64 {
        self.first.midpoint(self.second)
    }
}

/// The blocks measured over the same buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// The blocks, in the order of measuring.
    pub blocks: Vec<Block>,
}

/// The placements measured in one life of the workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// The placements, in the order of measuring.
    pub placements: Vec<Placement>,
    /// The side that came first.
    pub lead: Lead,
}

/// The side of a pair that was opened, prepared and warmed up first in a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lead {
    /// The candidate.
    Candidate,
    /// The reference.
    Reference,
    /// Unknown, or neither: each had a part of the launch to itself.
    #[default]
    Unknown,
}

/// All log-ratios of one candidate against one reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paired {
    /// The launches, in the order of measuring.
    pub launches: Vec<Launch>,
}

impl FromIterator<Block> for Placement {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        Self { blocks: blocks.into_iter().collect() }
    }
}

impl FromIterator<Placement> for Launch {
    fn from_iter<I: IntoIterator<Item = Placement>>(placements: I) -> Self {
        Self { placements: placements.into_iter().collect(), lead: Lead::default() }
    }
}

impl FromIterator<Launch> for Paired {
    fn from_iter<I: IntoIterator<Item = Launch>>(launches: I) -> Self {
        Self { launches: launches.into_iter().collect() }
    }
}

impl Paired {
    /// The values of all blocks in their nesting, without the placements and launches that hold none.
    pub(crate) fn block_means(&self) -> Result<Vec<Vec<Vec<f64>>>, EstimateError> {
        let mut launches = Vec::with_capacity(self.launches.len());
        for (launch, of_launch) in self.launches.iter().enumerate() {
            let mut placements = Vec::with_capacity(of_launch.placements.len());
            for (placement, Placement { blocks }) in of_launch.placements.iter().enumerate() {
                for (block, Block { first, second }) in blocks.iter().enumerate() {
                    if let Some(&value) = [first, second].into_iter().find(|value| !value.is_finite()) {
                        return Err(EstimateError::NonFiniteBlock { launch, placement, block, value });
                    }
                }
                if !blocks.is_empty() {
                    placements.push(blocks.iter().map(Block::mean).collect());
                }
            }
            if !placements.is_empty() {
                launches.push(placements);
            }
        }
        Ok(launches)
    }
}

/// One value per launch that holds a block, in the order of measuring: the median over its placements of the median of
/// their rounds. These are the independent values on which the interval and the sign-flip test stand.
///
/// Each complete block gives a placement as many rounds in one order as in the reverse, so that an advantage of going
/// first cancels in their median, too. Medians at both levels keep a few disturbed samples from moving a launch; with
/// means there, the intervals on a busy machine are several times as wide (`docs/verdict.md`).
///
/// # Errors
///
/// Returns an error if a log-ratio is not finite. No launches at all are not an error here.
pub fn launch_values(paired: &Paired) -> Result<Vec<f64>, EstimateError> {
    // Refuses what is not finite, by its place.
    paired.block_means()?;
    Ok(led_values(paired).into_iter().map(|(value, _)| value).collect())
}

/// The launch values of log-ratios that are finite, each with the side that led.
pub(crate) fn led_values(paired: &Paired) -> Vec<(f64, Lead)> {
    paired.launches.iter().filter_map(|launch| Some((launch_value(launch)?, launch.lead))).collect()
}

fn launch_value(launch: &Launch) -> Option<f64> {
    let rounds = |placement: &Placement| -> Vec<f64> {
        placement.blocks.iter().flat_map(|block| [block.first, block.second]).collect()
    };
    // A placement without blocks has no median, and is left out.
    let medians: Vec<f64> = launch.placements.iter().filter_map(|p| median(&rounds(p))).collect();
    median(&medians)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn placement(blocks: &[(f64, f64)]) -> Placement {
        blocks.iter().map(|&(first, second)| Block::new(first, second)).collect()
    }

    fn launch(placements: &[&[(f64, f64)]]) -> Launch {
        placements.iter().map(|blocks| placement(blocks)).collect()
    }

    #[test]
    fn a_launch_is_the_median_of_its_placements_and_a_placement_that_of_its_rounds() {
        // Rounds 1, 3, 80, 100 have the median 41.5, and the means of their blocks another one, 46.
        let rounds = launch(&[&[(1.0, 3.0), (80.0, 100.0)]]);
        // Placements 2, 4, 90 have the median 4.
        let placements = launch(&[&[(1.0, 3.0)], &[(4.0, 4.0)], &[(80.0, 100.0)]]);
        let paired: Paired = [rounds, placements].into_iter().collect();
        assert_eq!(launch_values(&paired), Ok(vec![41.5, 4.0]));
    }

    #[test]
    fn an_advantage_of_going_first_cancels_whatever_the_number_of_blocks() {
        for blocks in 1..=5 {
            let ordered: Vec<(f64, f64)> = (0..blocks).map(|_| (0.02 + 0.5, 0.02 - 0.5)).collect();
            let paired: Paired = [launch(&[&ordered])].into_iter().collect();
            let value = launch_values(&paired).unwrap()[0];
            assert!((value - 0.02).abs() < 1e-12, "{blocks} blocks: {value}");
        }
    }

    #[test]
    fn one_disturbed_sample_in_a_placement_hardly_moves_it() {
        let paired: Paired = [launch(&[&[(0.01, 0.02), (0.03, 5.0)]])].into_iter().collect();
        assert!((launch_values(&paired).unwrap()[0] - 0.025).abs() < 1e-12);
    }

    #[test]
    fn launches_and_placements_without_blocks_give_no_value() {
        let paired: Paired =
            [Launch::default(), launch(&[&[], &[(1.0, 1.0)]]), launch(&[&[]])].into_iter().collect();
        assert_eq!(launch_values(&paired), Ok(vec![1.0]));
        assert_eq!(launch_values(&Paired::default()), Ok(vec![]));
    }

    #[rstest]
    #[case::first_round((f64::NAN, 0.0))]
    #[case::second_round((0.0, f64::INFINITY))]
    #[case::reference_time_of_zero((log_ratio(1.0, 0.0), 0.0))]
    #[case::candidate_time_of_zero((log_ratio(0.0, 1.0), 0.0))]
    #[case::negative_time((log_ratio(-1.0, 1.0), 0.0))]
    fn a_log_ratio_that_is_not_finite_is_named_by_its_place(#[case] bad: (f64, f64)) {
        let good = (0.0, 0.0);
        let paired: Paired =
            [launch(&[&[good]]), launch(&[&[], &[good, good], &[good, bad, good]])].into_iter().collect();
        let error = launch_values(&paired).unwrap_err();
        assert!(
            matches!(error, EstimateError::NonFiniteBlock { launch: 1, placement: 2, block: 1, .. }),
            "{error}"
        );
        assert!(error.to_string().starts_with("launch 1, placement 2, block 1 "), "{error}");
    }

    #[rstest]
    #[case::slower(1.05, 1.0)]
    #[case::thirds(1.0, 3.0)]
    #[case::nanoseconds(123_456_789.0, 123_456_788.0)]
    fn swapping_the_sides_negates_the_log_ratio_exactly(#[case] candidate: f64, #[case] reference: f64) {
        assert_eq!(log_ratio(candidate, reference), -log_ratio(reference, candidate));
        assert!((log_ratio(candidate, reference).exp() - candidate / reference).abs() < 1e-13);
    }
}
