//! Workers as processes: the real side of the [`Executor`] seam.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};
use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{
    Description, ErrorCode, Hello, HelloReply, Mode, PROTOCOL_VERSION, Request, RequestFrame, WireError,
};
use perfharness_platform::{
    Exit, MachineCounters, ProcessUsage, clock, exit_of, has_ended, kill_tree, limit_memory,
    machine_counters, process_usage, spawn_bound,
};
use perfharness_record::plain_text::plain;
use perfharness_record::{Outcome, WorkerCommand};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::anchor::Anchor;
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call};
use super::frame::{Answer, Bounds, LONGEST_LINE, shortened, start_in};
use super::scratch::Scratch;
use crate::ask::ends_within;
use crate::telemetry::{DeviceState, News, Watcher};

/// Last lines of a worker that are kept for its outcome.
const KEPT_LINES: usize = 20;
/// Most characters of such a line.
const KEPT_CHARS: usize = 500;
/// Bytes that hold as many characters in any case.
const KEPT_BYTES: usize = 4 * KEPT_CHARS;
/// Longest frame that is repaired if it is not UTF-8, because that may take three times its memory.
const REPAIRED_BYTES: usize = 256 << 10;
/// Time between two checks of memory, deadline and interruption while a worker is busy.
const POLL: Duration = Duration::from_millis(20);
/// Time that a worker has to end by itself.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// Share of the machine's memory that a worker without a limit may use.
const MEMORY_SHARE: f64 = 0.9;

/// Starts workers as processes.
pub struct ProcessExecutor {
    workers: Vec<WorkerCommand>,
    interrupted: Arc<AtomicBool>,
    total_memory: u64,
    anchor: Anchor,
    watcher: Option<Arc<Watcher>>,
}

impl ProcessExecutor {
    /// Creates an executor for these workers; `interrupted` is set when the user asks to stop.
    pub fn new(workers: Vec<WorkerCommand>, interrupted: Arc<AtomicBool>) -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        // If the size of memory is unknown, it limits nothing.
        let total_memory = System::new_with_specifics(kind).map_or(u64::MAX, |system| system.total_memory());
        Self { workers, interrupted, total_memory, anchor: Anchor::new(), watcher: None }
    }

    /// Watches the machine, and the workers that are started from here on.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(Arc::new(watcher));
    }
}

impl Executor for ProcessExecutor {
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn launch(&mut self, worker: usize, options: &LaunchOptions) -> Result<Opened, CallError> {
        let mut session = ProcessSession::start(&self.workers[worker], options, self)?;
        let request = Request::Hello(Hello {
            protocols: vec![PROTOCOL_VERSION],
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            seed: options.seed,
            device: options.device.clone(),
            scratch_dir: session.scratch.path().display().to_string(),
            memory_limit_bytes: options.memory_limit_bytes,
            settings: options.settings.clone(),
            modes: Mode::ALL.to_vec(),
        });
        let before = clock::monotonic_ns();
        let hello: HelloReply = call(&mut session, &request, options.deadline)?;
        let after = clock::monotonic_ns();
        if hello.protocol != PROTOCOL_VERSION {
            let reason =
                format!("it speaks protocol {}; this harness speaks {PROTOCOL_VERSION}", hello.protocol);
            return Err(CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason)));
        }
        // The answer was made between the two readings, so their middle is off by half of the difference at most.
        session.clock_offset_ns = hello
            .clock_ns
            .map(|theirs| before.midpoint(after).cast_signed().wrapping_sub(theirs.cast_signed()));
        Ok(Opened { session: Box::new(session), hello })
    }

    fn machine(&self) -> MachineCounters {
        machine_counters()
    }

    fn device(&self) -> DeviceState {
        self.watcher.as_ref().map(|watcher| watcher.device()).unwrap_or_default()
    }

    fn news(&self) -> Vec<News> {
        self.watcher.as_ref().map(|watcher| watcher.news()).unwrap_or_default()
    }

    fn anchor_ns(&self) -> Option<f64> {
        Some(self.anchor.time_ns())
    }

    fn load_average(&self) -> Option<f64> {
        System::load_average().ok().map(|load| load.one)
    }

    fn total_memory(&self) -> u64 {
        self.total_memory
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Asks a worker for its workloads, in a process of its own.
///
/// # Errors
/// When the worker does not answer.
pub fn describe(
    executor: &mut ProcessExecutor,
    worker: usize,
    options: &LaunchOptions,
) -> Result<(HelloReply, Description), CallError> {
    let mut opened = executor.launch(worker, options)?;
    let description = call(opened.session.as_mut(), &Request::Describe, options.deadline)?;
    opened.session.finish();
    Ok((opened.hello, description))
}

/// Line of a worker's stdout.
enum Line {
    Frame(Vec<u8>),
    TooLong,
    End,
}

/// Last lines that a worker wrote, on stderr or between its frames.
#[derive(Clone, Default)]
struct WorkerLog(Arc<Mutex<LastWords>>);

#[derive(Default)]
struct LastWords {
    /// Stream and beginning of each line. They are decoded only for an outcome, because there may be millions.
    lines: VecDeque<(&'static str, Vec<u8>)>,
    /// Whether a line since the last request reported a failed allocation; a long backtrace may have pushed it out.
    allocation_failed: bool,
}

impl WorkerLog {
    fn words(&self) -> std::sync::MutexGuard<'_, LastWords> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn push(&self, place: &'static str, line: &[u8]) {
        let mut words = self.words();
        // Rust and CPython write these when an allocation fails, before they exit.
        let failed = || line.starts_with(b"memory allocation of ") || line.trim_ascii_end() == b"MemoryError";
        words.allocation_failed |= place.is_empty() && failed();
        let spare = if words.lines.len() == KEPT_LINES { words.lines.pop_front() } else { None };
        let mut kept = spare.map(|(_, kept)| kept).unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(&line[..line.len().min(KEPT_BYTES)]);
        words.lines.push_back((place, kept));
    }

    fn lines(&self) -> Vec<String> {
        let readable = |(place, line): &(&str, Vec<u8>)| {
            let text: String = String::from_utf8_lossy(line).trim_end().chars().take(KEPT_CHARS).collect();
            plain(&format!("{place}{text}"))
        };
        self.words().lines.iter().map(readable).collect()
    }

    fn allocation_failed(&self) -> bool {
        self.words().allocation_failed
    }
}

struct ProcessSession {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Line>,
    stderr_done: Receiver<()>,
    log: WorkerLog,
    next_id: u64,
    clock_offset_ns: Option<i64>,
    memory_limit: u64,
    limit_is_users: bool,
    interrupted: Arc<AtomicBool>,
    scratch: Scratch,
    watcher: Option<Arc<Watcher>>,
}

/// Removes the variables from a command's environment that point git to a repository, as in a hook.
pub fn forget_repository(command: &mut Command) {
    for name in ["DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "PREFIX", "NAMESPACE"] {
        command.env_remove(format!("GIT_{name}"));
    }
}

impl ProcessSession {
    fn start(
        worker: &WorkerCommand,
        options: &LaunchOptions,
        executor: &ProcessExecutor,
    ) -> Result<Self, CallError> {
        let crashed = |reason: String| CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason));
        let scratch =
            Scratch::new().map_err(|e| crashed(format!("cannot create a folder for its files: {e}")))?;
        let command = worker.in_layout(options.layout);
        let Some((program, arguments)) = command.split_first() else {
            return Err(crashed("its command is empty".into()));
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(&worker.env);
        if let Some(folder) = &worker.folder {
            forget_repository(&mut command);
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            spawn_bound(command).map_err(|e| crashed(format!("cannot start `{program}`: {e}")))?;
        if let Some(limit) = options.memory_limit_bytes {
            // If the OS cannot limit it, the harness watches the memory.
            let _ = limit_memory(&child, limit);
        }
        let log = WorkerLog::default();
        // A worker has one answer to give at a time. A worker that writes more is blocked, and found out.
        let (line_sender, lines) = bounded(1);
        let (done_sender, stderr_done) = bounded(1);
        if let Some(stdout) = child.stdout.take() {
            let log = log.clone();
            thread::spawn(move || read_frames(stdout, &line_sender, &log));
        }
        if let Some(stderr) = child.stderr.take() {
            let log = log.clone();
            thread::spawn(move || {
                read_words(stderr, &log);
                let _ = done_sender.send(());
            });
        }
        if let Some(watcher) = &executor.watcher {
            watcher.add(child.id());
        }
        let own_limit = (executor.total_memory as f64 * MEMORY_SHARE) as u64;
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr_done,
            log,
            next_id: 1,
            clock_offset_ns: None,
            memory_limit: options.memory_limit_bytes.unwrap_or(own_limit),
            limit_is_users: options.memory_limit_bytes.is_some(),
            interrupted: Arc::clone(&executor.interrupted),
            scratch,
            watcher: executor.watcher.clone(),
        })
    }

    fn send(&mut self, request: &Request, deadline: Duration) -> std::io::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        // An allocation that failed during an earlier request did not end the worker.
        self.log.words().allocation_failed = false;
        let frame = RequestFrame {
            perfharness: PROTOCOL_VERSION,
            id,
            deadline_ms: Some(deadline.as_millis() as u64),
            request: request.clone(),
        };
        let mut line = serde_json::to_string(&frame)?;
        line.push('\n');
        let Some(stdin) = &mut self.stdin else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        stdin.write_all(line.as_bytes())?;
        stdin.flush()?;
        Ok(id)
    }

    /// Ends the process by force; its last lines become part of the outcome.
    fn end(&mut self, kind: OutcomeKind, reason: impl Into<String>) -> CallError {
        self.stop();
        CallError::Ended(Outcome::new(kind, reason).with_stderr(self.log.lines()))
    }

    fn stop(&mut self) {
        self.stdin = None;
        let _ = kill_tree(&mut self.child);
        let _ = self.child.wait();
        // The last lines may still be in the pipe, but a grandchild that holds it must not block the harness.
        let _ = self.stderr_done.recv_timeout(Duration::from_millis(200));
    }

    /// Finds out how a worker ended that closed its stdout.
    fn died(&mut self, op: &str) -> CallError {
        let by_itself = ends_within(&mut self.child, EXIT_GRACE);
        // Its descendants are ended before it is reaped, because its id names their group until then.
        self.stop();
        let kept = self.log.lines();
        let status = if by_itself { self.child.wait().ok() } else { None };
        let Some(status) = status else {
            let reason = format!("it closed its stdout during `{op}` but did not exit");
            return CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason).with_stderr(kept));
        };
        let exit = exit_of(status);
        let outcome = if self.log.allocation_failed() {
            Outcome::new(OutcomeKind::OutOfMemory, format!("an allocation failed during `{op}` ({exit})"))
        } else {
            let hint = match exit {
                exit if exit.is_kill() => "; the system does this when memory runs out",
                Exit::Code(0) => "; a worker must not exit before `finish`",
                Exit::Code(_) | Exit::Signal { .. } | Exit::Exception { .. } => "",
            };
            Outcome::new(OutcomeKind::Crashed, format!("it ended during `{op}` with {exit}{hint}"))
        };
        CallError::Ended(outcome.with_stderr(kept))
    }

    /// Returns an error if the worker wrote a frame or ended since its last answer.
    fn wrote_unasked(&mut self, op: &str) -> Option<CallError> {
        match self.lines.try_recv() {
            Err(TryRecvError::Empty) => None,
            Ok(Line::Frame(_)) => Some(
                self.end(OutcomeKind::Crashed, format!("it wrote a frame before it was asked for `{op}`")),
            ),
            Ok(Line::TooLong) => Some(self.too_long()),
            Ok(Line::End) | Err(TryRecvError::Disconnected) => Some(self.died(op)),
        }
    }

    fn too_long(&mut self) -> CallError {
        self.end(OutcomeKind::Crashed, format!("it wrote a line of over {} MiB", LONGEST_LINE >> 20))
    }

    fn over_limit(&self) -> Option<u64> {
        process_usage(&self.child).rss_bytes.filter(|rss| *rss > self.memory_limit)
    }
}

impl Session for ProcessSession {
    fn call(&mut self, request: &Request, deadline: Duration) -> Result<String, CallError> {
        let op = request.op();
        if let Some(error) = self.wrote_unasked(op) {
            return Err(error);
        }
        let Ok(id) = self.send(request, deadline) else {
            return Err(self.died(op));
        };
        let start = clock::now();
        let mut gone_since = None;
        loop {
            // Also checked before an answer: a worker that always answers quickly must not delay the end of the run.
            if self.interrupted.load(Ordering::Relaxed) {
                self.stop();
                return Err(CallError::Interrupted);
            }
            match self.lines.recv_timeout(POLL) {
                Ok(Line::Frame(line)) => {
                    return content(request, id, line).map_err(|(kind, reason)| self.end(kind, reason));
                }
                Ok(Line::TooLong) => return Err(self.too_long()),
                Ok(Line::End) | Err(RecvTimeoutError::Disconnected) => return Err(self.died(op)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Its stdout may outlive it, because its descendants hold the pipe. Its last answer may still be in there.
            let since =
                gone_since.or_else(|| has_ended(&mut self.child).is_ok_and(|has| has).then(clock::now));
            if gone_since.is_none() && since.is_some() {
                let _ = kill_tree(&mut self.child);
            }
            gone_since = since;
            if gone_since.is_some_and(|since| since.elapsed() > EXIT_GRACE) {
                return Err(self.died(op));
            }
            if start.elapsed() > deadline {
                let reason = format!("no answer to `{op}` within {:.1} s", deadline.as_secs_f64());
                return Err(self.end(OutcomeKind::TimedOut, reason));
            }
            if let Some(rss) = self.over_limit() {
                let whose =
                    if self.limit_is_users { "its limit" } else { "nine tenths of the machine's memory" };
                let mib = |bytes: u64| bytes >> 20;
                let reason = format!(
                    "it held {} MiB during `{op}`, more than {whose} of {} MiB",
                    mib(rss),
                    mib(self.memory_limit)
                );
                return Err(self.end(OutcomeKind::OutOfMemory, reason));
            }
        }
    }

    fn usage(&self) -> ProcessUsage {
        process_usage(&self.child)
    }

    fn clock_offset_ns(&self) -> Option<i64> {
        self.clock_offset_ns
    }

    fn pid(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn finish(mut self: Box<Self>) {
        let _ = self.call(&Request::Finish, EXIT_GRACE);
        self.stdin = None;
        ends_within(&mut self.child, EXIT_GRACE);
    }
}

impl Drop for ProcessSession {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.remove(self.child.id());
        }
        let _ = kill_tree(&mut self.child);
        let _ = self.child.wait();
    }
}

/// Returns the content of the answer to a request, or the outcome of a worker that does not give it.
fn content(request: &Request, id: u64, line: Vec<u8>) -> Result<String, (OutcomeKind, String)> {
    let op = request.op();
    let crashed = |reason: String| (OutcomeKind::Crashed, reason);
    let not_a_frame =
        |error: &dyn std::fmt::Display| crashed(format!("its answer to `{op}` is not a frame: {error}"));
    let line = String::from_utf8(line).or_else(|error| match error.as_bytes() {
        bytes if bytes.len() <= REPAIRED_BYTES => Ok(String::from_utf8_lossy(bytes).into_owned()),
        _ => Err(not_a_frame(&error)),
    })?;
    let checked = Bounds::of(request).checked(line);
    let mut line = checked.map_err(|reason| crashed(format!("its answer to `{op}` {reason}")))?;
    let frame: Answer<'_> = serde_json::from_str(&line).map_err(|error| not_a_frame(&error))?;
    if frame.perfharness != PROTOCOL_VERSION {
        let version = frame.perfharness;
        return Err(crashed(format!(
            "its frames have version {version}; this harness reads version {PROTOCOL_VERSION}"
        )));
    }
    if frame.id != id {
        let answered = frame.id;
        return Err(crashed(format!("it answered request {answered} while request {id} (`{op}`) was open")));
    }
    let content = frame.content_in(&line);
    match (content, frame.error.map(|WireError { code, message }| (code, shortened(&message)))) {
        (Some(content), None) => {
            // In place, because an answer may be long.
            line.truncate(content.end);
            line.drain(..content.start);
            Ok(line)
        }
        (None, Some((code, message))) => Err(match code {
            ErrorCode::Unavailable => (OutcomeKind::Skipped, message),
            ErrorCode::OutOfMemory => (OutcomeKind::OutOfMemory, message),
            ErrorCode::UnsupportedProtocol
            | ErrorCode::Unsupported
            | ErrorCode::BadRequest
            | ErrorCode::Failed => crashed(format!("`{op}` failed: {message}")),
        }),
        (Some(_), Some(_)) | (None, None) => {
            Err(crashed(format!("its answer to `{op}` needs exactly one of `ok` and `error`")))
        }
    }
}

/// Forwards the frames of a worker's stdout; all other lines go to the log.
fn read_frames(stdout: impl Read, sender: &Sender<Line>, log: &WorkerLog) {
    /// Size to which the buffer shrinks after a long line.
    const SPARE_BYTES: usize = 64 << 10;
    let mut reader = BufReader::with_capacity(SPARE_BYTES, stdout);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        buffer.shrink_to(SPARE_BYTES);
        let read = reader.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut buffer);
        let line = match read {
            Ok(0) | Err(_) => Line::End,
            Ok(_) if buffer.len() == LONGEST_LINE && !buffer.ends_with(b"\n") => Line::TooLong,
            // A worker that died leaves an incomplete line.
            Ok(_) if !buffer.ends_with(b"\n") => {
                log.push(STDOUT, &buffer);
                Line::End
            }
            Ok(_) => {
                buffer.truncate(buffer.trim_ascii_end().len());
                let start = start_in(&buffer);
                let before = &buffer[..start.unwrap_or(buffer.len())];
                if !before.trim_ascii().is_empty() {
                    log.push(STDOUT, before);
                }
                let Some(start) = start else { continue };
                buffer.drain(..start);
                Line::Frame(std::mem::take(&mut buffer))
            }
        };
        let last = !matches!(line, Line::Frame(_));
        if sender.send(line).is_err() || last {
            return;
        }
    }
}

/// Prefix of lines that a worker wrote between its frames.
const STDOUT: &str = "stdout: ";

/// Keeps the beginnings of the last lines of a worker's stderr.
fn read_words(stderr: impl Read, log: &WorkerLog) {
    let mut reader = BufReader::with_capacity(64 << 10, stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(KEPT_BYTES as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        log.push("", &line);
        if !line.ends_with(b"\n") && reader.skip_until(b'\n').is_err() {
            return;
        }
    }
}
