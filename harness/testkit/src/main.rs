//! A worker for tests: `perfharness-test-worker [good|bad|hot|RAW]`, where `RAW` is a mode that breaks the protocol.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use perfharness_contract::serve;
use perfharness_testkit::{bad, good, hot, raw};

perfharness_contract::counting_allocator!();

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let set = arguments.next().unwrap_or_else(|| "good".into());
    match (set.as_str(), arguments.next()) {
        ("good", None) => serve(good()),
        ("bad", None) => serve(bad()),
        ("hot", None) => serve(hot()),
        // The process that other modes leave behind.
        ("sleeps", None) => loop {
            thread::sleep(Duration::from_hours(1));
        },
        (name, None) => match raw::Mode::from_name(name) {
            Some(mode) => serve_raw(mode),
            None => usage(),
        },
        (_, Some(_)) => usage(),
    }
}

#[expect(clippy::print_stderr, reason = "stdout belongs to the frames")]
fn serve_raw(mode: raw::Mode) -> ExitCode {
    match raw::serve_on(mode, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", mode.name());
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "stdout belongs to the frames")]
fn usage() -> ExitCode {
    let raw: Vec<&str> = raw::Mode::ALL.iter().map(|mode| mode.name()).collect();
    eprintln!("usage: perfharness-test-worker [good|bad|hot|{}]", raw.join("|"));
    ExitCode::from(2)
}
