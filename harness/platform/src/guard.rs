//! A process that outlives this one by an instant, and kills the groups of the children that it left.
//!
//! It is forked once, before the first such child, and does nothing but read a pipe whose other end this process holds:
//! that pipe ends when this process does, however it ends. A thread could not do this, and a signal at the parent's death
//! is for one process and not for its group.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// A child that begins, by its own word: nobody is between its start and this.
const ADD: i32 = 1;
/// A child that is about to be waited for.
const FORGET: i32 = 2;
/// A child that could not be started, by the number of its attempt.
const FAILED: i32 = 3;
/// Children that are alive at the same time; further ones are not looked after.
const MOST: usize = 1024;

/// What the guard is told: what happened, the number of the attempt to start a child, and the child's id. It is written as
/// a whole, as it is much shorter than what a pipe takes at once.
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
    /// Held so that a write to a guard that was killed is no `SIGPIPE`.
    _from: OwnedFd,
    attempts: AtomicI32,
}

static GUARD: OnceLock<Option<Guard>> = OnceLock::new();

/// Starts a child that leads a group of its own, which ends with this process.
#[expect(unsafe_code, reason = "the child has to tell of itself before it becomes another program")]
pub(crate) fn spawn_bound(mut command: Command) -> io::Result<Child> {
    // Without a guard there is still whatever else the system has.
    let Some(guard) = GUARD.get_or_init(|| Guard::start().ok()) else { return command.spawn() };
    let attempt = guard.attempts.fetch_add(1, Ordering::Relaxed);
    let to = guard.to.as_raw_fd();
    // SAFETY: the closure makes system calls that are allowed between fork and exec, and allocates nothing. The pipe is
    // open in the child until it becomes another program.
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

/// The group of this child is ended, and its id is about to be free.
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
        // A guard that was stopped must not stop us when its pipe is full.
        // SAFETY: the descriptor is open, and no memory is involved.
        if unsafe { libc::fcntl(to.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let input = from.as_raw_fd();
        // SAFETY: the child has only this thread, and does nothing but system calls on memory of its own stack.
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

/// The guard's life. It may not allocate, nor take any lock: another thread may have held it when this process was forked.
#[expect(unsafe_code, reason = "nothing but system calls is allowed here")]
fn watch(input: RawFd) -> ! {
    // SAFETY: none of these calls touches memory of ours but `message`, which is valid for a write of its length.
    unsafe {
        // What is meant for our parent, from a terminal too, ends our parent; we follow.
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Nothing else of our parent's stays open by us: pipes would not end with it, nor would its locks. The writing
        // end of our own pipe is among them.
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

/// Closes all descriptors from this one on.
#[expect(unsafe_code, reason = "system calls that std does not offer")]
fn close_from(first: RawFd) {
    /// Older systems are asked one by one; nobody opens as many.
    const MOST_DESCRIPTORS: libc::c_long = 65_536;
    // SAFETY: no memory is involved, and nobody uses a descriptor of this process behind this call.
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
