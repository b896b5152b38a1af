//! Traces of benchmarks as files for programs that draw timelines, and their summaries. The engine takes the traces.

mod chrome;
mod folder;
mod summary;

pub use chrome::{ChromeTrace, chrome_trace};
pub use folder::{Destination, TraceFile, TraceState, TraceWriter, TracedBenchmark, Traces};
pub use summary::{Peak, PhaseTime, TraceSummary};
