//! Measuring: turns a plan into events.
//!
//! Nothing here prints or writes. The engine asks workers through the [`Executor`] seam, emits [`Event`]s, and folds
//! the same events into the [`RunState`] that its decisions rest on; progress, log and journal consume them too. So an
//! interrupted run resumes from its journal, and every rule can be tested without a process or a clock.

mod allocation;
mod anchor;
mod callgrind;
mod contamination;
mod correctness;
mod counted_stacks;
mod counting;
mod engine;
mod event;
mod executor;
mod following;
mod frame;
mod launch;
mod layouts;
#[cfg(test)]
mod mock;
mod order;
mod pairing;
mod plausible;
mod process;
mod profiling;
mod reach;
mod sample_length;
mod scratch;
mod solo;
mod state;
mod stopping;
#[cfg(test)]
mod tests;
mod tracing;
mod warm_up;
mod watching;
mod worker_clock;

pub use callgrind::{Callgrind, PROGRAM as VALGRIND};
pub use counted_stacks::StackCounter;
pub use counting::Counted;
pub(crate) use counting::{ToCount, count_sides};
pub use engine::run_plan;
pub use event::{CheckStage, Event, LaunchTiming, SampleEvent};
pub use executor::{CallError, Executor, LaunchOptions, Opened, Session};
pub use following::follow_side;
pub use frame::has_answer;
pub use launch::Interrupted;
pub use layouts::compared;
pub use plausible::TimeAudit;
pub(crate) use plausible::suspicions;
pub use process::{ProcessExecutor, describe, forget_repository};
pub use profiling::profile_side;
pub use sample_length::{LEAD_IN_TARGET_NS, MIN_CLOCK_STEPS, SampleLength};
pub use state::{CaseState, CheckRow, LaunchRow, RunState, SampleRow, SideState, UsageRow};
pub use tracing::{Traced, trace_side};
pub use warm_up::WarmUp;
pub use watching::{WatchState, WatchedTick, WorkerRef};
