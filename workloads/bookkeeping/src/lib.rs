//! The work beside the work of a training or inference loop: documents 002 and 003.
//!
//! Four workloads: the records that a framework keeps of each operation, metrics that a training loop computes, the
//! history that it keeps of them, and the progress that it shows.

mod draw;
mod history;
mod inference_mode;
mod progress;
mod step_metrics;

pub use history::workload as history;
pub use inference_mode::workload as inference_mode;
pub use progress::workload as progress;
pub use step_metrics::workload as step_metrics;

/// Number of different inputs in a round.
const POOL: u64 = 4;

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";

/// Position in the pool of the input of an iteration.
fn input_of(index: u64) -> usize {
    (index % POOL) as usize
}
