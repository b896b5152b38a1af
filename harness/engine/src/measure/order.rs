//! Orders and round numbers: functions of the seed and the place in the plan, so that a resumed run draws what the
//! uninterrupted one would have.

use perfharness_contract::input_rng;
use rand_pcg::rand_core::Rng as _;

/// Room for the rounds of one placement.
const ROUNDS: u64 = 1_000;
/// Room for the placements of one launch.
const PLACEMENTS: u64 = 1_000;
/// First number of the rounds of warm-up, checks and metered samples within a placement's room.
const WARM_UP: u64 = 500;
const CHECK: u64 = 900;
const METERED: u64 = 950;

/// Where rounds belong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) launch: u32,
    pub(super) placement: u32,
}

impl Place {
    fn base(self) -> u64 {
        (u64::from(self.launch) * PLACEMENTS + u64::from(self.placement)) * ROUNDS
    }

    /// Number of a timed round; `half` is 0 for the first round of a block, 1 for its reverse.
    pub(super) fn round(self, block: u32, half: u32) -> u64 {
        self.base() + (u64::from(block) * 2 + u64::from(half)).min(WARM_UP - 1)
    }

    pub(super) fn warm_up_round(self, batch: usize) -> u64 {
        self.base() + WARM_UP + (batch as u64).min(CHECK - WARM_UP - 1)
    }

    pub(super) fn check_round(self, number: u32) -> u64 {
        self.base() + CHECK + u64::from(number).min(METERED - CHECK - 1)
    }
}

/// The round of every metered sample. It is the same in all launches, and so is its input: counts that depend on the
/// input, such as bytes written, are exact all the same.
pub(super) const METERED_ROUND: u64 = METERED;

/// A random order of `sides` for one block.
pub(super) fn block_order(seed: u64, stream: &str, round: u64, sides: &[usize]) -> Vec<usize> {
    let mut rng = input_rng(seed, &format!("order/{stream}"), round);
    let mut order = sides.to_vec();
    // Fisher and Yates; the modulo's bias is below 2^-60 for any number of sides.
    for i in (1..order.len()).rev() {
        let j = (rng.next_u64() % (i as u64 + 1)) as usize;
        order.swap(i, j);
    }
    order
}

/// The order of the parts of a launch: random for one launch, and its reverse for the next, so that neither a drift nor
/// what the parts before it leave behind favours a side whose turn comes earlier.
pub(super) fn part_order(seed: u64, stream: &str, launch: u32, parts: usize) -> Vec<usize> {
    let parts: Vec<usize> = (0..parts).collect();
    let mut order = block_order(seed, &format!("parts/{stream}"), u64::from(launch / 2), &parts);
    if launch % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_sides_comes_up() {
        let orders: std::collections::BTreeSet<Vec<usize>> =
            (0..200).map(|round| block_order(1, "w/c", round, &[0, 1, 2])).collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn an_order_is_a_function_of_its_place() {
        let order = |round| block_order(7, "w/c", round, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(3), order(3));
        assert_ne!(order(3), order(4));
    }

    #[test]
    fn rounds_of_different_purposes_never_meet() {
        let place = Place { launch: 3, placement: 2 };
        let next = Place { launch: 3, placement: 3 };
        assert!(place.round(200, 1) < place.warm_up_round(0));
        assert!(place.warm_up_round(10_000) < place.check_round(0));
        assert!(place.check_round(1_000) < next.round(0, 0));
        let first = Place { launch: 0, placement: 0 };
        assert!(first.check_round(1_000) < METERED_ROUND);
        assert!(METERED_ROUND < Place { launch: 0, placement: 1 }.round(0, 0));
    }
}
