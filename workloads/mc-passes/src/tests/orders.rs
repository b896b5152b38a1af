//! Runs the kernels under random orders.

use perfharness_gpu::GpuOptions;
use perfharness_wgsl_check::Checker;

use super::*;

fn are_right(size: usize, variants: &[&str]) {
    Checker::passes(0..1, || {
        let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
        results::variants_are_right(&gpu, &Params::new(size, 1, 2, 1, 1, BUDGET), variants);
    });
}

#[test]
fn variants_in_single_precision_are_right_in_every_order() {
    are_right(32, &[SLOW, DOCUMENTED, OPTIMIZED, FUSED, UNIFIED, PREFIX_ONCE]);
}

#[test]
fn the_variant_in_half_precision_is_right_in_every_order() {
    // The tolerance is that of a mean over many tokens, of which a smaller image has one.
    are_right(128, &[HALF]);
}
