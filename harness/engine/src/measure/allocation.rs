//! Choice of the placements and blocks of the next launch.

use perfharness_verdict::{Allocation, Components, Costs, allocate};

use super::event::LaunchTiming;

/// Launches before the components of the variance are used: the variance between launches needs two.
pub(super) const PILOT_LAUNCHES: usize = 2;
/// Allocation of the first launches: small, and shows every component of the variance.
const PILOT: Allocation = Allocation { placements: 4, blocks: 2 };

/// Placements that a launch may have: an even number, in which each order has its reverse, or one. A short pilot often shows
/// no variance between launches, so that placements within one launch would look as good as launches: hence no more.
const PLACEMENTS: [usize; 5] = [1, 2, 4, 6, 8];
/// Most blocks of a placement.
const MOST_BLOCKS: usize = 16;
/// Fewest blocks of a launch of one placement. The median of their rounds is not moved by one that went wrong.
const FEWEST_BLOCKS: usize = 3;

/// Components in the proportion that the built-in workloads have: launches 40 %, placements 18 %, and blocks 42 % of the
/// variance of a launch of the pilot's size.
const USUAL: Components = Components { launch: Some(0.40), placement: Some(0.72), block: Some(3.36) };
/// Variance that is due to the rounding of figures.
const NOTHING: f64 = 1e-15;
/// Launches that the usual proportion counts as: a few launches show their own proportion badly.
const USUAL_COUNTS_AS: f64 = 4.0;

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

/// Chooses the allocation of the next launch: the one with the narrowest interval for the time among those of which
/// `launches` fit into `left_ns`. `components` were found in `pilots` launches.
///
/// Where start-up dominates, that means more blocks, and where placements are expensive, fewer of them. If none fits, it is
/// the smallest that does not rest on a single block, unless one block already takes as long as a launch should.
pub(super) fn choose(
    components: Option<(&Components, usize)>,
    costs: Option<&Costs>,
    launches: usize,
    left_ns: u64,
) -> Allocation {
    let Some(costs) = costs else { return PILOT };
    let share_ns = left_ns as f64 / launches as f64;
    let fits = |a: &Allocation| launch_cost(costs, *a) <= share_ns;
    let known = components.and_then(|(found, pilots)| mixed(found, pilots));
    if known.is_none() && fits(&PILOT) {
        return PILOT;
    }
    let all = PLACEMENTS.into_iter().flat_map(|placements| {
        let fewest = if placements == 1 { FEWEST_BLOCKS } else { 2 };
        (fewest..=MOST_BLOCKS).map(move |blocks| Allocation { placements, blocks })
    });
    allocate(&known.unwrap_or(USUAL), costs, all.filter(fits)).unwrap_or_else(|| {
        let small = [FEWEST_BLOCKS, 2].map(|blocks| Allocation { placements: 1, blocks });
        let blocks = if costs.block > share_ns { 1 } else { 2 };
        small.into_iter().find(fits).unwrap_or(Allocation { placements: 1, blocks })
    })
}

/// Returns the components with the usual proportion mixed in; `None` if any is absent or nothing varies.
fn mixed(found: &Components, pilots: usize) -> Option<Components> {
    let variance = found.launch_variance(PILOT).filter(|variance| *variance > NOTHING)?;
    let scale = variance / USUAL.launch_variance(PILOT)?;
    let weight = pilots as f64 / (pilots as f64 + USUAL_COUNTS_AS);
    let mix =
        |found: Option<f64>, usual: Option<f64>| Some(weight * found? + (1.0 - weight) * scale * usual?);
    Some(Components {
        launch: mix(found.launch, USUAL.launch),
        placement: mix(found.placement, USUAL.placement),
        block: mix(found.block, USUAL.block),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { launch: 10.0, placement: 5.0, block: 1.0 };

    fn shape(placements: usize, blocks: usize) -> Allocation {
        Allocation { placements, blocks }
    }

    /// Components of a pilot of many launches.
    fn known(launch: f64, placement: f64, block: f64) -> Components {
        Components { launch: Some(launch), placement: Some(placement), block: Some(block) }
    }

    const PLENTY: u64 = 1_000_000;

    #[test]
    fn the_first_launches_are_a_pilot() {
        assert_eq!(choose(None, None, 8, 0), PILOT);
        assert_eq!(choose(None, Some(&COSTS), 8, PLENTY), PILOT);
        // Nothing varies, or a component is unknown.
        let nothing = known(0.0, 0.0, 0.0);
        assert_eq!(choose(Some((&nothing, 9)), Some(&COSTS), 8, PLENTY), PILOT);
        let unknown = Components { placement: None, ..known(1.0, 1.0, 1.0) };
        assert_eq!(choose(Some((&unknown, 9)), Some(&COSTS), 8, PLENTY), PILOT);
    }

    #[test]
    fn the_usual_proportion_is_that_of_the_pilot() {
        assert!((USUAL.launch_variance(PILOT).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn where_start_up_dominates_time_goes_to_blocks() {
        let noise = known(0.4, 0.72, 3.36);
        let chosen = |launch, placement| {
            let costs = Costs { launch, placement, block: 1.0 };
            choose(Some((&noise, 16)), Some(&costs), 16, PLENTY)
        };
        let cheap = chosen(10.0, 1.0);
        let expensive = chosen(100.0, 30.0);
        assert!(expensive.blocks >= 8 && expensive.blocks > 2 * cheap.blocks, "{expensive:?} {cheap:?}");
        assert!(expensive.placements <= cheap.placements, "{expensive:?} {cheap:?}");
    }

    #[test]
    fn few_launches_do_not_decide_against_the_usual() {
        // Two launches that happened to agree seem to say that all is in the blocks.
        let lucky = known(0.0, 0.0, 1.0);
        let after = |pilots| choose(Some((&lucky, pilots)), Some(&COSTS), 16, PLENTY);
        assert_eq!(after(1_000), shape(8, 16));
        assert!(after(2).blocks * after(2).placements < 40, "{:?}", after(2));
    }

    #[test]
    fn a_tight_budget_gives_up_expensive_placements_before_blocks() {
        let expensive = Costs { launch: 10.0, placement: 20.0, block: 1.0 };
        let at = |costs: &Costs, budget: f64| choose(None, Some(costs), 8, (budget * 8.0) as u64);
        assert_eq!(at(&COSTS, launch_cost(&COSTS, PILOT)), PILOT);
        let tight = at(&expensive, 60.0);
        assert!(tight.placements <= 2 && tight.blocks >= 5, "{tight:?}");
        let all: Vec<Allocation> = (19..100).map(|budget| at(&expensive, f64::from(budget))).collect();
        for Allocation { placements, blocks } in all {
            assert!(placements == 1 || placements % 2 == 0);
            assert!((2..=MOST_BLOCKS).contains(&blocks) && placements * blocks >= 2);
        }
    }

    #[test]
    fn a_launch_has_a_single_block_only_if_that_takes_longer_than_its_share() {
        let at = |budget: f64| choose(None, Some(&COSTS), 8, (budget * 8.0) as u64);
        assert_eq!([18.0, 17.0, 5.0].map(at), [shape(1, 3), shape(1, 2), shape(1, 2)]);
        assert_eq!(at(0.5), shape(1, 1));
    }

    #[test]
    fn costs_are_averages_over_the_launches_so_far() {
        let timing = LaunchTiming {
            total_ns: 100,
            placements_ns: 40,
            blocks_ns: 20,
            placements: 4,
            blocks: 10,
            ..LaunchTiming::default()
        };
        let together = costs(&[timing, timing], 1).unwrap();
        assert_eq!((together.launch, together.placement, together.block), (40.0, 10.0, 2.0));
        let in_two_parts = costs(&[timing, timing], 2).unwrap();
        assert_eq!((in_two_parts.launch, in_two_parts.placement, in_two_parts.block), (40.0, 20.0, 4.0));
        assert!(costs(&[], 1).is_none());
        assert!(costs(&[LaunchTiming { total_ns: 9, ..LaunchTiming::default() }], 1).is_none());
    }
}
