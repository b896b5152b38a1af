//! The only code of the workspace that depends on the operating system.
//!
//! Every other crate is written once for all systems and calls this one. Each function has one signature on all
//! systems, and a quantity that the system cannot report is `None`: never 0, never a panic.
//!
//! | item | Linux | macOS | Windows | other Unix |
//! | --- | --- | --- | --- | --- |
//! | [`clock::monotonic_ns`] | `CLOCK_MONOTONIC` | `CLOCK_UPTIME_RAW` | `QueryPerformanceCounter` | `CLOCK_MONOTONIC` |
//! | [`SelfUsage::cpu_ns`] | process CPU clock | process CPU clock | `GetProcessTimes` | process CPU clock |
//! | [`SelfUsage::involuntary_switches`], [`SelfUsage::major_faults`] | `getrusage` | `getrusage` | - | `getrusage` |
//! | [`process_usage`] | `/proc/<pid>` | `proc_pid_rusage` | `GetProcessMemoryInfo`, `GetProcessTimes` | - |
//! | [`MachineCounters::steal_ns`] | `/proc/stat` | - | - | - |
//! | [`MachineCounters::throttle_events`] | `thermal_throttle` in sysfs | - | - | - |
//! | [`MachineCounters::suspended_ns`] | boot time less monotonic time | continuous less uptime | interrupt time, biased less unbiased | - |
//! | [`detach_from_terminal`], [`kill_tree`] | process group | process group | console group, process snapshot | process group |
//! | [`spawn_bound`] | guard process, `PR_SET_PDEATHSIG` | guard process | job object | guard process |
//! | [`open_at_once`] | `O_NONBLOCK` | `O_NONBLOCK` | as usual | `O_NONBLOCK` |
//! | [`limit_memory`], [`can_limit_memory`] | `prlimit` | - | - | - |
//! | [`governor`], [`turbo`], [`cpu_frequency_hz`], [`aslr`] | sysfs, procfs | - | - | - |
//! | [`profile::Profiler`] | `SIGPROF` | `SIGPROF` | - | - |

use std::fmt;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};

pub mod profile;

mod open;
pub use open::open_at_once;

#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod unix;

#[cfg(not(target_os = "linux"))]
mod absent;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as imp;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as imp;

#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
mod fallback;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
use fallback as imp;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

#[cfg(test)]
mod tests;

/// Folder for files that outlive a run: a subfolder of this project in `PERFHARNESS_CACHE`, otherwise in the user's
/// cache folder, otherwise in the system's folder for temporary files.
pub fn cache_folder() -> std::path::PathBuf {
    let set = |name| env::var(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
    set("PERFHARNESS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME"))
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("perfharness")
}

/// Clock readings. Only this module reads a clock.
pub mod clock {
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    /// Returns the present time of the monotonic clock, for durations within this process.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn now() -> Instant {
        Instant::now()
    }

    /// Nanoseconds of the system-wide monotonic clock. All processes of one boot share its origin, so that two
    /// processes can compare their readings.
    ///
    /// Linux and other Unix: `CLOCK_MONOTONIC`. macOS: `CLOCK_UPTIME_RAW`. Windows: `QueryPerformanceCounter`, scaled
    /// to nanoseconds. On Linux and macOS it stops while the machine is suspended.
    pub fn monotonic_ns() -> u64 {
        super::imp::monotonic_ns()
    }

    /// Smallest positive difference of successive readings of [`monotonic_ns`], in nanoseconds; at least 1.
    ///
    /// It covers the larger of the clock's step and the cost of a reading. Takes about 1000 readings.
    pub fn resolution_ns() -> u64 {
        const STEPS: usize = 1_000;
        /// Only a stopped clock reaches this limit.
        const READINGS: usize = 10_000_000;
        let mut smallest = u64::MAX;
        let mut steps = 0;
        let mut last = monotonic_ns();
        for _ in 0..READINGS {
            let reading = monotonic_ns();
            if reading > last {
                smallest = smallest.min(reading - last);
                steps += 1;
                if steps == STEPS {
                    break;
                }
            }
            last = reading;
        }
        smallest
    }

    /// Unix time in milliseconds (0 for a clock set before 1970).
    pub fn unix_ms() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// Environment variables. Only this module reads them.
pub mod env {
    /// Returns the value of an environment variable; `None` if it is not set or not Unicode.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn var(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Returns all environment variables whose names and values are Unicode.
    pub fn all() -> Vec<(String, String)> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    /// Whether an environment variable has a non-empty value, Unicode or not.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn is_set_nonempty(name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }
}

/// Resources that this process has used since it started, over all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelfUsage {
    /// CPU time in user and kernel mode, in nanoseconds.
    ///
    /// Unix: `CLOCK_PROCESS_CPUTIME_ID`. Windows: `GetProcessTimes`, which counts in scheduler ticks (about 15.6 ms).
    pub cpu_ns: Option<u64>,
    /// Number of times that the scheduler took the CPU away from a runnable thread.
    ///
    /// Unix: `getrusage`, `ru_nivcsw`. Windows: `None`.
    pub involuntary_switches: Option<u64>,
    /// Number of page faults that needed input or output.
    ///
    /// Unix: `getrusage`, `ru_majflt`. Windows: `None`, because its count includes those that needed none.
    pub major_faults: Option<u64>,
}

/// Returns the resources that this process has used so far.
pub fn self_usage() -> SelfUsage {
    imp::self_usage()
}

/// Resources that another process has used since it started, as far as the system reports them to its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Peak of the resident memory, in bytes.
    ///
    /// Linux: `VmHWM`. macOS: the lifetime maximum of the physical footprint, the only high-water mark that the kernel
    /// reports for another process. Windows: `PeakWorkingSetSize`.
    pub peak_rss_bytes: Option<u64>,
    /// Resident memory, in bytes.
    ///
    /// Linux: `VmRSS`. macOS: the resident size. Windows: `WorkingSetSize`.
    pub rss_bytes: Option<u64>,
    /// CPU time in user and kernel mode, over all threads, in nanoseconds.
    ///
    /// Linux: the process's CPU clock; for a zombie `/proc/<pid>/stat`, which counts in ticks (mostly 10 ms). macOS:
    /// `proc_pid_rusage`. Windows: `GetProcessTimes`, which counts in scheduler ticks (about 15.6 ms).
    pub cpu_ns: Option<u64>,
    /// Time that its first thread was ready to run and waited for a CPU, in nanoseconds.
    ///
    /// Linux: the second number of `/proc/<pid>/schedstat`. Others: `None`.
    pub queue_wait_ns: Option<u64>,
}

/// Returns the resources that a child process has used so far, without its descendants.
///
/// On Unix the child must not have been waited for (all fields are `None` then, because its id may belong to another
/// process). A child that has ended but was not waited for keeps its CPU time and, on Linux, loses its memory figures.
/// Windows reports a child for as long as the [`Child`] lives.
pub fn process_usage(child: &Child) -> ProcessUsage {
    imp::process_usage(child)
}

/// Returns the peak of this process's resident memory, in bytes.
///
/// The sources are those of [`ProcessUsage::peak_rss_bytes`], so that a process and its parent see the same figure. On
/// Linux that is not `ru_maxrss`, which starts with the size of the parent at the fork.
pub fn self_peak_rss_bytes() -> Option<u64> {
    imp::self_peak_rss_bytes()
}

/// Machine-wide counters that code under test cannot influence: a change means a disturbance from outside.
///
/// They never decrease; the difference of two readings counts the events between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCounters {
    /// Time that the hypervisor took from this machine's CPUs, summed over them, in nanoseconds.
    ///
    /// Linux: `steal` in the first line of `/proc/stat`, which counts in ticks (mostly 10 ms). Others: `None`.
    pub steal_ns: Option<u64>,
    /// Number of times that a core was throttled because of its heat, summed over the logical CPUs (so the two
    /// hyperthreads of one core count its events twice).
    ///
    /// Linux on hardware that reports it: `core_throttle_count` in sysfs. Others, and virtual machines: `None`.
    pub throttle_events: Option<u64>,
    /// Time that the machine was suspended since it booted, in nanoseconds. The value is constant between two
    /// suspensions; changes below 1 ms count as jitter of the reading and are ignored.
    ///
    /// Linux: `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`. macOS: `CLOCK_MONOTONIC_RAW` less `CLOCK_UPTIME_RAW`. Windows:
    /// `QueryInterruptTimePrecise` less `QueryUnbiasedInterruptTimePrecise`. Others: `None`.
    pub suspended_ns: Option<u64>,
}

/// Returns the present counters of the machine. It is cheap enough for every sample, because the files stay open.
pub fn machine_counters() -> MachineCounters {
    MachineCounters {
        steal_ns: imp::steal_ns(),
        throttle_events: imp::throttle_events(),
        suspended_ns: suspended_ns(),
    }
}

/// Returns how long the machine was suspended: the lead of a clock that counts suspensions over one that does not.
fn suspended_ns() -> Option<u64> {
    /// Two clocks cannot be read at once, and no suspension is this short.
    const JITTER_NS: u64 = 1_000_000;
    const READINGS: usize = 8;
    /// The last reported value, so that jitter never looks like a suspension.
    static LAST: AtomicU64 = AtomicU64::new(0);

    let mut best: Option<(u64, u64)> = None;
    for _ in 0..READINGS {
        let before = imp::awake_ns()?;
        let elapsed = imp::awake_and_suspended_ns()?;
        let after = imp::awake_ns()?;
        let gap = after.saturating_sub(before);
        if best.is_none_or(|(smallest, _)| gap < smallest) {
            best = Some((gap, elapsed.saturating_sub(before + gap / 2)));
        }
        if gap < JITTER_NS / 10 {
            break;
        }
    }
    let (gap, reading) = best?;
    let last = LAST.load(Ordering::Relaxed);
    if reading.abs_diff(last) <= JITTER_NS.max(gap) {
        return Some(last);
    }
    LAST.store(reading, Ordering::Relaxed);
    Some(reading)
}

/// Makes the real standard output private: returns a file that writes to it, and redirects everything that Rust or C
/// code writes to standard output from then on to standard error.
///
/// Earlier output is flushed to the real standard output first. Call this once, before other threads write. A second
/// call returns a file that writes to standard error. Children do not inherit the file.
///
/// Unix: `dup2` of descriptor 2 onto 1. Windows: `SetStdHandle` and the C runtime's `_dup2`; a library that has its own
/// C runtime and was loaded before keeps writing to the real standard output.
///
/// # Errors
///
/// Returns the errors of the system calls, and on Windows an error if there is no standard output or error.
pub fn take_stdout() -> io::Result<File> {
    imp::take_stdout()
}

/// Starts a child in its own group, so that Ctrl-C in the terminal reaches only its parent.
///
/// Unix: a process group, which [`kill_tree`] then kills as a whole. Windows: `CREATE_NEW_PROCESS_GROUP`, which
/// replaces creation flags set before.
pub fn detach_from_terminal(command: &mut Command) {
    imp::detach_from_terminal(command);
}

/// Starts a child in its own group, as [`detach_from_terminal`] does, whose whole group ends when this process ends,
/// for whatever reason: a crash or a `kill -9` leaves nothing behind.
///
/// End the child with [`kill_tree`], also if it has ended by itself: until then its group is remembered, and its id
/// must not be reused by another process.
///
/// Unix: a small process, forked once, sees this process end and kills the groups. On Linux the kernel also kills the
/// child itself (`PR_SET_PDEATHSIG`). A descendant that created its own group or session is not reached. Windows: a job
/// object that is closed with this process; processes that the child starts in its first instant may escape it.
///
/// # Errors
///
/// Returns the errors of starting the child. If only its end cannot be arranged, the child is started anyway.
pub fn spawn_bound(mut command: Command) -> io::Result<Child> {
    imp::detach_from_terminal(&mut command);
    imp::spawn_bound(command)
}

/// Whether a child has ended. Unlike `Child::try_wait` this does not wait for the child, so that its id and its group
/// stay its own until [`kill_tree`]. True for a child that was waited for.
///
/// # Errors
///
/// Returns the errors of the system calls.
pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    imp::has_ended(child)
}

/// Limits the private memory of a freshly started child, so that larger requests fail in the child itself. Returns
/// whether this OS did so; if not, the parent has to watch [`process_usage`].
///
/// Linux: `prlimit(RLIMIT_DATA)`, which counts private writable mappings. Elsewhere: not supported.
pub fn limit_memory(child: &Child, bytes: u64) -> bool {
    imp::limit_memory(child, bytes)
}

/// Whether [`limit_memory`] works on this OS.
///
/// Linux: yes. Others: no.
pub fn can_limit_memory() -> bool {
    imp::CAN_LIMIT_MEMORY
}

/// Kills a child and everything it started, then waits for the child.
///
/// Call this before a `wait` or `try_wait` has reported the end of the child: until then its id is its own. If the
/// child has ended by itself but was not waited for, this kills the processes that it left behind and keeps its exit
/// status. Afterwards `child.wait()` returns that status at once.
///
/// Unix: `SIGKILL` to the process group that the child leads, if [`detach_from_terminal`] gave it one; otherwise, and
/// if the child was already waited for, only the child. A descendant that created its own group is not reached.
/// Windows: all processes whose chain of living or just killed parents leads to the child; a process whose parent ended
/// earlier is not reached.
///
/// # Errors
///
/// Returns the errors of killing the child itself or waiting for it; its descendants are killed as far as possible.
pub fn kill_tree(child: &mut Child) -> io::Result<()> {
    imp::kill_tree(child)
}

/// How a process ended, in the same terms on all systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// A signal ended the process (Unix).
    Signal {
        /// Number of the signal on this system.
        number: i32,
        /// Name of the signal, such as `SIGSEGV`, if it has one.
        name: Option<&'static str>,
    },
    /// An unhandled exception ended the process (Windows). A process that exits with the same number looks the same.
    Exception {
        /// Status code, such as `0xC000_0005`.
        code: u32,
        /// Meaning of the code, such as `access violation`, if it is known.
        name: Option<&'static str>,
    },
}

/// Exception with which Windows ends a process that requests a fast fail, as Rust's `abort` does.
const FAST_FAIL: u32 = 0xC000_0409;

impl Exit {
    /// Whether the process succeeded, with exit code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Whether the process ended by `abort`: `SIGABRT` on Unix, a fast fail (`0xC000_0409`) on Windows.
    ///
    /// On Windows a detected stack corruption ends with the same code, and the C function `abort` may end with code 3.
    pub fn is_abort(self) -> bool {
        matches!(self, Self::Signal { name: Some("SIGABRT"), .. } | Self::Exception { code: FAST_FAIL, .. })
    }

    /// Whether `SIGKILL` ended the process, as the kernel's out-of-memory killer does (and [`kill_tree`]). Always false
    /// on Windows, where the killer chooses the exit code.
    pub fn is_kill(self) -> bool {
        matches!(self, Self::Signal { name: Some("SIGKILL"), .. })
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::Code(code) => return write!(f, "exit code {code}"),
            Self::Signal { number, name } => {
                write!(f, "signal {number}")?;
                name
            }
            Self::Exception { code, name } => {
                write!(f, "exception 0x{code:08X}")?;
                name
            }
        };
        match name {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

/// Returns how a process with this status ended.
pub fn exit_of(status: ExitStatus) -> Exit {
    imp::exit_of(status)
}

/// Ends this process immediately, without running its exit handlers.
///
/// Unix: `_exit`. Windows: `TerminateProcess`.
pub fn exit_at_once(code: u8) -> ! {
    imp::exit_at_once(code)
}

/// Frequency governor of the first CPU, such as `performance`.
///
/// Linux: `scaling_governor` in sysfs; `None` if there is none, as in most virtual machines. Others: `None`.
pub fn governor() -> Option<String> {
    imp::governor()
}

/// Whether the CPUs may run above their base frequency.
///
/// Linux: `intel_pstate/no_turbo`, otherwise `cpufreq/boost` in sysfs. Others: `None`.
pub fn turbo() -> Option<bool> {
    imp::turbo()
}

/// Present frequency of the first CPU, in Hz.
///
/// Linux: `scaling_cur_freq` in sysfs. Others: `None`.
pub fn cpu_frequency_hz() -> Option<u64> {
    imp::cpu_frequency_hz()
}

/// Whether the address space of this process, and so of its children, is randomized.
///
/// Linux: `/proc/sys/kernel/randomize_va_space` is not 0 and this process is not exempt (`setarch -R`). Others: `None`.
pub fn aslr() -> Option<bool> {
    imp::aslr()
}

/// Whether a file or folder belongs to the user that this process runs as.
///
/// Unix: by the effective user id. Windows: always true, because the folders for temporary files belong to each user.
pub fn is_own(metadata: &Metadata) -> bool {
    imp::is_own(metadata)
}

/// Permissions that a program requests when it creates a file that others may read. Temporary files are for their owner
/// alone, and get these permissions before they are renamed.
///
/// Unix: reading and writing for all, minus the umask. Windows: `None`, because a file inherits those of its folder.
pub fn new_file_permissions() -> Option<Permissions> {
    imp::new_file_permissions()
}

/// Environment variable with the folders in which the loader looks for shared libraries, beside those that a program
/// names itself.
///
/// macOS: `DYLD_LIBRARY_PATH`. Windows: `PATH`. Others: `LD_LIBRARY_PATH`.
pub fn library_path_variable() -> &'static str {
    match std::env::consts::OS {
        "macos" => "DYLD_LIBRARY_PATH",
        "windows" => "PATH",
        _ => "LD_LIBRARY_PATH",
    }
}

/// Whether a file name is that of a shared library: `libx.so`, `libx.so.1`, `libx.dylib`, `x.dll`.
pub fn is_shared_library(name: &str) -> bool {
    let mut parts = name.split('.').skip(1);
    parts.any(|part| ["so", "dylib", "dll"].iter().any(|kind| part.eq_ignore_ascii_case(kind)))
}

/// Makes a rename, creation or removal in a directory survive a power failure, on systems that need a request for it.
/// An empty path means the present directory, as `Path::parent` of a bare file name does.
///
/// Unix: `fsync` of the directory; a file system that does not support this is accepted. Windows: does nothing.
///
/// # Errors
///
/// Returns the errors of opening and flushing the directory.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    imp::sync_directory(if path.as_os_str().is_empty() { Path::new(".") } else { path })
}
