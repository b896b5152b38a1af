//! The process that answers questions to drivers.

use std::thread;
use std::time::Duration;

use perfharness_gpu::{list_adapters, probe_adapter};
use perfharness_platform::{exit_at_once, take_stdout};
use serde::Serialize;

use super::nvidia;
use crate::ask::write_json;
use crate::ceiling::measure;
use crate::telemetry::{glance, serve};

/// A question to drivers.
#[derive(Clone, Debug)]
pub enum Question {
    /// The adapters of this machine.
    Adapters,
    /// Whether the adapter at this position of the list works, from 0.
    Adapter(usize),
    /// The GPUs that NVIDIA's driver reports.
    Nvidia,
    /// The ceilings of this machine, with the GPU of this name.
    Ceilings(String),
    /// Telemetry: readings of the machine at an interval.
    Watch {
        /// Time between two readings.
        interval: Duration,
        /// Name of the GPU that is measured.
        adapter: Option<String>,
    },
    /// The quantities that telemetry can read here.
    Glance,
}

/// Ends this process once the other end of its standard input is closed, whatever a driver does: a process that hangs must
/// not outlive the program that asked and was stopped.
fn end_with_asker() {
    thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // Exit handlers of drivers may hang as well.
        exit_at_once(1);
    });
}

/// Answers a question on the real standard output.
///
/// # Errors
/// When the answer cannot be written.
pub fn answer(question: Question) -> std::io::Result<()> {
    match question {
        Question::Adapters => write_answer(list_adapters),
        Question::Adapter(at) => write_answer(|| probe_adapter(at)),
        Question::Nvidia => write_answer(nvidia::read),
        Question::Ceilings(device) => write_answer(|| measure(&device)),
        Question::Glance => write_answer(glance),
        Question::Watch { interval, adapter } => serve(interval, adapter.as_deref()),
    }
}

/// Writes one answer as a line of JSON. Output of drivers goes to standard error meanwhile.
fn write_answer<T: Serialize>(answer: impl FnOnce() -> T) -> std::io::Result<()> {
    let mut out = take_stdout()?;
    end_with_asker();
    write_json(&mut out, &answer())
}
