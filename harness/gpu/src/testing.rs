//! Adapters for tests of what needs one: a test is skipped where there is none, visibly and counted, and fails where
//! `PERFHARNESS_REQUIRE_ADAPTER` is set.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_platform::env;

use crate::{Gpu, GpuError, GpuOptions};

/// A device of the best adapter, or `None` where a test has to be skipped.
pub fn require_adapter() -> Option<Gpu> {
    require_adapter_with(&GpuOptions::default())
}

/// Like [`require_adapter`], with options.
///
/// # Panics
/// When there must be an adapter and is none, or the one there is does not open.
pub fn require_adapter_with(options: &GpuOptions) -> Option<Gpu> {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    match Gpu::new("auto", options) {
        Ok(gpu) => Some(gpu),
        Err(error @ GpuError::NoAdapter { .. }) => {
            assert!(!env::is_set_nonempty("PERFHARNESS_REQUIRE_ADAPTER"), "{error}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            // Not `eprintln`, which the test runner keeps to itself where a test passes.
            let _ = writeln!(std::io::stderr(), "skipped ({skipped} so far): {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
