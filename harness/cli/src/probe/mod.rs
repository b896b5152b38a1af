//! Questions to drivers, asked in a process of its own: drivers crash, hang, and print what they like.
//!
//! The process is this same program, started as `perfharness probe`; [`answer`] is its side, the rest that of the
//! program that asks.

mod adapters;
mod answer;
mod ceilings;
mod child;
mod nvidia;
mod watch;

pub use adapters::{Tried, executes_nothing, listed_adapter, probed_adapters};
pub use answer::answer;
pub use ceilings::measured_ceilings;
pub use child::{ProbeError, ask};
pub use nvidia::{Nvidia, NvidiaDevice, NvidiaProcess, nvidia};
pub use watch::watched;

use std::process::Command;

/// This program, with a question.
pub(crate) fn question(words: &[&str]) -> Result<Command, ProbeError> {
    let program = std::env::current_exe()
        .map_err(|error| ProbeError::Start(format!("cannot find the path of this program: {error}")))?;
    let mut command = Command::new(program);
    command.arg("probe").args(words);
    Ok(command)
}
