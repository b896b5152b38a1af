//! The process that answers questions to drivers.

use std::time::Duration;
use std::{io, thread};

use perfharness_gpu::{list_adapters, probe_adapter};
use perfharness_platform::{exit_at_once, take_stdout};
use serde::Serialize;

use super::nvidia;
use crate::ask::write_json;
use crate::ceiling::measure;
use crate::isa::compile;
use crate::telemetry::{MeasuredGpu, glance, serve};

/// Ends this process once the other end of its standard input is closed, whatever a driver does: a process that hangs must
/// not outlive the program that asked and was stopped.
fn end_with_asker() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        // Exit handlers of drivers may hang as well.
        exit_at_once(1);
    });
}

/// Answers a [`question`](crate::ask::question), by its words, on the real standard output.
///
/// # Errors
/// When there is no such question, or the answer cannot be written.
pub fn answer(words: &[String]) -> io::Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let unknown = || io::Error::new(io::ErrorKind::InvalidInput, words.join(" "));
    let number = |word: &str| word.parse::<u32>().map_err(|_| unknown());
    match words.as_slice() {
        ["adapters"] => write_answer(list_adapters),
        ["adapter", at] => number(at).and_then(|at| write_answer(|| probe_adapter(at as usize))),
        ["nvidia"] => write_answer(nvidia::read),
        ["isa", files @ ..] => write_answer(|| compile(files)),
        ["ceilings", device] => write_answer(|| measure(device)),
        ["glance"] => write_answer(glance),
        // Lines on stdin start and stop the watching of a process: `+PID`, `-PID`.
        ["watch", "--interval-ms", ms, adapter @ ..] => {
            let interval = Duration::from_millis(number(ms)?.into());
            let adapter = match *adapter {
                [] => None,
                ["--adapter", name] => Some(MeasuredGpu { name: name.into(), bus: None }),
                ["--adapter", name, "--bus", bus] => {
                    Some(MeasuredGpu { name: name.into(), bus: Some(bus.into()) })
                }
                _ => return Err(unknown()),
            };
            serve(interval, adapter.as_ref())
        }
        _ => Err(unknown()),
    }
}

/// Writes one answer as a line of JSON. Output of drivers goes to standard error meanwhile.
fn write_answer<T: Serialize>(answer: impl FnOnce() -> T) -> io::Result<()> {
    let mut out = take_stdout()?;
    end_with_asker();
    write_json(&mut out, &answer())
}
