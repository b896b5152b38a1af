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

/// Draws an order of so many things.
fn random_order(seed: u64, stream: &str, draw: u64, count: usize) -> Vec<usize> {
    let mut rng = input_rng(seed, &format!("order/{stream}"), draw);
    let mut order: Vec<usize> = (0..count).collect();
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
    let order = random_order(seed, &format!("parts/{stream}"), u64::from(launch / 2), parts);
    reversed_if(launch % 2 == 1, order)
}

/// Returns the order of all sides of a case in one placement: who is prepared, warmed up and timed first, and in the first
/// placement also who is opened first.
///
/// It is drawn for a pair of placements in a pair of launches, and reversed in the second of each. So each side comes first
/// as often as any other, and whatever one launch does, the other of its pair does in reverse. It is drawn for all sides,
/// whether or not they are alive, so that it stays the reverse after one of them failed.
pub(super) fn placement_order(seed: u64, stream: &str, place: PlacementRounds, sides: usize) -> Vec<usize> {
    let PlacementRounds { launch, placement } = place;
    let pair = u64::from(launch / 2) * PLACEMENTS + u64::from(placement / 2);
    let order = random_order(seed, &format!("placement/{stream}"), pair, sides);
    reversed_if(launch % 2 != placement % 2, order)
}

/// Returns the order of a block, which is that of its placement or its reverse in turns.
pub(super) fn block_order(placement: &[usize], block: u32) -> Vec<usize> {
    reversed_if(block % 2 == 1, placement.to_vec())
}

fn reversed_if(reversed: bool, mut order: Vec<usize>) -> Vec<usize> {
    if reversed {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64, launch: u32, placement: u32) -> Vec<usize> {
        placement_order(seed, "w/c", PlacementRounds { launch, placement }, 3)
    }

    #[test]
    fn every_order_of_three_sides_comes_up() {
        let orders: std::collections::BTreeSet<Vec<usize>> =
            (0..200).map(|launch| order(1, launch, 0)).collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn an_order_is_a_function_of_its_place() {
        let orders = |seed| (0..40).map(|launch| order(seed, launch, 2)).collect::<Vec<_>>();
        assert_eq!(orders(7), orders(7));
        assert_ne!(orders(7), orders(8));
        assert_ne!((0..40).map(|launch| order(7, launch, 0)).collect::<Vec<_>>(), orders(7));
    }

    #[test]
    fn the_second_placement_and_the_second_launch_of_a_pair_are_the_reverse_of_the_first() {
        for (launch, placement) in (0..20).flat_map(|launch| (0..8).map(move |placement| (launch, placement)))
        {
            let reverse: Vec<usize> = order(3, launch, placement).into_iter().rev().collect();
            assert_eq!(order(3, launch ^ 1, placement), reverse, "launch {launch}, placement {placement}");
            assert_eq!(order(3, launch, placement ^ 1), reverse, "launch {launch}, placement {placement}");
        }
    }

    #[test]
    fn every_second_block_begins_with_the_side_that_came_last() {
        let orders = [0, 1, 2].map(|block| block_order(&[2, 0, 1], block));
        assert_eq!(orders, [[2, 0, 1], [1, 0, 2], [2, 0, 1]]);
    }

    #[test]
    fn the_parts_of_a_launch_follow_in_reverse_in_the_next() {
        let parts = |launch| part_order(1, "w/c", launch, 4);
        for launch in [0, 2, 4] {
            assert_eq!(parts(launch + 1), parts(launch).into_iter().rev().collect::<Vec<_>>());
        }
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
