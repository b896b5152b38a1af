//! Questions to drivers, answered by a process of its own because drivers crash, hang, and print to standard output.
//!
//! The process is this same program, started as `perfharness probe`; [`answer`] is its side, the rest that of the
//! program that asks.

mod adapters;
mod answer;
mod nvidia;

pub use adapters::{Tried, executes_nothing, listed_adapter, probed_adapters};
pub use answer::answer;
pub use nvidia::{Nvidia, NvidiaDevice, NvidiaProcess, nvidia};
