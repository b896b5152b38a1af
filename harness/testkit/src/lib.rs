//! Workloads for the harness's own tests and for its noise experiment. Some have planted, known effects, and some
//! misbehave on purpose. The program `perfharness-test-worker` serves them.

mod hot;
mod kernels;
mod misbehave;
pub mod raw;

use perfharness_contract::Workload;

/// Returns workloads that behave well, with planted effects of known size: `spin` (registers only), `gather` (random
/// reads in 512 KiB) and `sweep` (reads through 64 MiB).
///
/// In each of them `a` and `a-again` do the same, `plus10` does 10 % more, and `double`, in `spin` only, twice as much.
/// All variants run the same machine code on different numbers, so they differ in work and never in the layout of code.
pub fn good() -> Vec<Workload> {
    vec![kernels::spin(), kernels::gather(), kernels::sweep()]
}

/// Returns the workload `misbehave`: every way to fail that goes through the contract's own `serve`.
pub fn bad() -> Vec<Workload> {
    vec![misbehave::workload()]
}

/// Returns the workload `hot`: variants whose time is in functions of known names, for profilers.
pub fn hot() -> Vec<Workload> {
    vec![hot::workload()]
}
