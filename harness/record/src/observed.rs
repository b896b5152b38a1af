//! Results of launches in which nothing is timed: profiles, memory stories and traces.

use perfharness_contract::protocol::Trace;

use crate::memory::MemoryStory;
use crate::outcome::Outcome;
use crate::stacks::StackProfile;

/// Result of profiling a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiled {
    /// Outcome of the launch.
    pub outcome: Outcome,
    /// The profile, or the reason why there is none.
    pub profile: Result<StackProfile, String>,
}

impl Profiled {
    /// It did not end well.
    pub fn ended(outcome: Outcome) -> Self {
        Self { profile: Err(outcome.in_words()), outcome }
    }

    /// There is nothing to be had, and nothing went wrong.
    pub fn absent(reason: String) -> Self {
        Self { outcome: Outcome::ok(), profile: Err(reason) }
    }
}

/// Result of following a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// Outcome of the launch.
    pub outcome: Outcome,
    /// The story, or the reason why there is none.
    pub story: Result<MemoryStory, String>,
}

/// Timeline of one launch. All moments are in ns of the harness's clock, those of tracks with a clock of their
/// own excepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Phases of the harness, one after the other, from the start of the process to its end.
    pub phases: Vec<Phase>,
    /// Name that the worker gives itself.
    pub worker: String,
    /// Iterations of the traced sample.
    pub iterations: u64,
    /// When the traced sample began, without the making of its inputs.
    pub start_ns: u64,
    /// Length in ns, by the worker's clock.
    pub wall_ns: u64,
    /// Trace of the worker.
    pub trace: Trace,
    /// By how much the worker's moments may be off beside the harness's, in ns.
    pub uncertainty_ns: u64,
    /// Most memory that the process held, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

impl Timeline {
    /// From the start of the process to its end, in ns.
    pub fn launch_ns(&self) -> u64 {
        let (first, last) = (self.phases.first(), self.phases.last());
        first.zip(last).map_or(0, |(first, last)| last.end_ns.saturating_sub(first.start_ns))
    }
}

/// A part of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the phase.
    pub name: &'static str,
    /// When it began.
    pub start_ns: u64,
    /// When it was done, and the next one began.
    pub end_ns: u64,
}
