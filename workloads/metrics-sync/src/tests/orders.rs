//! Runs the kernel under random orders.

use perfharness_gpu::{Gpu, GpuOptions};
use perfharness_wgsl_check::Checker;

use super::support::{SEED, benches};

#[test]
fn every_variant_is_right_in_every_order() {
    Checker::passes(0..3, || {
        let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
        for (variant, mut bench) in benches(&gpu, 3, SEED) {
            assert!(bench.checked(1).passed, "{variant}");
        }
    });
}
