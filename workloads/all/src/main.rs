//! Slim worker: the built-in workloads without the command line, so that an edit of the program does not change the
//! layout of the measured code.

use std::process::ExitCode;

perfharness_contract::counting_allocator!();

fn main() -> ExitCode {
    perfharness_contract::serve(perfharness_all::all())
}
