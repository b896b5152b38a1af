//! Asks workers for their workloads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::MAIN_SEPARATOR;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_record::file::open_regular;
use perfharness_record::{Outcome, WorkerCommand};
use sha2::{Digest as _, Sha256};

use super::{Listener, Note, RunError};
use crate::measure::{CallError, LaunchOptions, ProcessExecutor, describe};
use crate::plan::{Catalog, WorkerState};
use crate::request::RunRequest;

/// A worker's `describe` needs no measuring, so an answer can be expected soon, however long `--timeout` gives a sample.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the workers of a request for their workloads. A worker that does not answer is kept with its outcome.
///
/// # Errors
/// When no worker has a workload, or the user stops it.
pub fn ask_workers(request: &RunRequest, listener: &mut dyn Listener) -> Result<Catalog, RunError> {
    let catalog = ask(request, &request.workers, &Arc::default(), listener)?;
    insist_on_workloads(&catalog)?;
    Ok(catalog)
}

/// Refuses workers that have nothing to measure.
pub(super) fn insist_on_workloads(catalog: &Catalog) -> Result<(), RunError> {
    if !catalog.entries.is_empty() {
        return Ok(());
    }
    let workers = catalog.workers.iter().map(|worker| worker.command.name.clone()).collect();
    Err(RunError::NoWorkloads { workers })
}

/// Asks these workers, under the conditions of a request.
pub(super) fn ask(
    request: &RunRequest,
    commands: &[WorkerCommand],
    interrupted: &Arc<AtomicBool>,
    listener: &mut dyn Listener,
) -> Result<Catalog, RunError> {
    let mut executor = ProcessExecutor::new(commands.to_vec(), Arc::clone(interrupted));
    let options = LaunchOptions {
        seed: request.seed,
        device: request.device.clone(),
        // The workloads of a worker do not depend on its settings.
        settings: BTreeMap::new(),
        memory_limit_bytes: None,
        deadline: request.timeout.min(DESCRIBE_TIMEOUT),
        layout: 0,
    };
    let mut catalog = Catalog::default();
    for (number, command) in commands.iter().enumerate() {
        let digest = digest(command);
        let mut state = WorkerState { command: command.clone(), digest, hello: None, outcome: Outcome::ok() };
        let workloads = match describe(&mut executor, number, &options) {
            Ok((hello, description)) => {
                state.hello = Some(hello);
                description.workloads
            }
            Err(CallError::Interrupted) => return Err(RunError::Interrupted),
            Err(CallError::Ended(outcome)) => {
                let worker = command.name.clone();
                listener.note(&Note::WorkerFailed { worker, outcome: outcome.clone() });
                state.outcome = outcome;
                Vec::new()
            }
        };
        catalog.workers.push(state);
        let problems = catalog.add(number, workloads);
        for problem in &problems {
            listener.note(&Note::LeftOut { worker: command.name.clone(), problem: problem.clone() });
        }
        if !problems.is_empty() {
            // A run that left something out must not look like one in which nothing went wrong.
            let reason = format!("left out: {}", problems.join("; "));
            catalog.workers[number].outcome = Outcome::new(OutcomeKind::Crashed, reason);
        }
    }
    Ok(catalog)
}

/// SHA-256 over the files that a command names: the program, wherever the system finds it, and a script for an interpreter.
fn digest(command: &WorkerCommand) -> Option<String> {
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
