//! Adapters for tests that need one. A test is skipped if there is none, visibly and counted, and fails if
//! `PERFHARNESS_REQUIRE_ADAPTER` is set.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_platform::env;

use crate::{Gpu, GpuError, GpuOptions};

/// Returns a device of the best adapter, or `None` if the test has to be skipped.
pub fn require_adapter() -> Option<Gpu> {
    require_adapter_with(&GpuOptions::default())
}

/// Like [`require_adapter`], with options.
///
/// # Panics
/// Panics if an adapter is required but missing, or does not open.
pub fn require_adapter_with(options: &GpuOptions) -> Option<Gpu> {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    match Gpu::new("auto", options) {
        Ok(gpu) => Some(gpu),
        Err(error @ GpuError::NoAdapter { .. }) => {
            assert!(!env::is_set_nonempty("PERFHARNESS_REQUIRE_ADAPTER"), "{error}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            // Not `eprintln`, because the test runner captures it when a test passes.
            let _ = writeln!(std::io::stderr(), "skipped ({skipped} so far): {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
