//! A process that outlives this one by an instant, and kills the process groups of the children that it left behind.
//!
//! It is forked once, before the first such child, and only reads a pipe whose other end this process holds. The pipe
//! ends when this process ends, for whatever reason. A thread could not do this, and a signal on the death of the
//! parent reaches one process and not its group.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// A child that starts, reported by the child itself: nothing runs between its start and this message.
const ADD: i32 = 1;
/// A child that is about to be waited for.
const FORGET: i32 = 2;
/// A child that could not be started, identified by the number of the attempt.
const FAILED: i32 = 3;
/// Largest number of live children; further ones are not tracked.
const MOST: usize = 1024;

/// Message to the guard: the event, the number of the attempt to start a child, and the child's id. The pipe writes it
/// atomically, because it is much shorter than `PIPE_BUF`.
type Message = [i32; 3];

const MESSAGE_BYTES: usize = size_of::<Message>();

fn bytes(message: Message) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [0; MESSAGE_BYTES];
    for (to, word) in bytes.chunks_exact_mut(4).zip(message) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

struct Guard {
    to: File,
    /// Kept open, so that a write to a killed guard does not raise `SIGPIPE`.
    _from: OwnedFd,
    attempts: AtomicI32,
}

static GUARD: OnceLock<Option<Guard>> = OnceLock::new();

/// Starts a child that leads its own group, which ends with this process.
#[expect(unsafe_code, reason = "the child has to report itself before it becomes another program")]
pub(crate) fn spawn_bound(mut command: Command) -> io::Result<Child> {
    // Without a guard, the other means of the system still apply.
    let Some(guard) = GUARD.get_or_init(|| Guard::start().ok()) else { return command.spawn() };
    let attempt = guard.attempts.fetch_add(1, Ordering::Relaxed);
    let to = guard.to.as_raw_fd();
    // SAFETY: the closure makes only system calls that are allowed between fork and exec, and allocates nothing. The
    // pipe is open in the child until it becomes another program.
    unsafe {
        command.pre_exec(move || {
            let message = bytes([ADD, attempt, libc::getpid()]);
            libc::write(to, message.as_ptr().cast(), message.len());
            Ok(())
        });
    }
    let child = command.spawn();
    if child.is_err() {
        guard.tell([FAILED, attempt, 0]);
    }
    child
}

/// Tells the guard that the group of this child is ended and its id about to become free.
pub(crate) fn forget(id: libc::pid_t) {
    if let Some(Some(guard)) = GUARD.get() {
        guard.tell([FORGET, 0, id]);
    }
}

impl Guard {
    #[expect(unsafe_code, reason = "system calls that std does not offer")]
    fn start() -> io::Result<Self> {
        let (from, to) = io::pipe()?;
        let (from, to) = (OwnedFd::from(from), OwnedFd::from(to));
        // A stopped guard must not block this process when its pipe is full.
        // SAFETY: the descriptor is open, and no memory is involved.
        if unsafe { libc::fcntl(to.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let input = from.as_raw_fd();
        // SAFETY: the child has only this thread, and makes only system calls on memory of its own stack.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => watch(input),
            _ => Ok(Self { to: File::from(to), _from: from, attempts: AtomicI32::new(0) }),
        }
    }

    fn tell(&self, message: Message) {
        let _ = (&self.to).write_all(&bytes(message));
    }
}

/// Main loop of the guard. It must not allocate or take any lock: another thread may have held it at the fork.
#[expect(unsafe_code, reason = "only system calls are allowed here")]
fn watch(input: RawFd) -> ! {
    // SAFETY: these calls touch no memory of ours but `message`, which is valid for a write of its length.
    unsafe {
        // Signals for the parent, also from a terminal, end the parent, and the guard follows.
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // The guard must not keep other descriptors of the parent open: pipes would not end with it, nor would its
        // locks. The writing end of the guard's own pipe is among them.
        if libc::dup2(input, libc::STDIN_FILENO) < 0 {
            libc::_exit(1);
        }
        close_from(1);
        let mut groups = [(0_i32, 0_i32); MOST];
        let mut message = [0_i32; 3];
        loop {
            let read = libc::read(libc::STDIN_FILENO, message.as_mut_ptr().cast(), MESSAGE_BYTES);
            if read < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if usize::try_from(read) != Ok(MESSAGE_BYTES) {
                break;
            }
            let [kind, attempt, id] = message;
            for slot in &mut groups {
                match kind {
                    ADD if slot.1 == 0 => {
                        *slot = (attempt, id);
                        break;
                    }
                    FORGET if slot.1 == id => *slot = (0, 0),
                    FAILED if slot.0 == attempt => *slot = (0, 0),
                    _ => {}
                }
            }
        }
        for (_, id) in groups {
            if id > 1 {
                libc::kill(-id, libc::SIGKILL);
            }
        }
        libc::_exit(0)
    }
}

/// Closes all descriptors from `first` on.
#[expect(unsafe_code, reason = "system calls that std does not offer")]
fn close_from(first: RawFd) {
    /// Older systems close descriptors one by one; no process opens this many.
    const MOST_DESCRIPTORS: libc::c_long = 65_536;
    // SAFETY: no memory is involved, and nothing uses a descriptor of this process after this call.
    unsafe {
        #[cfg(target_os = "linux")]
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, MOST_DESCRIPTORS);
        for descriptor in first..most as RawFd {
            libc::close(descriptor);
        }
    }
}
