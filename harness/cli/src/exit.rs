//! Exit codes and their errors.

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
pub(crate) enum Exit {}

impl Exit {
    /// The command did everything that was requested, and every benchmark ended as expected.
    pub(crate) const OK: u8 = 0;
    /// The harness itself failed.
    pub(crate) const FAILED: u8 = 1;
    /// The arguments or the configuration are wrong.
    pub(crate) const USAGE: u8 = 2;
    /// Nothing was decided: nothing was measured, profiled or traced, or every row is inconclusive.
    pub(crate) const UNDECIDED: u8 = 4;
    /// A benchmark failed: crashed, timed out, out of memory, wrong result.
    pub(crate) const BENCHMARK_FAILED: u8 = 5;
    /// The user interrupted the command; measured samples are kept.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// Contradictory arguments, or an argument that names something missing.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(transparent)]
    Select(#[from] SelectError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Accept(#[from] AcceptError),
    #[error(transparent)]
    Versions(#[from] VersionsError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl CommandError {
    /// Returns the exit code of the error.
    pub(crate) fn code(&self) -> u8 {
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

/// The exit code of a command, or its error.
pub(crate) type CommandResult = Result<u8, CommandError>;
