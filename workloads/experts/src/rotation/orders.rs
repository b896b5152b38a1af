//! Runs the kernels under random orders.

use perfharness_wgsl_check::Checker;

use super::tests::placed;
use super::*;

fn is_right<V: Variant>(params: &Params) {
    let mut placement = placed::<V>(params, Batch::new(3, 2, params));
    placement.run(0).unwrap();
    let check = placement.check(0).unwrap();
    assert!(check.passed, "{params:?}: {check:?}");
}

#[test]
fn losses_without_a_head_are_right_in_every_order() {
    Checker::passes(0..1, || {
        let params = Params::new(64, 1, 0);
        is_right::<InTurn>(&params);
        is_right::<Joint>(&params);
    });
}

#[test]
fn losses_with_a_head_are_right_in_every_order() {
    Checker::passes(0..1, || {
        let params = Params::new(64, 1, 65);
        is_right::<InTurn>(&params);
        is_right::<Reused>(&params);
    });
}
