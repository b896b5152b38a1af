//! A process that is asked one thing, and may crash or hang over it.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use perfharness_platform::{Exit, clock, detach_from_terminal, exit_of, kill_tree};
use serde::de::DeserializeOwned;
use serde_json::Value;

use perfharness_record::plain_text::{make_plain, plain};

/// No answer is nearly as long; what is longer is a program that prints without end.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// How long a process may take to end once it has closed its standard output.
const FAREWELL: Duration = Duration::from_secs(2);
/// Characters of its last words that are worth telling.
const WORDS: usize = 200;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The process did not start.
    #[error("{0}")]
    Start(String),
    /// It ended before it had answered.
    #[error("crashed with {exit}{}", words(.last_words))]
    Crashed {
        /// How it ended.
        exit: Exit,
        /// The last line on its standard error.
        last_words: String,
    },
    /// It did not answer in time.
    #[error("did not answer within {} s", .0.as_secs_f64())]
    Hung(Duration),
    /// What it answered cannot be read.
    #[error("answered what cannot be read: {0}")]
    Garbage(String),
}

fn words(last: &str) -> String {
    if last.is_empty() { String::new() } else { format!(" (its last words: {last})") }
}

/// This program, with a question.
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

/// Starts a process and reads the one line of JSON that it answers with. An answer counts even where the process
/// crashes or hangs after it, as some drivers do when they are unloaded.
///
/// # Errors
/// Where there is no such answer within `patience`. The process is ended in any case.
pub fn ask<T: DeserializeOwned>(mut command: Command, patience: Duration) -> Result<T, ProbeError> {
    // Its standard input stays open for as long as somebody waits for the answer.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    detach_from_terminal(&mut command);
    let mut child = command.spawn().map_err(|error| {
        ProbeError::Start(format!("cannot start `{}`: {error}", command.get_program().to_string_lossy()))
    })?;
    let line = in_background(child.stdout.take(), first_line);
    let last_words = in_background(child.stderr.take(), last_line);
    let answered = line.recv_timeout(patience);
    // After its answer it may end in good order, and so keep what its drivers cache.
    let exit = match answered {
        // A descendant of a process that has ended may hold the pipe still.
        Err(RecvTimeoutError::Timeout) => child.try_wait().ok().flatten().map(exit_of),
        Ok(_) | Err(RecvTimeoutError::Disconnected) => exit_soon(&mut child),
    };
    end(child);
    match (answered, exit) {
        (Ok(line), _) if line.ends_with('\n') => read(&line),
        (_, Some(exit)) => {
            // A descendant may hold the pipe still, which must not keep us.
            let last_words = last_words.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
            Err(ProbeError::Crashed { exit, last_words })
        }
        (_, None) => Err(ProbeError::Hung(patience)),
    }
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, ProbeError> {
    let parsed = serde_json::from_str(line).and_then(|mut value: Value| {
        // Names come from drivers.
        make_plain(&mut value);
        serde_json::from_value(value)
    });
    parsed.map_err(|error| ProbeError::Garbage(error.to_string()))
}

/// How a process that has said its last ended; `None` where it goes on.
fn exit_soon(child: &mut Child) -> Option<Exit> {
    let start = clock::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(exit_of(status)),
            Ok(None) if start.elapsed() < FAREWELL => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Ends the process. One that hangs within the kernel cannot be ended and waited for, so nobody waits long.
fn end(mut child: Child) {
    let (sender, ended) = bounded(1);
    thread::spawn(move || sender.send(kill_tree(&mut child)));
    let _ = ended.recv_timeout(FAREWELL);
}

/// Reads a pipe without waiting for it; what comes of it is sent.
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
    // What a process that died left of its answer is no answer, as it lacks the line end.
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
            last = plain(text.trim()).chars().take(WORDS).collect();
        }
        line.clear();
    }
    last
}
