//! Other Unix systems: the functions of POSIX, and typed absences for the rest.

use std::process::Child;

pub(crate) use crate::absent::{
    CAN_LIMIT_MEMORY, aslr, cpu_frequency_hz, governor, limit_memory, steal_ns, throttle_events, turbo,
};

pub(crate) use crate::unix::{
    detach_from_terminal, exit_at_once, exit_of, has_ended, is_own, kill_tree, new_file_permissions,
    self_usage, sync_directory, take_stdout,
};

use crate::ProcessUsage;
pub(crate) use crate::guard::spawn_bound;
use crate::unix::clock_ns;

pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

pub(crate) fn awake_ns() -> Option<u64> {
    None
}

pub(crate) fn awake_and_suspended_ns() -> Option<u64> {
    None
}

pub(crate) fn process_usage(_child: &Child) -> ProcessUsage {
    ProcessUsage::default()
}

pub(crate) fn self_peak_rss_bytes() -> Option<u64> {
    None
}
