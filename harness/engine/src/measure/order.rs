//! Orders and round numbers: functions of the seed and the position in the plan, so that a resumed run draws the same as
//! an uninterrupted one.

use perfharness_contract::input_rng;
use rand_pcg::rand_core::Rng as _;

/// Round numbers of one placement.
const ROUNDS: u64 = 1_000;
/// Placements of one launch, at most.
const PLACEMENTS: u64 = 1_000;
/// First numbers of the rounds for warm-up, checks and metered samples within a placement.
const WARM_UP: u64 = 500;
const CHECK: u64 = 900;
const METERED: u64 = 950;

/// Round numbers of one placement.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacementRounds {
    pub(super) launch: u32,
    pub(super) placement: u32,
}

impl PlacementRounds {
    fn base(self) -> u64 {
        (u64::from(self.launch) * PLACEMENTS + u64::from(self.placement)) * ROUNDS
    }

    /// Returns the number of a timed round; `half` is 0 for the first round of a block, 1 for its reverse.
    pub(super) fn round(self, block: u32, half: u32) -> u64 {
        self.base() + (u64::from(block) * 2 + u64::from(half)).min(WARM_UP - 1)
    }

    /// Returns the number of the round of a warm-up batch.
    pub(super) fn warm_up_round(self, batch: usize) -> u64 {
        self.base() + WARM_UP + (batch as u64).min(CHECK - WARM_UP - 1)
    }

    /// Returns the number of the round of a check.
    pub(super) fn check_round(self, number: u32) -> u64 {
        self.base() + CHECK + u64::from(number).min(METERED - CHECK - 1)
    }
}

/// Round of every metered sample. All launches share it and so its input, because counts that depend on the input, such
/// as bytes written, must be equal between launches.
pub(super) const METERED_ROUND: u64 = METERED;

/// Draws an order of `sides` for one block.
pub(super) fn block_order(seed: u64, stream: &str, round: u64, sides: &[usize]) -> Vec<usize> {
    let mut rng = input_rng(seed, &format!("order/{stream}"), round);
    let mut order = sides.to_vec();
    // Fisher-Yates; the bias of the modulo is below 2^-60 for any number of sides.
    for i in (1..order.len()).rev() {
        let j = (rng.next_u64() % (i as u64 + 1)) as usize;
        order.swap(i, j);
    }
    order
}

/// Returns the order of the parts of a launch: random for one launch and its reverse for the next, so that neither a drift
/// nor an effect of earlier parts favours a side that comes early.
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
        let place = PlacementRounds { launch: 3, placement: 2 };
        let next = PlacementRounds { launch: 3, placement: 3 };
        assert!(place.round(200, 1) < place.warm_up_round(0));
        assert!(place.warm_up_round(10_000) < place.check_round(0));
        assert!(place.check_round(1_000) < next.round(0, 0));
        let first = PlacementRounds { launch: 0, placement: 0 };
        assert!(first.check_round(1_000) < METERED_ROUND);
        assert!(METERED_ROUND < PlacementRounds { launch: 0, placement: 1 }.round(0, 0));
    }
}
