//! The one place of the workspace that knows operating systems.
//!
//! Every other crate is written once for all systems and asks here. Each function has one signature everywhere,
//! and a quantity that the system at hand cannot tell is `None`: never 0, never a panic.
//!
//! | what | Linux | macOS | Windows | other Unix |
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

/// The folder for files that outlive a run: `PERFHARNESS_CACHE`, else the user's own cache folder, else the system's for
/// temporary files; below it, a folder of this project.
pub fn cache_folder() -> std::path::PathBuf {
    let set = |name| env::var(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
    set("PERFHARNESS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME"))
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("perfharness")
}

/// Clock readings: the only place that reads a clock.
pub mod clock {
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    /// The present moment of the monotonic clock, for durations within this process.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn now() -> Instant {
        Instant::now()
    }

    /// Nanoseconds of the system-wide monotonic clock: one origin for all processes of one boot, so that two
    /// processes can compare their readings.
    ///
    /// Linux and other Unix: `CLOCK_MONOTONIC`. macOS: `CLOCK_UPTIME_RAW`. Windows: `QueryPerformanceCounter`,
    /// scaled to nanoseconds. On Linux and macOS it stands still while the machine is suspended.
    pub fn monotonic_ns() -> u64 {
        super::imp::monotonic_ns()
    }

    /// The smallest positive difference of successive readings of [`monotonic_ns`], in nanoseconds; at least 1.
    ///
    /// It covers the clock's step and the cost of a reading, whichever is larger. Takes about 1000 readings.
    pub fn resolution_ns() -> u64 {
        const STEPS: usize = 1_000;
        /// Only a clock that stands still gets this far.
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

/// Environment variables: the only place that reads them.
pub mod env {
    /// The value of an environment variable; `None` where it is not set or not Unicode.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn var(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// All environment variables whose names and values are Unicode.
    pub fn all() -> Vec<(String, String)> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    /// Is an environment variable set to something, be it Unicode or not? An empty value counts as not set.
    #[expect(clippy::disallowed_methods, reason = "this is the place that the lint sends everyone to")]
    pub fn is_set_nonempty(name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }
}

/// What this process has used since it started, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelfUsage {
    /// CPU time in user and kernel mode, in nanoseconds.
    ///
    /// Unix: `CLOCK_PROCESS_CPUTIME_ID`. Windows: `GetProcessTimes`, which counts in scheduler ticks (about 15.6 ms).
    pub cpu_ns: Option<u64>,
    /// How often the scheduler took the CPU away from a thread that wanted to go on.
    ///
    /// Unix: `getrusage`, `ru_nivcsw`. Windows: `None`.
    pub involuntary_switches: Option<u64>,
    /// Page faults that needed input or output.
    ///
    /// Unix: `getrusage`, `ru_majflt`. Windows: `None` (its count mixes them with those that needed none).
    pub major_faults: Option<u64>,
}

/// What this process has used so far.
pub fn self_usage() -> SelfUsage {
    imp::self_usage()
}

/// What another process has used since it started, as far as the system tells its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// The most memory that was resident at one time, in bytes.
    ///
    /// Linux: `VmHWM`. macOS: the lifetime maximum of the physical footprint, the only high-water mark that the kernel
    /// tells about another process. Windows: `PeakWorkingSetSize`.
    pub peak_rss_bytes: Option<u64>,
    /// The memory that is resident now, in bytes.
    ///
    /// Linux: `VmRSS`. macOS: the resident size. Windows: `WorkingSetSize`.
    pub rss_bytes: Option<u64>,
    /// CPU time in user and kernel mode, all threads together, in nanoseconds.
    ///
    /// Linux: the process's CPU clock; once it is a zombie `/proc/<pid>/stat`, which counts in ticks (mostly 10 ms).
    /// macOS: `proc_pid_rusage`. Windows: `GetProcessTimes`, which counts in scheduler ticks (about 15.6 ms).
    pub cpu_ns: Option<u64>,
}

/// What a child process has used so far, itself only and not what it started.
///
/// On Unix it must not have been waited for yet (all `None` then: its id may belong to another process); a child
/// that has ended and was not waited for keeps its CPU time but, on Linux, no memory figures. Windows tells about
/// a child for as long as the [`Child`] lives.
pub fn process_usage(child: &Child) -> ProcessUsage {
    imp::process_usage(child)
}

/// The most memory of this process that was resident at one time, in bytes.
///
/// The sources are those of [`ProcessUsage::peak_rss_bytes`], so that a process and its parent see the same figure.
/// On Linux that is not `ru_maxrss`, which starts with the size that the parent had when it forked.
pub fn self_peak_rss_bytes() -> Option<u64> {
    imp::self_peak_rss_bytes()
}

/// Machine-wide counters that code under test cannot bring about: what they count disturbs a sample from outside.
///
/// All of them only grow; a difference between two readings says what happened in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCounters {
    /// Time that the hypervisor took from this machine's CPUs, summed over them, in nanoseconds.
    ///
    /// Linux: `steal` in the first line of `/proc/stat`, which counts in ticks (mostly 10 ms). Others: `None`.
    pub steal_ns: Option<u64>,
    /// How often a core was slowed down because of its heat, summed over the logical CPUs (so the two hyperthreads of
    /// one core count its events twice).
    ///
    /// Linux on hardware that reports it: `core_throttle_count` in sysfs. Others, and virtual machines: `None`.
    pub throttle_events: Option<u64>,
    /// Time that the machine was suspended since it booted, in nanoseconds. Steady to the last digit between two
    /// suspensions; changes below 1 ms are taken for jitter of the reading and not shown.
    ///
    /// Linux: `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`. macOS: `CLOCK_MONOTONIC_RAW` less `CLOCK_UPTIME_RAW`.
    /// Windows: `QueryInterruptTimePrecise` less `QueryUnbiasedInterruptTimePrecise`. Others: `None`.
    pub suspended_ns: Option<u64>,
}

/// The counters of the machine as they are now. Meant to be called before and after every sample: files stay open.
pub fn machine_counters() -> MachineCounters {
    MachineCounters {
        steal_ns: imp::steal_ns(),
        throttle_events: imp::throttle_events(),
        suspended_ns: suspended_ns(),
    }
}

/// The time that the machine was suspended: how far a clock that counts suspensions is ahead of one that does not.
fn suspended_ns() -> Option<u64> {
    /// Two clocks cannot be read at once; no suspension is this short.
    const JITTER_NS: u64 = 1_000_000;
    const READINGS: usize = 8;
    /// What was told last, so that jitter never looks like a suspension.
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

/// Makes the real standard output private: returns a file that writes to it, and sends everything that is written to
/// standard output from then on, by Rust or by C code, to standard error.
///
/// What was written before is flushed to the real one first. To be called once, before other threads write. A second
/// call returns a file that writes to standard error. The file is not inherited by children.
///
/// Unix: `dup2` of descriptor 2 onto 1. Windows: `SetStdHandle` and the C runtime's `_dup2`; a library that brings
/// a C runtime of its own and was loaded before keeps writing to the real one.
///
/// # Errors
///
/// Those of the system calls, and on Windows where there is no standard output or error.
pub fn take_stdout() -> io::Result<File> {
    imp::take_stdout()
}

/// Puts a child to be spawned in a group of its own, so that Ctrl-C in the terminal reaches only its parent.
///
/// Unix: a process group of its own, which [`kill_tree`] then kills as a whole. Windows: `CREATE_NEW_PROCESS_GROUP`,
/// which replaces creation flags set before.
pub fn detach_from_terminal(command: &mut Command) {
    imp::detach_from_terminal(command);
}

/// Starts a child in a group of its own, as [`detach_from_terminal`] does, whose whole group ends when this process
/// ends, however that ends: a crash and a `kill -9` leave nothing behind.
///
/// The child is to be ended with [`kill_tree`], also where it has ended by itself: until then its group is remembered, and
/// an id that somebody else has got meanwhile must not be.
///
/// Unix: a small process, forked once, sees this process end and kills the groups. On Linux the kernel kills the child
/// itself as well (`PR_SET_PDEATHSIG`). A descendant that made a group or a session of its own is not reached. Windows: a
/// job object that is closed with this process; what the child starts in its first instant may escape it.
///
/// # Errors
///
/// Those of starting the child. Where only its end cannot be arranged for, it is started all the same.
pub fn spawn_bound(mut command: Command) -> io::Result<Child> {
    imp::detach_from_terminal(&mut command);
    imp::spawn_bound(command)
}

/// Has a child ended? Unlike `Child::try_wait` this leaves it to be waited for, so that its id and its group stay its
/// own until [`kill_tree`]. True for one that was waited for.
///
/// # Errors
///
/// Those of the system calls.
pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    imp::has_ended(child)
}

/// Caps the private memory of a freshly started child, so that asking for more fails in the child itself. Returns
/// whether this OS did so; where it did not, the parent has to watch [`process_usage`].
///
/// Linux: `prlimit(RLIMIT_DATA)`, which counts private writable mappings. Elsewhere: not supported.
pub fn limit_memory(child: &Child, bytes: u64) -> bool {
    imp::limit_memory(child, bytes)
}

/// Does [`limit_memory`] work on this OS?
///
/// Linux: yes. Others: no.
pub fn can_limit_memory() -> bool {
    imp::CAN_LIMIT_MEMORY
}

/// Kills a child and everything it started, then waits for the child.
///
/// To be called before a `wait` or `try_wait` has told that the child ended: until then its id is its own. For a child
/// that has ended by itself but was not waited for it kills what that left behind, and leaves its exit status as it
/// was. Afterwards `child.wait()` returns that status at once.
///
/// Unix: `SIGKILL` to the process group that the child leads, where [`detach_from_terminal`] gave it one; else, and
/// where the child was waited for already, only the child. A descendant that made a group of its own is not reached.
/// Windows: all processes whose chain of living or just killed parents leads to the child; one whose parent ended
/// earlier is not reached.
///
/// # Errors
///
/// Those of killing the child itself or waiting for it; what it started is killed as far as possible.
pub fn kill_tree(child: &mut Child) -> io::Result<()> {
    imp::kill_tree(child)
}

/// How a process ended, in words that are the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It ended by itself with this exit code.
    Code(i32),
    /// A signal ended it (Unix).
    Signal {
        /// The number of the signal on this system.
        number: i32,
        /// Its name, such as `SIGSEGV`, where it has one.
        name: Option<&'static str>,
    },
    /// An unhandled exception ended it (Windows; not to be told from a process that exits with such a number itself).
    Exception {
        /// The status code, such as `0xC000_0005`.
        code: u32,
        /// What it means, such as `access violation`, where that is known.
        name: Option<&'static str>,
    },
}

/// The exception with which Windows ends a process that asks for it at once: what Rust's `abort` does.
const FAST_FAIL: u32 = 0xC000_0409;

impl Exit {
    /// Did it end well, with exit code 0?
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Did it end by `abort`: `SIGABRT` on Unix, a fast fail (`0xC000_0409`) on Windows?
    ///
    /// On Windows a detected stack corruption ends with the same code, and the C function `abort` may end with code 3.
    pub fn is_abort(self) -> bool {
        matches!(self, Self::Signal { name: Some("SIGABRT"), .. } | Self::Exception { code: FAST_FAIL, .. })
    }

    /// Did `SIGKILL` end it, as the kernel's out-of-memory killer does (and [`kill_tree`])? Always false on Windows,
    /// where a killed process has an exit code that its killer chose.
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

/// How a process with this status ended.
pub fn exit_of(status: ExitStatus) -> Exit {
    imp::exit_of(status)
}

/// Ends this process at once, without running what was registered for its end.
///
/// Unix: `_exit`. Windows: `TerminateProcess`.
pub fn exit_at_once(code: u8) -> ! {
    imp::exit_at_once(code)
}

/// The frequency governor of the first CPU, such as `performance`.
///
/// Linux: `scaling_governor` in sysfs; `None` where there is none, as in most virtual machines. Others: `None`.
pub fn governor() -> Option<String> {
    imp::governor()
}

/// May the CPUs run above their base frequency?
///
/// Linux: `intel_pstate/no_turbo`, else `cpufreq/boost` in sysfs. Others: `None`.
pub fn turbo() -> Option<bool> {
    imp::turbo()
}

/// The present frequency of the first CPU, in Hz.
///
/// Linux: `scaling_cur_freq` in sysfs. Others: `None`.
pub fn cpu_frequency_hz() -> Option<u64> {
    imp::cpu_frequency_hz()
}

/// Are the addresses of this process, and so of its children, laid out at random?
///
/// Linux: `/proc/sys/kernel/randomize_va_space` is not 0 and this process is not exempt from it (`setarch -R`).
/// Others: `None`.
pub fn aslr() -> Option<bool> {
    imp::aslr()
}

/// Does a file or folder belong to the user that this process runs as?
///
/// Unix: by the effective user id. Windows: always said to, as its folders for temporary files are each user's own.
pub fn is_own(metadata: &Metadata) -> bool {
    imp::is_own(metadata)
}

/// What a program asks for when it creates a file that others may read: temporary files, which are for their owner alone,
/// become such files when they are renamed.
///
/// Unix: reading and writing for all, less what the umask takes away. Windows: `None`, because a file gets what its
/// folder says.
pub fn new_file_permissions() -> Option<Permissions> {
    imp::new_file_permissions()
}

/// The environment variable with the folders that the loader looks for shared libraries in, beside those that a program
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

/// Tells a shared library by its name: `libx.so`, `libx.so.1`, `libx.dylib`, `x.dll`.
pub fn is_shared_library(name: &str) -> bool {
    let mut parts = name.split('.').skip(1);
    parts.any(|part| ["so", "dylib", "dll"].iter().any(|kind| part.eq_ignore_ascii_case(kind)))
}

/// Makes a rename, creation or removal in a directory last through a power cut, where the system needs to be asked.
/// An empty path means the present directory, as `Path::parent` of a bare file name does.
///
/// Unix: `fsync` of the directory; a file system that has no such thing is content without. Windows: does nothing.
///
/// # Errors
///
/// Those of opening and flushing the directory.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    imp::sync_directory(if path.as_os_str().is_empty() { Path::new(".") } else { path })
}
