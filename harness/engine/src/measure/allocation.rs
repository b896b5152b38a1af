//! Choice of the placements and blocks of the next launch.

use perfharness_verdict::{Allocation, Components, Costs, allocate};

use super::event::LaunchTiming;

/// Launches before the components of the variance are used: the variance between launches needs two.
pub(super) const PILOT_LAUNCHES: usize = 2;
/// Allocation of the first launches: the smallest that shows every component of the variance.
const PILOT: Allocation =
    Allocation { placements: perfharness_verdict::MIN_PLACEMENTS, blocks: perfharness_verdict::MIN_BLOCKS };

/// Most placements of a launch. A short pilot often shows no variance between launches, so that placements within one
/// launch would look as good as launches.
const MOST_PLACEMENTS: usize = 8;
/// Most blocks of a placement. For noisy rounds the formula asks for many, and a run without a time budget would take them.
const MOST_BLOCKS: usize = 4;

/// Returns the costs of the levels, from the launches so far; `None` before the first has ended. A launch makes each of its
/// placements once in each of its `parts`.
pub(super) fn costs(timings: &[LaunchTiming], parts: usize) -> Option<Costs> {
    let sum = |f: fn(&LaunchTiming) -> u64| timings.iter().map(f).sum::<u64>() as f64;
    let launches = timings.len() as f64;
    let placements = sum(|t| u64::from(t.placements));
    let blocks = sum(|t| u64::from(t.blocks));
    if placements == 0.0 || blocks == 0.0 {
        return None;
    }
    let (total, in_placements, in_blocks) =
        (sum(|t| t.total_ns), sum(|t| t.placements_ns), sum(|t| t.blocks_ns));
    Some(Costs {
        launch: (total - in_placements - in_blocks).max(0.0) / launches,
        placement: parts as f64 * in_placements / placements,
        block: parts as f64 * in_blocks / blocks,
    })
}

/// Returns the expected time of a launch, in the unit of the costs.
pub(super) fn launch_cost(costs: &Costs, allocation: Allocation) -> f64 {
    let placement = costs.placement + allocation.blocks as f64 * costs.block;
    costs.launch + allocation.placements as f64 * placement
}

/// Chooses the allocation of the next launch: the one with the narrowest interval for the time, reduced until `launches`
/// of them fit into `left_ns`. Placements below the statistical minimum are given up last, because more launches are worth
/// more than more of anything within a launch.
pub(super) fn choose(
    components: Option<&Components>,
    costs: Option<&Costs>,
    launches: usize,
    left_ns: u64,
) -> Allocation {
    let Some(costs) = costs else { return PILOT };
    let mut allocation = components.map_or(PILOT, |components| allocate(components, costs));
    // An even number, in which each order has its reverse.
    allocation.placements = allocation.placements.next_multiple_of(2).min(MOST_PLACEMENTS);
    allocation.blocks = allocation.blocks.min(MOST_BLOCKS);
    let fits = |a: Allocation| launch_cost(costs, a) * launches as f64 <= left_ns as f64;
    while !fits(allocation) {
        let Allocation { placements, blocks } = &mut allocation;
        if *blocks > perfharness_verdict::MIN_BLOCKS {
            *blocks -= 1;
        } else if *placements > 2 {
            *placements -= 2;
        } else if *blocks > 1 {
            *blocks -= 1;
        } else if *placements > 1 {
            *placements -= 1;
        } else {
            break;
        }
    }
    allocation
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { launch: 10.0, placement: 5.0, block: 1.0 };

    #[test]
    fn the_first_launch_is_a_pilot() {
        assert_eq!(choose(None, None, 8, 0), PILOT);
        assert_eq!(choose(None, Some(&COSTS), 8, 1_000_000), PILOT);
    }

    #[test]
    fn a_tight_budget_cuts_blocks_then_placements_then_the_rest() {
        let cost = launch_cost(&COSTS, PILOT);
        let at = |budget: f64| choose(None, Some(&COSTS), 8, (budget * 8.0) as u64);
        assert_eq!(at(cost), PILOT);
        assert_eq!(at(cost - 1.0), Allocation { placements: 2, blocks: 2 });
        assert_eq!(at(23.0), Allocation { placements: 2, blocks: 1 });
        assert_eq!(at(1.0), Allocation { placements: 1, blocks: 1 });
    }

    #[test]
    fn costs_are_averages_over_the_launches_so_far() {
        let timing =
            LaunchTiming { total_ns: 100, placements_ns: 40, blocks_ns: 20, placements: 4, blocks: 10 };
        let together = costs(&[timing, timing], 1).unwrap();
        assert_eq!((together.launch, together.placement, together.block), (40.0, 10.0, 2.0));
        let in_two_parts = costs(&[timing, timing], 2).unwrap();
        assert_eq!((in_two_parts.launch, in_two_parts.placement, in_two_parts.block), (40.0, 20.0, 4.0));
        assert!(costs(&[], 1).is_none());
        assert!(costs(&[LaunchTiming { total_ns: 9, ..LaunchTiming::default() }], 1).is_none());
    }
}
