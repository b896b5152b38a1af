//! The slim worker: the built-in workloads and nothing of the command line, so that an edit of the program does
//! not re-lay-out the code that is measured.

use std::process::ExitCode;

perfharness_contract::counting_allocator!();

fn main() -> ExitCode {
    perfharness_contract::serve(perfharness_all::all())
}
