use crate::{Allocation, Components};

/// The cost of one more of each level, all in the same unit, usually seconds. A level's cost is its own
/// overhead, without that of the levels within: starting the workers, preparing buffers and warming up,
/// running the two rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The cost of a launch without placements, `cL`.
    pub launch: f64,
    /// The cost of a placement without blocks, `cP`.
    pub placement: f64,
    /// The cost of a block, `cR`.
    pub block: f64,
}

/// Chooses, among the candidates, the allocation that gives the narrowest interval for the time spent: the one with the
/// smallest product of variance and cost,
///
/// ```text
/// (sL2 + sP2/P + sR2/(P R)) * (cL + P (cP + R cR))
/// ```
///
/// Where the candidates have every count, that is the optimum of T. Kalibera and R. Jones, "Rigorous Benchmarking in
/// Reasonable Time", ISMM 2013, <https://doi.org/10.1145/2464157.2464160>, but for rounding:
///
/// ```text
/// R* = sqrt(cP / cR * sR2 / sP2)        P* = sqrt(cL / cP * sP2 / sL2)
/// ```
///
/// All candidates are tried instead, because these formulas hold only together: where one count is held at
/// its limit, the best other count is a different one, and where a variance or cost is 0 they divide by it.
///
/// Among equals the first is taken. `None` without candidates, and if a component is absent, or a cost is negative or not
/// finite: there is nothing to choose by.
pub fn allocate(
    components: &Components,
    costs: &Costs,
    candidates: impl IntoIterator<Item = Allocation>,
) -> Option<Allocation> {
    let mut best: Option<(Allocation, f64)> = None;
    for allocation in candidates {
        let waste = waste(components, costs, allocation)?;
        // A later one has to be better by more than the rounding of the product.
        if best.is_none_or(|(_, least)| waste < least * (1.0 - 1e-9)) {
            best = waste.is_finite().then_some((allocation, waste)).or(best);
        }
    }
    best.map(|(allocation, _)| allocation)
}

/// The variance of a launch value times the cost of a launch; none if either is unknown.
fn waste(components: &Components, costs: &Costs, allocation: Allocation) -> Option<f64> {
    let known = |cost: f64| (cost.is_finite() && cost >= 0.0).then_some(cost);
    let placement = known(costs.placement)? + allocation.blocks as f64 * known(costs.block)?;
    let launch = known(costs.launch)? + allocation.placements as f64 * placement;
    Some(components.launch_variance(allocation)? * launch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const MIN: Allocation = Allocation { placements: 4, blocks: 2 };
    const MAX: Allocation = Allocation { placements: 32, blocks: 16 };

    /// Chooses among all between the smallest and the largest; the smallest, if there is nothing to choose by.
    fn allocate(components: &Components, costs: &Costs) -> Allocation {
        let all = (MIN.placements..=MAX.placements).flat_map(|placements| {
            (MIN.blocks..=MAX.blocks).map(move |blocks| Allocation { placements, blocks })
        });
        super::allocate(components, costs, all).unwrap_or(MIN)
    }

    fn known(launch: f64, placement: f64, block: f64) -> Components {
        Components { launch: Some(launch), placement: Some(placement), block: Some(block) }
    }

    const COSTS: Costs = Costs { launch: 100.0, placement: 4.0, block: 1.0 };

    #[test]
    fn the_optimum_of_kalibera_and_jones_is_found_where_no_limit_binds() {
        // R* = sqrt(4 * 36 / 4) = 6, P* = sqrt(100 / 4 * 4 / 1) = 10.
        assert_eq!(allocate(&known(1.0, 4.0, 36.0), &COSTS), Allocation { placements: 10, blocks: 6 });
    }

    #[test]
    fn without_candidates_there_is_no_answer() {
        assert_eq!(super::allocate(&known(1.0, 4.0, 36.0), &COSTS, []), None);
    }

    #[test]
    fn a_shared_machine_needs_few_blocks() {
        // Placement sd 3 %, block sd 1 %: R* = 2 * 1/3, below the minimum.
        let noise = known(0.02_f64.powi(2), 0.03_f64.powi(2), 0.01_f64.powi(2));
        // With R = 2 the best P is sqrt(100 / 6 * 9.5 / 4) = 6.3.
        assert_eq!(allocate(&noise, &COSTS), Allocation { placements: 6, blocks: MIN.blocks });
    }

    #[test]
    fn where_placements_are_held_at_their_minimum_blocks_are_chosen_for_that() {
        // R* alone would be sqrt(90 * 8) = 27. Launches dominate, though, so that neither level is worth
        // repeating.
        let costs = Costs { launch: 1.0, placement: 9.0, block: 0.1 };
        assert_eq!(allocate(&known(8.0, 0.1, 0.8), &costs), MIN);
    }

    #[rstest]
    #[case::nothing_varies(known(0.0, 0.0, 0.0), MIN)]
    #[case::only_launches_vary(known(1.0, 0.0, 0.0), MIN)]
    // With P = 4 held, R = sqrt((100 / 4 + 4) / 1 * 1 / (4 * 1)) = 2.7.
    #[case::placements_do_not_vary(known(1.0, 0.0, 1.0), Allocation { blocks: 3, ..MIN })]
    #[case::launches_do_not_vary(known(0.0, 4.0, 36.0), Allocation { blocks: 8, ..MAX })]
    #[case::only_blocks_vary(known(0.0, 0.0, 1.0), MAX)]
    #[case::blocks_vary_wildly(known(1.0, 1e-9, 1e9), MAX)]
    #[case::launch_absent(Components { launch: None, ..known(1.0, 4.0, 36.0) }, MIN)]
    #[case::placement_absent(Components { placement: None, ..known(1.0, 4.0, 36.0) }, MIN)]
    #[case::block_absent(Components { block: None, ..known(1.0, 4.0, 36.0) }, MIN)]
    #[case::not_a_number(known(f64::NAN, 4.0, 36.0), MIN)]
    fn the_edge_of_the_variances(#[case] components: Components, #[case] expected: Allocation) {
        assert_eq!(allocate(&components, &COSTS), expected);
    }

    #[rstest]
    #[case::blocks_are_free(Costs { block: 0.0, ..COSTS }, Allocation { placements: 13, ..MAX })]
    // With R = 2, P = sqrt(100 / 2 * 22 / 1) = 33, above the maximum.
    #[case::placements_are_free(
        Costs { placement: 0.0, ..COSTS },
        Allocation { blocks: MIN.blocks, ..MAX }
    )]
    // With P = 4 held, R = sqrt(4 / 1 * 36 / (4 * 1 + 4)) = 4.2.
    #[case::launches_are_free(
        Costs { launch: 0.0, ..COSTS },
        Allocation { blocks: 4, ..MIN }
    )]
    #[case::nothing_costs(Costs { launch: 0.0, placement: 0.0, block: 0.0 }, MIN)]
    #[case::negative(Costs { block: -1.0, ..COSTS }, MIN)]
    #[case::infinite(Costs { placement: f64::INFINITY, ..COSTS }, MIN)]
    #[case::not_a_number(Costs { launch: f64::NAN, ..COSTS }, MIN)]
    fn the_edge_of_the_costs(#[case] costs: Costs, #[case] expected: Allocation) {
        assert_eq!(allocate(&known(1.0, 4.0, 36.0), &costs), expected);
    }

    proptest! {
        #[test]
        fn where_the_number_of_placements_makes_no_difference_the_smallest_is_taken(
            placement_variance in 0.1..10.0, block_variance in 0.1..10.0,
            placement_cost in 0.1..10.0, block_cost in 0.1..10.0,
        ) {
            // Launches neither vary nor cost anything themselves, so that P cancels, but for rounding.
            let costs = Costs { launch: 0.0, placement: placement_cost, block: block_cost };
            let chosen = allocate(&known(0.0, placement_variance, block_variance), &costs);
            prop_assert_eq!(chosen.placements, MIN.placements);
        }

        #[test]
        fn where_no_limit_binds_the_choice_is_the_closed_form_but_for_rounding(
            blocks in 3.0..15.0_f64, placements in 5.0..31.0_f64,
            placement_variance in 0.1..10.0, placement_cost in 0.1..10.0,
            block_cost in 0.1..10.0, launch_variance in 0.1..10.0,
        ) {
            // Variances and costs that make R* and P* what they are to be.
            let block_variance = blocks * blocks * block_cost / placement_cost * placement_variance;
            let launch_cost = placements * placements * placement_cost * launch_variance / placement_variance;
            let optimum = (launch_variance + (placement_variance + block_variance / blocks) / placements)
                * (launch_cost + placements * (placement_cost + blocks * block_cost));

            let components = known(launch_variance, placement_variance, block_variance);
            let costs = Costs { launch: launch_cost, placement: placement_cost, block: block_cost };
            let chosen = allocate(&components, &costs);
            let waste = waste(&components, &costs, chosen).unwrap();
            prop_assert!(waste >= optimum * (1.0 - 1e-9), "{:?}: {} < {}", chosen, waste, optimum);
            prop_assert!(waste <= optimum * 1.02, "{:?}: {} > {}", chosen, waste, optimum);
        }
    }
}
