//! Runs the kernels under random orders.

use perfharness_wgsl_check::Checker;

use super::*;

#[test]
fn losses_are_right_in_every_order() {
    Checker::passes(0..1, || first_k::all_are_right(&first_k::params(TINY, 2, 2, 1)));
}

#[test]
fn generated_tokens_are_right_in_every_order() {
    Checker::passes(0..1, || kv_cache::all_are_right(&kv_cache::params(TINY, 2, 2)));
}
