//! Tools that these tests need: where one is missing a test is skipped, visibly and counted, and fails where
//! `PERFHARNESS_REQUIRE_TOOLS` is set.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_platform::env;

/// Says that a test is skipped because a tool is missing, or fails it.
pub(crate) fn missing(what: &str) {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    assert!(
        !env::is_set_nonempty("PERFHARNESS_REQUIRE_TOOLS"),
        "{what}; `ci/setup` installs it, and PERFHARNESS_REQUIRE_TOOLS is set"
    );
    let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Not `eprintln`, which the test runner keeps to itself where a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED ({skipped} so far): {what}");
}
