//! Windows: the process, console and timing functions of Win32.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, FromRawHandle as _, OwnedHandle, RawHandle};
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{FILETIME, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, GetCurrentProcess, GetProcessTimes, OpenProcess,
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE, TerminateProcess,
};
use windows_sys::Win32::System::WindowsProgramming::{
    QueryInterruptTimePrecise, QueryUnbiasedInterruptTimePrecise,
};

use crate::{Exit, FAST_FAIL, ProcessUsage, SelfUsage};

pub(crate) use crate::absent::{
    CAN_LIMIT_MEMORY, aslr, cpu_frequency_hz, governor, limit_memory, steal_ns, throttle_events, turbo,
};

/// Nanoseconds in the unit of Windows' times.
const NS_PER_UNIT: u64 = 100;

#[expect(unsafe_code, reason = "system calls that std does not offer")]
pub(crate) fn monotonic_ns() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    let frequency = *FREQUENCY.get_or_init(|| {
        let mut frequency = 0;
        // SAFETY: the pointer is valid for a write of an i64. The call never fails since Windows XP.
        unsafe { QueryPerformanceFrequency(&raw mut frequency) };
        u64::try_from(frequency).unwrap_or_default().max(1)
    });
    let mut count = 0;
    // SAFETY: the pointer is valid for a write of an i64. The call never fails since Windows XP.
    unsafe { QueryPerformanceCounter(&raw mut count) };
    let count = u64::try_from(count).unwrap_or_default();
    (u128::from(count) * 1_000_000_000 / u128::from(frequency)) as u64
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
#[expect(clippy::unnecessary_wraps, reason = "other systems cannot tell")]
pub(crate) fn awake_ns() -> Option<u64> {
    let mut units = 0;
    // SAFETY: the pointer is valid for a write of a u64. The call cannot fail.
    unsafe { QueryUnbiasedInterruptTimePrecise(&raw mut units) };
    Some(units * NS_PER_UNIT)
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
#[expect(clippy::unnecessary_wraps, reason = "other systems cannot tell")]
pub(crate) fn awake_and_suspended_ns() -> Option<u64> {
    let mut units = 0;
    // SAFETY: the pointer is valid for a write of a u64. The call cannot fail.
    unsafe { QueryInterruptTimePrecise(&raw mut units) };
    Some(units * NS_PER_UNIT)
}

/// Returns a handle of this process, which does not need to be closed.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn this_process() -> HANDLE {
    // SAFETY: no memory is involved.
    unsafe { GetCurrentProcess() }
}

pub(crate) fn self_usage() -> SelfUsage {
    let cpu_ns = times(this_process()).map(|times| times.cpu_ns);
    SelfUsage { cpu_ns, involuntary_switches: None, major_faults: None }
}

pub(crate) fn process_usage(child: &Child) -> ProcessUsage {
    let process = child.as_raw_handle();
    let memory = memory(process);
    ProcessUsage {
        peak_rss_bytes: memory.map(|memory| memory.PeakWorkingSetSize as u64),
        rss_bytes: memory.map(|memory| memory.WorkingSetSize as u64),
        cpu_ns: times(process).map(|times| times.cpu_ns),
        queue_wait_ns: None,
    }
}

pub(crate) fn self_peak_rss_bytes() -> Option<u64> {
    memory(this_process()).map(|memory| memory.PeakWorkingSetSize as u64)
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn memory(process: HANDLE) -> Option<PROCESS_MEMORY_COUNTERS> {
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    let mut counters = PROCESS_MEMORY_COUNTERS { cb: size, ..PROCESS_MEMORY_COUNTERS::default() };
    // SAFETY: the pointer is valid for a write of `size` bytes.
    let ok = unsafe { K32GetProcessMemoryInfo(process, &raw mut counters, size) };
    (ok != 0).then_some(counters)
}

/// Creation time of a process in Windows' unit, and the CPU time that it has used.
struct Times {
    created: u64,
    cpu_ns: u64,
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn times(process: HANDLE) -> Option<Times> {
    let [mut created, mut exited, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: all four pointers are valid for a write of a FILETIME.
    let ok = unsafe {
        GetProcessTimes(process, &raw mut created, &raw mut exited, &raw mut kernel, &raw mut user)
    };
    (ok != 0).then(|| Times { created: units(created), cpu_ns: (units(kernel) + units(user)) * NS_PER_UNIT })
}

fn units(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

#[expect(unsafe_code, reason = "functions of the C runtime that std does not offer")]
mod crt {
    use std::ffi::{c_int, c_void};

    // Every Rust program on Windows is linked with the C runtime.
    unsafe extern "C" {
        pub(super) fn _dup2(from: c_int, to: c_int) -> c_int;
        pub(super) fn fflush(stream: *mut c_void) -> c_int;
    }
}

#[expect(unsafe_code, reason = "system calls that std does not offer")]
pub(crate) fn take_stdout() -> io::Result<File> {
    let absent =
        |what: &str| io::Error::new(io::ErrorKind::NotFound, format!("this process has no standard {what}"));
    io::stdout().flush()?;
    // SAFETY: a null pointer flushes all output streams of the C runtime.
    unsafe { crt::fflush(std::ptr::null_mut()) };
    // SAFETY: no memory is involved.
    let error = unsafe { GetStdHandle(STD_ERROR_HANDLE) };
    if error.is_null() || error == INVALID_HANDLE_VALUE {
        return Err(absent("error"));
    }
    if io::stdout().as_raw_handle().is_null() {
        return Err(absent("output"));
    }
    let real = io::stdout().as_handle().try_clone_to_owned()?;
    // This closes the C runtime's output, which is the handle that Rust uses, too: hence the copy above, and
    // immediately the new handle below.
    // SAFETY: no memory is involved; both numbers are the standard ones, which nothing in this process owns.
    if unsafe { crt::_dup2(2, 1) } != 0 {
        return Err(io::Error::other("the C runtime could not redirect its standard output"));
    }
    // SAFETY: the handle is that of standard error, which stays open as long as the process.
    if unsafe { SetStdHandle(STD_OUTPUT_HANDLE, error) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(File::from(real))
}

pub(crate) fn detach_from_terminal(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Returns a job that Windows ends with its last handle: this one, which is never closed and never inherited.
#[expect(unsafe_code, reason = "system calls that std does not offer")]
fn job() -> Option<&'static OwnedHandle> {
    static JOB: OnceLock<Option<OwnedHandle>> = OnceLock::new();
    let create = || {
        // SAFETY: null pointers request a job without a name, with default rights; the handle is checked before use.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle was just opened, and nothing else closes it.
        let owned = unsafe { OwnedHandle::from_raw_handle(handle as RawHandle) };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the pointer is valid for a read of the given number of bytes.
        let set = unsafe {
            SetInformationJobObject(
                handle,
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            )
        };
        (set != 0).then_some(owned)
    };
    JOB.get_or_init(create).as_ref()
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn spawn_bound(mut command: Command) -> io::Result<Child> {
    let child = command.spawn()?;
    if let Some(job) = job() {
        // SAFETY: both handles are open. If the call fails, the child does not end with this process.
        unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) };
    }
    Ok(child)
}

pub(crate) fn has_ended(child: &mut Child) -> io::Result<bool> {
    // A process keeps its id as long as a handle of it is open.
    Ok(child.try_wait()?.is_some())
}

pub(crate) fn is_own(_metadata: &Metadata) -> bool {
    true
}

pub(crate) fn kill_tree(child: &mut Child) -> io::Result<()> {
    // The child is killed first, so that it starts nothing more. Its handle keeps its id from being reused.
    let killed = child.kill();
    if let Some(times) = times(child.as_raw_handle()) {
        kill_descendants(child.id(), times.created);
    }
    killed?;
    child.wait()?;
    Ok(())
}

/// A process of the tree. While its handle is open, its id belongs to no other process.
struct Killed {
    id: u32,
    created: u64,
    _handle: Option<OwnedHandle>,
}

/// Kills the descendants of a process, generation by generation. Windows reports the id of each process's parent even
/// if that id belongs to another process by now: a process that is older than its parent is not its child.
#[expect(unsafe_code, reason = "system calls that std does not offer")]
fn kill_descendants(root: u32, created: u64) {
    /// Ends the loop if processes multiply faster than they are killed.
    const PASSES: usize = 100;
    let mut tree = vec![Killed { id: root, created, _handle: None }];
    for _ in 0..PASSES {
        let mut now = FILETIME::default();
        // SAFETY: the pointer is valid for a write of a FILETIME.
        unsafe { GetSystemTimeAsFileTime(&raw mut now) };
        let now = units(now);
        let mut done = true;
        for entry in processes() {
            let (id, parent) = (entry.th32ProcessID, entry.th32ParentProcessID);
            if tree.iter().any(|killed| killed.id == id) {
                continue;
            }
            let Some(parent) = tree.iter().find(|killed| killed.id == parent) else { continue };
            // SAFETY: no memory is involved; the handle is checked before use.
            let handle = unsafe { OpenProcess(PROCESS_TERMINATE | PROCESS_QUERY_LIMITED_INFORMATION, 0, id) };
            if handle.is_null() {
                continue;
            }
            // SAFETY: the handle was just opened, and nothing else closes it.
            let owned = unsafe { OwnedHandle::from_raw_handle(handle as RawHandle) };
            let Some(Times { created, .. }) = times(handle) else { continue };
            if created < parent.created {
                continue;
            }
            done = false;
            if created > now {
                // It may be another process that got this id after the list was made; the next list decides.
                continue;
            }
            // SAFETY: the handle is open and has the right to do this. If the call fails, the process has ended.
            unsafe { TerminateProcess(handle, 1) };
            tree.push(Killed { id, created, _handle: Some(owned) });
        }
        if done {
            break;
        }
    }
}

/// Returns all present processes of the machine; none if Windows does not report them.
#[expect(unsafe_code, reason = "system calls that std does not offer")]
fn processes() -> Vec<PROCESSENTRY32W> {
    // SAFETY: no memory is involved; the handle is checked before use.
    let handle = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if handle == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    // SAFETY: the handle was just opened, and nothing else closes it.
    let _closes = unsafe { OwnedHandle::from_raw_handle(handle as RawHandle) };
    let mut entry =
        PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..PROCESSENTRY32W::default() };
    let mut entries = Vec::new();
    // SAFETY: the pointer is valid for a write of an entry of the size that it states.
    let mut more = unsafe { Process32FirstW(handle, &raw mut entry) };
    while more != 0 {
        entries.push(entry);
        // SAFETY: as above.
        more = unsafe { Process32NextW(handle, &raw mut entry) };
    }
    entries
}

#[expect(unsafe_code, reason = "the standard library's exit runs the exit handlers")]
pub(crate) fn exit_at_once(code: u8) -> ! {
    // SAFETY: the handle is that of this process, which needs no closing.
    unsafe { TerminateProcess(GetCurrentProcess(), code.into()) };
    // The process ends before the call returns; the compiler cannot know this.
    std::process::abort()
}

pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    // Windows always has a code.
    let code = status.code().unwrap_or_default();
    let bits = code.cast_unsigned();
    let name = exception_name(bits);
    // The system's own statuses have these highest bits (a warning or an error); small negative exit codes do not.
    if name.is_some() || matches!(bits >> 28, 0x8 | 0xC) {
        Exit::Exception { code: bits, name }
    } else {
        Exit::Code(code)
    }
}

fn exception_name(code: u32) -> Option<&'static str> {
    Some(match code {
        0x8000_0003 => "breakpoint",
        0xC000_0005 => "access violation",
        0xC000_0006 => "page could not be read",
        0xC000_0017 => "out of memory",
        0xC000_001D => "illegal instruction",
        0xC000_0025 => "noncontinuable exception",
        0xC000_008C => "array bounds exceeded",
        0xC000_008E => "float division by zero",
        0xC000_0094 => "integer division by zero",
        0xC000_0095 => "integer overflow",
        0xC000_0096 => "privileged instruction",
        0xC000_00FD => "stack overflow",
        0xC000_012D => "commit limit reached",
        0xC000_0135 => "DLL not found",
        0xC000_0139 => "DLL entry point not found",
        0xC000_013A => "Ctrl-C",
        0xC000_0142 => "DLL initialization failed",
        0xC000_0374 => "heap corruption",
        FAST_FAIL => "fast fail",
        0xE06D_7363 => "C++ exception",
        _ => return None,
    })
}

pub(crate) fn new_file_permissions() -> Option<Permissions> {
    None
}

#[expect(clippy::unnecessary_wraps, reason = "other systems need it")]
pub(crate) fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
