//! Errors of a run.

use std::io;
use std::path::PathBuf;

use perfharness_record::PatternError;
use perfharness_record::file::RecordError;

use crate::journal::JournalError;
use crate::plan::SelectError;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A pattern selects nothing.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The record or its samples could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A flag sets what no workload asks for.
    #[error("no workload has a setting `{name}`; {}", known_settings(.known))]
    Setting {
        /// The setting.
        name: String,
        /// The settings that workloads ask for.
        known: Vec<String>,
    },
    /// No worker has a workload.
    #[error("no worker has anything to measure (asked: {})", .workers.join(", "))]
    NoWorkloads {
        /// Names of the workers.
        workers: Vec<String>,
    },
    /// Every benchmark that was selected is slow on purpose or skipped.
    #[error(
        "there is nothing to calibrate: what was asked for is kept slow on purpose or skipped, so that no gate judges its time"
    )]
    NothingToCalibrate,
    /// The user stopped it before anything was measured.
    #[error("interrupted")]
    Interrupted,
    /// The run to continue was started with another request.
    #[error("--resume: the run of {started} was started with other arguments; give the same ones")]
    OtherRequest {
        /// When it was started.
        started: String,
    },
    /// The run to continue was started with other programs or code.
    #[error("--resume: {what} has changed since {started}; start the run again without --resume")]
    Changed {
        /// The thing that changed.
        what: &'static str,
        /// When the run was started.
        started: String,
    },
    /// Something else is in the place of the record.
    #[error("cannot write the record to {}: {what}; name another file with --output", path.display())]
    Occupied {
        /// The place.
        path: PathBuf,
        /// Description of the thing in the place.
        what: String,
    },
    /// The older record in the place cannot be moved.
    #[error("cannot move the older record {} away: {source}", path.display())]
    Older {
        /// The older record.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The samples cannot be encoded, which would be a bug.
    #[error("cannot encode the samples: {0}")]
    Encode(io::Error),
    /// The listener refused to go on.
    #[error("{0}")]
    Listener(String),
}

fn known_settings(known: &[String]) -> String {
    if known.is_empty() {
        "no workload here has any".into()
    } else {
        format!("there are: {}", known.join(", "))
    }
}
