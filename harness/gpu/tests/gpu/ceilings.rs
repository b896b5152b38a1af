//! Ceilings of the device, on any adapter. The tests only check that the figures exist, are positive, and stay below
//! those of any real machine, which finds kernels that a compiler has emptied.

use perfharness_gpu::DeviceCeilings;
use perfharness_gpu::testing::require_adapter;

#[test]
fn a_device_has_ceilings_that_no_empty_kernel_reaches() {
    let Some(gpu) = require_adapter() else { return };
    let measured = DeviceCeilings::measure(&gpu).unwrap();
    let DeviceCeilings { copy, upload, download, operations, half_operations, sync_ns, dispatch_ns, .. } =
        measured;
    let DeviceCeilings { staging_fill, staging_copy, .. } = measured;
    let parts = [staging_fill, staging_copy.unwrap_or(1.0), half_operations.unwrap_or(1.0)];
    for rate in [copy, upload, download, operations].into_iter().chain(parts) {
        assert!(rate > 0.0 && rate.is_finite(), "{rate}");
    }
    // A wait needs a round trip to the device, and even the cheapest dispatch passes through a queue.
    assert!(sync_ns > 100.0 && dispatch_ns > 1.0, "{sync_ns} {dispatch_ns}");
    if gpu.facts().kind == perfharness_gpu::AdapterKind::Software {
        // A core does at most a few hundred operations per nanosecond.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        assert!(operations < cores * 200e9, "{operations} operations a second on {cores} cores");
    }
}
