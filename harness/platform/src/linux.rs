//! Linux: procfs and sysfs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{OnceLock, mpsc};
use std::{io, thread};

pub(crate) use crate::unix::{
    detach_from_terminal, exit_at_once, exit_of, has_ended, is_own, kill_tree, new_file_permissions,
    self_usage, sync_directory, take_stdout,
};

use crate::unix::{clock_ns, unreaped};
use crate::{ProcessUsage, guard};

pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

pub(crate) fn awake_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_MONOTONIC)
}

pub(crate) fn awake_and_suspended_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_BOOTTIME)
}

pub(crate) fn process_usage(child: &Child) -> ProcessUsage {
    let Some(id) = unreaped(child) else { return ProcessUsage::default() };
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    ProcessUsage {
        peak_rss_bytes: status_bytes(&status, "VmHWM:"),
        rss_bytes: status_bytes(&status, "VmRSS:"),
        cpu_ns: process_cpu_ns(id),
        queue_wait_ns: fs::read_to_string(format!("/proc/{id}/schedstat"))
            .ok()
            .as_deref()
            .and_then(queue_wait),
    }
}

/// Parses the second number of `/proc/<pid>/schedstat`: `running waiting timeslices`.
pub(crate) fn queue_wait(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

pub(crate) fn self_peak_rss_bytes() -> Option<u64> {
    status_bytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Parses a line of `/proc/<pid>/status` such as `VmHWM: 1740 kB`, in bytes.
pub(crate) fn status_bytes(status: &str, key: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// CPU time of a whole process: its clock has nanoseconds; a zombie only has ticks.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn process_cpu_ns(id: libc::pid_t) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: the pointer is valid for a write of a clockid_t.
    if unsafe { libc::clock_getcpuclockid(id, &raw mut clock) } == 0
        && let Some(ns) = clock_ns(clock)
    {
        return Some(ns);
    }
    stat_cpu_ticks(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?).and_then(ticks_to_ns)
}

/// Parses `utime` and `stime` of `/proc/<pid>/stat`: fields 14 and 15, counted after the name, which can be any text.
pub(crate) fn stat_cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn ticks_to_ns(ticks: u64) -> Option<u64> {
    static NS_PER_TICK: OnceLock<Option<u64>> = OnceLock::new();
    let ns_per_tick = *NS_PER_TICK.get_or_init(|| {
        // SAFETY: no memory is involved.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        1_000_000_000_u64.checked_div(u64::try_from(per_second).ok()?)
    });
    ticks.checked_mul(ns_per_tick?)
}

pub(crate) fn steal_ns() -> Option<u64> {
    static STAT: OnceLock<Option<File>> = OnceLock::new();
    let file = STAT.get_or_init(|| File::open("/proc/stat").ok()).as_ref()?;
    // Only the first line is needed: ten numbers of at most 20 digits.
    let mut buffer = [0; 256];
    steal_ticks(read_start(file, &mut buffer)?).and_then(ticks_to_ns)
}

/// Parses the eighth number of `cpu  user nice system idle iowait irq softirq steal guest guest_nice`.
pub(crate) fn steal_ticks(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().nth(7)?.parse().ok()
}

pub(crate) fn throttle_events() -> Option<u64> {
    static COUNTS: OnceLock<Vec<File>> = OnceLock::new();
    let files = COUNTS.get_or_init(|| throttle_files(Path::new("/sys/devices/system/cpu")));
    if files.is_empty() {
        return None;
    }
    // A file that cannot be read, because its CPU was removed, would make the sum fall: then there is no sum.
    files.iter().map(|file| read_start(file, &mut [0; 32])?.trim().parse::<u64>().ok()).sum()
}

/// Opens the throttle counters of all CPUs.
fn throttle_files(cpus: &Path) -> Vec<File> {
    let Ok(entries) = fs::read_dir(cpus) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| is_cpu(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| File::open(entry.path().join("thermal_throttle/core_throttle_count")).ok())
        .collect()
}

/// Whether a name is `cpu0` and the like, but not `cpufreq`.
fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Reads the start of a file that the kernel generates for every read from its beginning.
fn read_start<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let read = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..read)?).ok()
}

pub(crate) fn governor() -> Option<String> {
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

pub(crate) fn turbo() -> Option<bool> {
    let off = read_line("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|line| line != "0");
    let on = || read_line("/sys/devices/system/cpu/cpufreq/boost").map(|line| line != "0");
    off.map(|off| !off).or_else(on)
}

pub(crate) fn cpu_frequency_hz() -> Option<u64> {
    let kilohertz: u64 = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")?.parse().ok()?;
    kilohertz.checked_mul(1_000).filter(|&hertz| hertz > 0)
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn aslr() -> Option<bool> {
    /// Queries the present persona and changes nothing.
    const QUERY: libc::c_ulong = 0xffff_ffff;
    let on = read_line("/proc/sys/kernel/randomize_va_space")? != "0";
    // SAFETY: no memory is involved.
    let persona = unsafe { libc::personality(QUERY) };
    let exempt = persona != -1 && persona & libc::ADDR_NO_RANDOMIZE != 0;
    Some(on && !exempt)
}

/// Returns the content of a small file without its line end; `None` if the file is missing or empty.
fn read_line(path: &str) -> Option<String> {
    let line = fs::read_to_string(path).ok()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

pub(crate) const CAN_LIMIT_MEMORY: bool = true;

pub(crate) fn limit_memory(child: &Child, bytes: u64) -> bool {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    #[expect(unsafe_code, reason = "the standard library cannot set a limit of another process")]
    // SAFETY: the child is not waited for yet, so its id is its own; `limit` outlives the call, and a null pointer for
    // the old limit is allowed.
    let set = unsafe {
        libc::prlimit(child.id().cast_signed(), libc::RLIMIT_DATA, &raw const limit, std::ptr::null_mut())
    };
    set == 0
}

/// Starts bound children from a separate thread: the kernel kills them with the thread that started them, and this one
/// lasts as long as the process.
pub(crate) fn spawn_bound(command: Command) -> io::Result<Child> {
    type Order = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: OnceLock<Option<mpsc::Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, due) = mpsc::channel::<Order>();
        let start = move || {
            for (command, answer) in due {
                let _ = answer.send(spawn_dying_with_this_thread(command));
            }
        };
        thread::Builder::new().name("starter".into()).spawn(start).ok().map(|_| orders)
    });
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (answer, answered) = mpsc::channel();
    starter.as_ref().ok_or_else(gone)?.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

#[expect(unsafe_code, reason = "the child has to request its own end")]
fn spawn_dying_with_this_thread(mut command: Command) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: the closure makes system calls that are allowed between fork and exec, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // A parent that ended before that call does not trigger the signal.
            if libc::getppid().cast_unsigned() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
    guard::spawn_bound(command)
}
