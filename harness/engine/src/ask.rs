//! Questions to a process that may crash or hang while it answers.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use perfharness_platform::{Exit, clock, detach_from_terminal, exit_of, has_ended, kill_tree};
use perfharness_record::plain_text::{make_plain, plain};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Most bytes of an answer, far above any real one; a program that prints without end exceeds them.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Time that a process has to end once it has closed its standard output.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// Most characters of its last words that are reported.
const MAX_WORDS_CHARS: usize = 200;

/// Time that drivers have to answer. It is long because the class that a run is filed under depends on their answer.
pub(crate) const DRIVER_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The process did not start.
    #[error("{0}")]
    Start(String),
    /// It ended before it answered.
    #[error("crashed with {exit}{}", words(.last_words))]
    Crashed {
        /// The exit code or signal.
        exit: Exit,
        /// The last line on its standard error.
        last_words: String,
    },
    /// It did not answer in time.
    #[error("did not answer within {} s", .0.as_secs_f64())]
    Hung(Duration),
    /// Its answer cannot be read.
    #[error("sent an answer that cannot be read: {0}")]
    Garbage(String),
}

fn words(last: &str) -> String {
    if last.is_empty() { String::new() } else { format!(" (its last words: {last})") }
}

/// Returns the command that asks this same program a question.
///
/// # Errors
/// When the path of this program cannot be found.
pub fn question(words: &[&str]) -> Result<Command, ProbeError> {
    let program = std::env::current_exe()
        .map_err(|error| ProbeError::Start(format!("cannot find the path of this program: {error}")))?;
    let mut command = Command::new(program);
    command.arg("probe").args(words);
    Ok(command)
}

/// Starts a process apart from the terminal, with pipes to its standard input and output.
pub(crate) fn spawn_detached(command: &mut Command) -> Result<Child, ProbeError> {
    detach_from_terminal(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
        ProbeError::Start(format!("cannot start `{}`: {error}", command.get_program().to_string_lossy()))
    })
}

/// Starts a process and reads the one line of JSON that it answers with. An answer counts even if the process crashes or
/// hangs after it, as some drivers do when they are unloaded.
///
/// # Errors
/// When there is no such answer within `timeout`. The process is ended in any case.
pub fn ask<T: DeserializeOwned>(mut command: Command, timeout: Duration) -> Result<T, ProbeError> {
    // Its standard input stays open for as long as somebody waits for the answer.
    let mut child = spawn_detached(command.stderr(Stdio::piped()))?;
    let line = in_background(child.stdout.take(), first_line);
    let last_words = in_background(child.stderr.take(), last_line);
    let answered = line.recv_timeout(timeout);
    // After its answer it may end in good order, and so keep what its drivers cache. A descendant of a process that has
    // ended may still hold the pipe.
    let grace = if answered == Err(RecvTimeoutError::Timeout) { Duration::ZERO } else { EXIT_GRACE };
    let ended_by_itself = ends_within(&mut child, grace);
    let status = end(child);
    match (answered, status.filter(|_| ended_by_itself)) {
        (Ok(line), _) if line.ends_with('\n') => {
            read_json(line.as_bytes()).map_err(|error| ProbeError::Garbage(error.to_string()))
        }
        (_, Some(status)) => {
            // A descendant may still hold the pipe, and nobody waits for it.
            let last_words = last_words.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
            Err(ProbeError::Crashed { exit: exit_of(status), last_words })
        }
        (_, None) => Err(ProbeError::Hung(timeout)),
    }
}

/// Reads a JSON text, and makes its strings plain because drivers write some of them.
pub(crate) fn read_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let mut value: Value = serde_json::from_slice(json)?;
    make_plain(&mut value);
    serde_json::from_value(value)
}

/// Writes a value as a line of JSON.
pub(crate) fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Waits until a process has ended, but not for longer than `grace`; returns whether it has. The process is not reaped, so
/// that its id still names its group.
pub(crate) fn ends_within(child: &mut Child, grace: Duration) -> bool {
    let start = clock::now();
    loop {
        match has_ended(child) {
            Ok(false) if start.elapsed() < grace => thread::sleep(Duration::from_millis(1)),
            other => return other.unwrap_or(false),
        }
    }
}

/// Ends the process and what it started. One that hangs within the kernel cannot be ended, so nobody waits long for it.
fn end(mut child: Child) -> Option<ExitStatus> {
    let (sender, ended) = bounded(1);
    thread::spawn(move || {
        let _ = kill_tree(&mut child);
        sender.send(child.wait().ok())
    });
    ended.recv_timeout(EXIT_GRACE).ok().flatten()
}

/// Reads a pipe on a thread of its own and sends the result.
fn in_background<R: Read + Send + 'static>(
    pipe: Option<R>,
    take: impl FnOnce(R) -> String + Send + 'static,
) -> Receiver<String> {
    let (sender, receiver) = bounded(1);
    if let Some(pipe) = pipe {
        thread::spawn(move || sender.send(take(pipe)));
    }
    receiver
}

fn first_line(pipe: impl Read) -> String {
    let mut line = Vec::new();
    // A process that dies may leave a part of its answer, which lacks the line end.
    let _ = BufReader::new(pipe.take(MAX_ANSWER_BYTES)).read_until(b'\n', &mut line);
    String::from_utf8_lossy(&line).into_owned()
}

fn last_line(pipe: impl Read) -> String {
    let mut reader = BufReader::new(pipe);
    let mut last = String::new();
    let mut line = Vec::new();
    while reader.by_ref().take(MAX_ANSWER_BYTES).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            last = plain(text.trim()).chars().take(MAX_WORDS_CHARS).collect();
        }
        line.clear();
    }
    last
}
