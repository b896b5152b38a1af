//! Facts that only Linux tells, absent elsewhere.

use std::process::Child;

pub(crate) fn steal_ns() -> Option<u64> {
    None
}

pub(crate) fn throttle_events() -> Option<u64> {
    None
}

pub(crate) fn governor() -> Option<String> {
    None
}

pub(crate) fn turbo() -> Option<bool> {
    None
}

pub(crate) fn cpu_frequency_hz() -> Option<u64> {
    None
}

pub(crate) fn aslr() -> Option<bool> {
    None
}

pub(crate) const CAN_LIMIT_MEMORY: bool = false;

pub(crate) fn limit_memory(_child: &Child, _bytes: u64) -> bool {
    false
}
