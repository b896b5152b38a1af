//! Exit codes, and which error means which.

use std::process::ExitCode;

use perfharness_engine::journal::JournalError;
use perfharness_engine::plan::SelectError;
use perfharness_engine::run::RunError;
use perfharness_record::PatternError;
use perfharness_record::baseline::accept::AcceptError;
use perfharness_record::baseline::file::BaselineError;
use perfharness_record::file::RecordError;

use crate::config::ConfigError;
use crate::versions::VersionsError;

/// Exit codes of the program. An uninhabited type that holds constants.
#[derive(Debug)]
pub enum Exit {}

impl Exit {
    /// Everything that was asked for was done, and every benchmark ended as expected.
    pub const OK: u8 = 0;
    /// The harness itself failed.
    pub const FAILED: u8 = 1;
    /// The arguments or the configuration are wrong.
    pub const USAGE: u8 = 2;
    /// Something got slower, heavier or wrong (`gate`).
    pub const REGRESSED: u8 = 3;
    /// Nothing could be decided: nothing was measured, profiled or traced, or all of it is inconclusive.
    pub const UNDECIDED: u8 = 4;
    /// A benchmark failed: crashed, timed out, out of memory, wrong result.
    pub const BENCHMARK_FAILED: u8 = 5;
    /// The user stopped it; what was measured is kept.
    pub const INTERRUPTED: u8 = 130;
}

/// What a command can fail with.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Arguments that contradict each other, or something that they name is not there.
    #[error("{0}")]
    Usage(String),
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A pattern selects nothing.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A run gave no record.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A record could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A baseline could not be read or written.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// Figures cannot be accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The code to measure against could not be had.
    #[error(transparent)]
    Versions(#[from] VersionsError),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl CommandError {
    /// The exit code for this error.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_)
            | Self::Accept(_)
            | Self::Baseline(
                BaselineError::Read { .. } | BaselineError::Damaged { .. } | BaselineError::Version { .. },
            )
            | Self::Pattern(_)
            | Self::Select(_)
            | Self::Config(_) => Exit::USAGE,
            Self::Record(error) => of_record(error),
            Self::Run(error) => of_run(error),
            Self::Versions(error) if error.is_usage() => Exit::USAGE,
            Self::Baseline(BaselineError::Write { .. }) | Self::Versions(_) | Self::Other(_) => Exit::FAILED,
        }
    }
}

fn of_record(error: &RecordError) -> u8 {
    match error {
        RecordError::Read { .. } | RecordError::Parse { .. } | RecordError::Version { .. } => Exit::USAGE,
        RecordError::Write { .. } => Exit::FAILED,
    }
}

fn of_run(error: &RunError) -> u8 {
    match error {
        RunError::Pattern(_)
        | RunError::Select(_)
        | RunError::Journal(
            JournalError::Missing { .. } | JournalError::InUse { .. } | JournalError::Unusable { .. },
        )
        | RunError::Setting { .. }
        | RunError::NothingToCalibrate
        | RunError::Interrupted
        | RunError::OtherRequest { .. }
        | RunError::Changed { .. }
        | RunError::Occupied { .. } => Exit::USAGE,
        RunError::NoWorkloads { .. } => Exit::BENCHMARK_FAILED,
        RunError::Record(error) => of_record(error),
        RunError::Journal(JournalError::Io { .. })
        | RunError::Older { .. }
        | RunError::Encode(_)
        | RunError::Listener(_) => Exit::FAILED,
    }
}

/// What a command ends with.
pub type CommandResult = Result<u8, CommandError>;

/// The process's exit code.
pub fn exit_code(code: u8) -> ExitCode {
    ExitCode::from(code)
}
