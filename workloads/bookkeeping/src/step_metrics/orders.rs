//! Runs the kernels under random orders.

use perfharness_wgsl_check::Checker;

use super::*;

fn is_right<D: Delivery>(new: impl FnOnce(&Gpu) -> Result<D, GpuError>) {
    let pool = Experts::pool(7, 3);
    let mut placement = Loop::new(&Params { steps: 1 }, &Setup::new(1, "auto", "."), new).unwrap();
    placement.training.load(&pool).unwrap();
    placement.pool = pool;
    placement.run(0).unwrap();
    let check = placement.check(0).unwrap();
    assert!(check.passed, "{check:?}");
}

#[test]
fn metrics_are_right_in_every_order() {
    Checker::passes(0..1, || {
        is_right(|gpu| Items::new(gpu, ALWAYS));
        is_right(Late::new);
    });
}
