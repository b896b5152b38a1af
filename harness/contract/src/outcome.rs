//! Outcomes of a benchmark.

use serde::{Deserialize, Serialize};

/// How the measurement of one benchmark ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// Measured, and every check passed.
    #[default]
    Ok,
    /// A check failed; times of a wrong variant are not reported.
    WrongResult,
    /// The benchmark ran out of memory, or exceeded its limit.
    OutOfMemory,
    /// The worker process died, reported an error, or broke the protocol.
    Crashed,
    /// A request was not answered within its deadline.
    TimedOut,
    /// The benchmark cannot run here, or is declared as skipped; the reason is given.
    Skipped,
    /// The run ended before its turn.
    NotRun,
}

impl OutcomeKind {
    /// Returns the word that users see and that JSON carries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::WrongResult => "wrong-result",
            Self::OutOfMemory => "out-of-memory",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
            Self::Skipped => "skipped",
            Self::NotRun => "not-run",
        }
    }
}
