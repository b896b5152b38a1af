//! News of a run while it goes on.

use std::fmt;
use std::time::Duration;

use perfharness_record::Outcome;
use perfharness_record::units::counted;

use crate::ask::ProbeError;
use crate::journal::{Damage, JournalError};
use crate::measure::Event;
use crate::plan::Plan;

/// Hears of a run. Each method does nothing by default.
pub trait Listener {
    /// Takes up something that the user should know.
    fn note(&mut self, _note: &Note) {}

    /// Measuring begins, or begins again with cases that were added; `spent` is the time that launches took so far.
    ///
    /// # Errors
    /// When the listener does not want the run to go on.
    fn begin(&mut self, _plan: &Plan, _spent: Duration) -> Result<(), String> {
        Ok(())
    }

    /// Takes up an event, in order.
    fn event(&mut self, _event: &Event) {}

    /// Measuring has ended, or pauses.
    fn end(&mut self) {}
}

/// A listener that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {}

/// Something that the user should know of a run.
#[derive(Debug)]
pub enum Note {
    /// A worker gave no workloads.
    WorkerFailed {
        /// Its name.
        worker: String,
        /// End of its process.
        outcome: Outcome,
    },
    /// A workload contradicts itself and is left out.
    LeftOut {
        /// The worker's name.
        worker: String,
        /// Reason, as a clause.
        problem: String,
    },
    /// The journal is damaged from some line on.
    Damaged(Damage),
    /// The journal could not be written, so that the run cannot be resumed.
    NotResumable(JournalError),
    /// The adapters could not be listed.
    NoAdapter {
        /// Why.
        fault: String,
    },
    /// The ceilings of the machine are going to be measured.
    MeasuringCeilings,
    /// They could not be measured.
    NoCeilings(ProbeError),
    /// Instructions are going to be counted.
    Counting {
        /// The number of benchmarks, those of a base included.
        benchmarks: usize,
    },
    /// Nothing watches the machine.
    NotWatched(ProbeError),
}

impl Note {
    /// Whether the user should know it even where quiet is asked for.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            Self::WorkerFailed { .. } | Self::LeftOut { .. } | Self::Damaged(_) | Self::NotResumable(_)
        )
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkerFailed { worker, outcome } => {
                let reason = outcome.reason.as_deref().unwrap_or("");
                write!(f, "worker `{worker}` {}: {reason}", outcome.kind.as_str())
            }
            Self::LeftOut { worker, problem } => write!(f, "worker `{worker}`: {problem}; it is left out"),
            Self::Damaged(damage) => write!(f, "--resume: {damage}"),
            Self::NotResumable(fault) => write!(f, "{fault}; this run could not have been resumed"),
            Self::NoAdapter { fault } => {
                write!(f, "the record names no GPU: {fault}; `perfharness doctor` says more")
            }
            Self::MeasuringCeilings => {
                f.write_str("measuring what this machine can do at most; the result is kept for a week")
            }
            Self::Counting { benchmarks } => {
                write!(f, "counting the instructions of {}", counted(*benchmarks, "benchmark"))
            }
            Self::NoCeilings(error) => {
                write!(f, "the process that measures what this machine can do at most {error}")
            }
            Self::NotWatched(error) => write!(f, "the machine is not watched meanwhile: {error}"),
        }
    }
}
