//! Which workers there are, and what they can do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{MAIN_SEPARATOR, Path};
use std::time::Duration;

use perfharness_contract::OutcomeKind;
use sha2::{Digest as _, Sha256};

use super::Terminal;
use crate::args::WorkerOpts;
use crate::config::{Config, program_name};
use crate::exit::CommandError;
use perfharness_engine::measure::{CallError, LaunchOptions, ProcessExecutor, describe};
use perfharness_engine::plan::{Catalog, WorkerState};
use perfharness_record::file::open_regular;
use perfharness_record::{Outcome, WorkerCommand};

/// A worker's `describe` needs no measuring, so that it can be expected soon, whatever `--timeout` gives a sample.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// The workers that arguments and configuration name; the built-in one where neither names any.
pub(super) fn commands(opts: &WorkerOpts, config: &Config) -> Result<Vec<WorkerCommand>, CommandError> {
    if !opts.workers.is_empty() {
        return opts.workers.iter().map(|text| from_flag(text)).collect();
    }
    let mut workers = config.workers();
    if config.run.built_in.unwrap_or(workers.is_empty()) {
        let program = std::env::current_exe()
            .map_err(|e| anyhow::Error::new(e).context("cannot find the path of this program"))?;
        workers.insert(
            0,
            WorkerCommand {
                name: "built-in".into(),
                command: vec![program.to_string_lossy().into_owned(), "worker".into()],
                env: BTreeMap::new(),
                folder: None,
            },
        );
    }
    Ok(workers)
}

/// `--worker` takes the path of an executable as it is, spaces included, or a command line.
pub(super) fn from_flag(text: &str) -> Result<WorkerCommand, CommandError> {
    let command = if Path::new(text).is_file() {
        vec![text.to_owned()]
    } else {
        // Where a backslash separates folders it is no escape.
        let text = if MAIN_SEPARATOR == '\\' { text.replace('\\', "\\\\") } else { text.to_owned() };
        shlex::split(&text).filter(|words| !words.is_empty()).ok_or_else(|| {
            CommandError::Usage(format!("--worker {text:?} is no command line: check its quotes"))
        })?
    };
    Ok(WorkerCommand { name: program_name(&command), command, env: BTreeMap::new(), folder: None })
}

/// Asks every worker for its workloads. A worker that does not answer is kept with its outcome; the others go on.
pub(super) fn catalog(
    executor: &mut ProcessExecutor,
    commands: &[WorkerCommand],
    seed: u64,
    device: &str,
    timeout: Duration,
    terminal: &Terminal,
) -> Result<Catalog, CommandError> {
    let deadline = timeout.min(DESCRIBE_TIMEOUT);
    let options = LaunchOptions {
        seed,
        device: device.into(),
        // What a worker has to offer does not depend on them.
        settings: BTreeMap::new(),
        memory_limit_bytes: None,
        deadline,
    };
    let mut catalog = Catalog::default();
    for (number, command) in commands.iter().enumerate() {
        let digest = digest(command);
        let mut state = WorkerState { command: command.clone(), digest, hello: None, outcome: Outcome::ok() };
        let workloads = match describe(executor, number, &options) {
            Ok((hello, description)) => {
                state.hello = Some(hello);
                description.workloads
            }
            Err(CallError::Interrupted) => return Err(CommandError::Usage("interrupted".into())),
            Err(CallError::Ended(outcome)) => {
                let reason = outcome.reason.as_deref().unwrap_or("");
                terminal.warn(&format!("worker `{}` {}: {reason}", command.name, outcome.kind.as_str()));
                for line in &outcome.stderr {
                    terminal.warn(&format!("  | {line}"));
                }
                state.outcome = outcome;
                Vec::new()
            }
        };
        catalog.workers.push(state);
        let problems = catalog.add(number, workloads);
        for problem in &problems {
            terminal.warn(&format!("worker `{}`: {problem}; it is left out", command.name));
        }
        if !problems.is_empty() {
            // What is left out must not look like a run in which nothing went wrong.
            let reason = format!("left out: {}", problems.join("; "));
            catalog.workers[number].outcome = Outcome::new(OutcomeKind::Crashed, reason);
        }
    }
    Ok(catalog)
}

/// Refuses workers that have nothing to measure.
pub(super) fn insist_on_workloads(catalog: &Catalog) -> Result<(), CommandError> {
    if !catalog.entries.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = catalog.workers.iter().map(|worker| worker.command.name.as_str()).collect();
    let message = format!("no worker has anything to measure (asked: {})", names.join(", "));
    Err(CommandError::Workers(message))
}

/// SHA-256 over the files that a command names: the program, wherever the system finds it, and a script that an interpreter
/// is given.
pub(super) fn digest(command: &WorkerCommand) -> Option<String> {
    let folder = command.folder.clone().unwrap_or_default();
    let mut hash = Sha256::new();
    let mut found = false;
    for (number, word) in command.command.iter().enumerate() {
        let is_bare = !word.contains(['/', MAIN_SEPARATOR]);
        let path = match which::which(word) {
            Ok(program) if number == 0 && is_bare => program,
            _ => folder.join(word),
        };
        // A command may name anything; only what it names as a file belongs to it.
        if let Ok(mut file) = open_regular(&path)
            && let Ok(facts) = file.metadata()
        {
            hash.update(facts.len().to_le_bytes());
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = file.read(&mut buffer) {
                hash.update(&buffer[..read]);
            }
            found = true;
        }
    }
    let hex = |mut text: String, byte: &u8| {
        let _ = write!(text, "{byte:02x}");
        text
    };
    found.then(|| hash.finalize().iter().fold(String::new(), hex))
}
