//! The entry point: arguments in, exit code out.

use std::process::ExitCode;

// The built-in worker is this same program, started as `perfharness worker`.
perfharness_contract::counting_allocator!();

fn main() -> ExitCode {
    perfharness::commands::main()
}
