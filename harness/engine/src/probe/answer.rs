//! The side of the process that is asked.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use perfharness_gpu::{list_adapters, probe_adapter};
use perfharness_platform::{exit_at_once, take_stdout};
use serde::Serialize;

use super::nvidia;
use crate::ceiling::measure;
use crate::telemetry::{glance, serve};

/// A question to drivers.
#[derive(Clone, Debug)]
pub enum Question {
    /// Which adapters the machine has.
    Adapters,
    /// Whether the adapter at this position of the list works, from 0.
    Adapter(usize),
    /// What NVIDIA's driver says of its GPUs.
    Nvidia,
    /// What the machine can do at most, with the GPU of this name.
    Ceilings(String),
    /// What the machine does, again and again.
    Watch {
        /// Time between two readings.
        interval: Duration,
        /// Name of the GPU that is measured.
        adapter: Option<String>,
    },
    /// What could be read again and again.
    Glance,
}

/// Ends this process, whatever a driver does with it, once nobody holds the other end of its standard input: a hanging
/// one must not outlive the program that asked and was stopped.
fn end_with_asker() {
    thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // What drivers have registered for an orderly end may hang as well.
        exit_at_once(1);
    });
}

/// Answers on the real standard output.
///
/// # Errors
/// Where it cannot be written.
pub fn answer(question: Question) -> std::io::Result<()> {
    match question {
        Question::Adapters => tell(list_adapters),
        Question::Adapter(at) => tell(|| probe_adapter(at)),
        Question::Nvidia => tell(nvidia::read),
        Question::Ceilings(device) => tell(|| measure(&device)),
        Question::Glance => tell(glance),
        Question::Watch { interval, adapter } => serve(interval, adapter.as_deref()),
    }
}

/// Writes one answer as a line of JSON. What drivers print meanwhile goes to standard error.
fn tell<T: Serialize>(answer: impl FnOnce() -> T) -> std::io::Result<()> {
    let mut out = take_stdout()?;
    end_with_asker();
    let mut line = serde_json::to_string(&answer())?;
    line.push('\n');
    out.write_all(line.as_bytes())
}
