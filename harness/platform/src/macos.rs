//! macOS: Darwin's clocks and `proc_pid_rusage`.

use std::mem::MaybeUninit;
use std::process::Child;
use std::sync::OnceLock;

pub(crate) use crate::absent::{
    CAN_LIMIT_MEMORY, aslr, cpu_frequency_hz, governor, limit_memory, steal_ns, throttle_events, turbo,
};

pub(crate) use crate::unix::{
    detach_from_terminal, exit_at_once, exit_of, has_ended, is_own, kill_tree, new_file_permissions,
    self_usage, sync_directory, take_stdout,
};

use crate::ProcessUsage;
pub(crate) use crate::guard::spawn_bound;
use crate::unix::{clock_ns, unreaped};

pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_UPTIME_RAW).unwrap_or_default()
}

pub(crate) fn awake_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_UPTIME_RAW)
}

/// Unlike Linux, Darwin's raw monotonic clock continues while the machine sleeps.
pub(crate) fn awake_and_suspended_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

pub(crate) fn process_usage(child: &Child) -> ProcessUsage {
    unreaped(child).map_or_else(ProcessUsage::default, usage_of)
}

pub(crate) fn self_peak_rss_bytes() -> Option<u64> {
    usage_of(libc::pid_t::try_from(std::process::id()).ok()?).peak_rss_bytes
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn usage_of(id: libc::pid_t) -> ProcessUsage {
    let mut info = MaybeUninit::<libc::rusage_info_v4>::zeroed();
    // SAFETY: the pointer is valid for a write of a rusage_info_v4, which is what this flavour writes.
    let rc = unsafe { libc::proc_pid_rusage(id, libc::RUSAGE_INFO_V4, info.as_mut_ptr().cast()) };
    if rc != 0 {
        return ProcessUsage::default();
    }
    // SAFETY: proc_pid_rusage succeeded and has therefore filled it in.
    let info = unsafe { info.assume_init() };
    // A process always has some memory: 0 means that the kernel did not report it.
    let told = |bytes: u64| (bytes > 0).then_some(bytes);
    ProcessUsage {
        peak_rss_bytes: told(info.ri_lifetime_max_phys_footprint),
        rss_bytes: told(info.ri_resident_size),
        cpu_ns: mach_to_ns(info.ri_user_time.saturating_add(info.ri_system_time)),
        queue_wait_ns: None,
    }
}

/// Converts CPU times of `proc_pid_rusage`, in units of the Mach clock: 1 ns on Intel, 125/3 ns on Apple silicon.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
#[expect(deprecated, reason = "one function is not worth another dependency")]
fn mach_to_ns(units: u64) -> Option<u64> {
    static TIMEBASE: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    let (numerator, denominator) = (*TIMEBASE.get_or_init(|| {
        let mut timebase = libc::mach_timebase_info { numer: 0, denom: 0 };
        // SAFETY: the pointer is valid for a write of a timebase.
        let rc = unsafe { libc::mach_timebase_info(&raw mut timebase) };
        (rc == 0).then_some((timebase.numer, timebase.denom))
    }))?;
    let scaled = (u128::from(units) * u128::from(numerator)).checked_div(u128::from(denominator))?;
    u64::try_from(scaled).ok()
}
