//! Systems and builds without a profiler.

use super::Stack;

#[cfg(feature = "profile")]
pub(super) const ABSENCE: Option<&str> = Some("this system has no signal for a profiler within a process");
#[cfg(not(feature = "profile"))]
pub(super) const ABSENCE: Option<&str> =
    Some("this worker is built without the feature `profile` of perfharness-contract");

pub(super) struct Profiler;

impl Profiler {
    pub(super) fn start(_per_second: u32) -> Result<Self, String> {
        Err(ABSENCE.unwrap_or_default().into())
    }

    #[expect(clippy::unused_self, reason = "other systems need it")]
    pub(super) fn stop(self) -> Result<Vec<Stack>, String> {
        Err(ABSENCE.unwrap_or_default().into())
    }
}
