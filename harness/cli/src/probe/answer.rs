//! The side of the process that is asked.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use perfharness_gpu::{list_adapters, probe_adapter};
use perfharness_platform::{exit_at_once, take_stdout};

use super::nvidia;
use crate::args::Question;
use crate::ceiling::measure;
use crate::telemetry::{glance, serve};

/// Ends this process, whatever a driver does with it, once nobody holds the other end of its standard input: a hanging
/// one must not outlive the program that asked and was stopped.
fn end_with_asker() {
    thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // What drivers have registered for an orderly end may hang as well.
        exit_at_once(1);
    });
}

/// Writes the answer to the real standard output, as one line of JSON. What drivers print goes to standard error.
///
/// # Errors
/// Where it cannot be written.
pub fn answer(question: Question) -> std::io::Result<()> {
    if let Question::Watch { interval_ms, adapter } = question {
        return serve(Duration::from_millis(interval_ms), adapter.as_deref());
    }
    let mut out = take_stdout()?;
    end_with_asker();
    let mut line = match question {
        Question::Adapters => serde_json::to_string(&list_adapters()),
        Question::Adapter { at } => serde_json::to_string(&probe_adapter(at)),
        Question::Nvidia => serde_json::to_string(&nvidia::read()),
        Question::Ceilings { device } => serde_json::to_string(&measure(&device)),
        Question::Glance => serde_json::to_string(&glance()),
        Question::Watch { .. } => return Ok(()),
    }?;
    line.push('\n');
    out.write_all(line.as_bytes())
}
