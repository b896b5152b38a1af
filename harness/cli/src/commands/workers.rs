//! The workers that flags and configuration name.

use std::path::{MAIN_SEPARATOR, Path};

use perfharness_record::WorkerCommand;

use crate::args::WorkerOpts;
use crate::config::{Config, program_name};
use crate::exit::CommandError;

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
                ..WorkerCommand::default()
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
            CommandError::Usage(format!("--worker {text:?} is not a command line: check its quotes"))
        })?
    };
    Ok(WorkerCommand { name: program_name(&command), command, ..WorkerCommand::default() })
}
