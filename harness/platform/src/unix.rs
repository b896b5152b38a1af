//! Functions that Linux, macOS and other Unix systems share.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use crate::{Exit, SelfUsage, guard};

/// A clock's reading in nanoseconds.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for a write of a timespec.
    let rc = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    if rc != 0 {
        return None;
    }
    // SAFETY: clock_gettime succeeded and has therefore filled it in.
    let time = unsafe { time.assume_init() };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn self_usage() -> SelfUsage {
    let cpu_ns = clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for a write of a rusage.
    let rc = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if rc != 0 {
        return SelfUsage { cpu_ns, ..SelfUsage::default() };
    }
    // SAFETY: getrusage succeeded and has therefore filled it in.
    let usage = unsafe { usage.assume_init() };
    SelfUsage {
        cpu_ns,
        involuntary_switches: u64::try_from(usage.ru_nivcsw).ok(),
        major_faults: u64::try_from(usage.ru_majflt).ok(),
    }
}

#[expect(unsafe_code, reason = "system calls that std does not offer")]
pub(crate) fn take_stdout() -> io::Result<File> {
    io::stdout().flush()?;
    // SAFETY: a null pointer flushes all output streams of the C library.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let real = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: both numbers are the standard ones, which nothing in this process owns and closes.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(File::from(real))
}

pub(crate) fn detach_from_terminal(command: &mut Command) {
    command.process_group(0);
}

/// Returns the id of a child and whether it has ended, without waiting for it; `None` if it was already waited for.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn look_at(child: &Child) -> io::Result<Option<(libc::pid_t, bool)>> {
    let id = child.id();
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the pointer is valid for a write of a siginfo_t; WNOWAIT leaves the child to be waited for by its owner.
    let rc = unsafe {
        libc::waitid(
            libc::P_PID,
            libc::id_t::from(id),
            info.as_mut_ptr(),
            libc::WEXITED | libc::WNOHANG | libc::WNOWAIT,
        )
    };
    if rc != 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ECHILD) { Ok(None) } else { Err(error) };
    }
    // SAFETY: it was zeroed, which is a valid siginfo_t, and waitid has filled it in if the child has ended.
    let info = unsafe { info.assume_init() };
    let id = libc::pid_t::try_from(id).map_err(io::Error::other)?;
    Ok(Some((id, info.si_signo != 0)))
}

/// Returns the id of a child that has not been waited for yet. Until then, no other process gets this id.
pub(crate) fn unreaped(child: &Child) -> Option<libc::pid_t> {
    look_at(child).ok().flatten().map(|(id, _)| id)
}

pub(crate) fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(look_at(child)?.is_none_or(|(_, has_ended)| has_ended))
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn kill_tree(child: &mut Child) -> io::Result<()> {
    if let Some(id) = unreaped(child) {
        // A group with the child's id is the child's own; if the child leads none, this does nothing.
        // SAFETY: no memory is involved.
        unsafe { libc::kill(-id, libc::SIGKILL) };
        // Before the child is waited for, because its id may belong to another process afterwards.
        guard::forget(id);
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

#[expect(unsafe_code, reason = "a system call that std does not offer")]
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    // SAFETY: no memory is involved.
    metadata.uid() == unsafe { libc::geteuid() }
}

#[expect(unsafe_code, reason = "the standard library's exit runs the exit handlers")]
pub(crate) fn exit_at_once(code: u8) -> ! {
    // SAFETY: it takes no pointers and does not return.
    unsafe { libc::_exit(code.into()) }
}

pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(number)) => Exit::Signal { number, name: signal_name(number) },
        (None, None) => Exit::Code(status.into_raw()),
    }
}

/// Returns the name of a signal that ends a process.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGABRT => "SIGABRT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGPROF => "SIGPROF",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => return None,
    })
}

#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn new_file_permissions() -> Option<Permissions> {
    Some(Permissions::from_mode(0o666))
}

pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // EINVAL, ENOTSUP: this file system cannot flush a directory, and a retry would not help.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        result => result,
    }
}
