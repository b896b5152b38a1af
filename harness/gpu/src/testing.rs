//! Adapters for tests that need one. A test is skipped if there is none, visibly and counted, and fails if
//! `PERFHARNESS_REQUIRE_ADAPTER` is set. A test may also bring an adapter of its own.

use std::cell::RefCell;
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_platform::env;

use crate::{Gpu, GpuError, GpuOptions};

thread_local! {
    static OWN: RefCell<Option<wgpu::Adapter>> = const { RefCell::new(None) };
}

/// Runs a test in which every device that this thread opens is one of this adapter, whatever the test asks for.
pub fn with_adapter<T>(adapter: wgpu::Adapter, test: impl FnOnce() -> T) -> T {
    /// Puts the adapter from before back, also when the test panics.
    struct Restore(Option<wgpu::Adapter>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OWN.set(self.0.take());
        }
    }
    let _restore = Restore(OWN.replace(Some(adapter)));
    test()
}

/// Returns the adapter of [`with_adapter`].
pub(crate) fn own_adapter() -> Option<wgpu::Adapter> {
    OWN.with_borrow(Clone::clone)
}

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
