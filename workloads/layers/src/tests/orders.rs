//! Runs every kernel under random orders.

use perfharness_gpu::GpuOptions;
use perfharness_wgsl_check::Checker;

use super::*;

fn in_every_order(test: impl Fn(&Gpu)) {
    Checker::passes(0..1, || test(&Gpu::new("auto", &GpuOptions::default()).unwrap()));
}

#[test]
fn products_are_right_in_every_order() {
    in_every_order(|gpu| product::agree_in_every_form(gpu, &[(2, 5, 7, 3), (1, 33, 18, 66)]));
}

#[test]
fn attention_is_right_in_every_order() {
    in_every_order(|gpu| {
        attention::agrees_in_layouts(gpu, 17);
        attention::agrees_with_a_cache(gpu, 20, 2);
    });
}

#[test]
fn masks_are_right_in_every_order() {
    in_every_order(dropout::draws_the_masks_of_the_host);
}

#[test]
fn norms_and_softmax_are_right_in_every_order() {
    in_every_order(|gpu| {
        rows::softmax_agrees(gpu, 65);
        rows::norm_agrees(gpu, 65);
    });
}
