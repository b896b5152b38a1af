//! Facts that only Linux tells, absent elsewhere.

use std::process::Child;

macro_rules! absent {
    ($($fact:ident: $type:ty),*) => {
        $(pub(crate) fn $fact() -> Option<$type> {
            None
        })*
    };
}

absent!(steal_ns: u64, throttle_events: u64, governor: String, turbo: bool, cpu_frequency_hz: u64, aslr: bool);

pub(crate) const CAN_LIMIT_MEMORY: bool = false;

pub(crate) fn limit_memory(_child: &Child, _bytes: u64) -> bool {
    false
}
