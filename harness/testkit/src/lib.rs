//! Workloads for the harness's own tests and for its noise experiment: some whose effects are planted and known, and
//! some that misbehave on purpose. The program `perfharness-test-worker` serves them.

mod hot;
mod kernels;
mod misbehave;
pub mod raw;

use perfharness_contract::Workload;

/// Workloads that do right, with planted effects of known size: `spin` (registers only), `gather` (random reads in
/// 512 KiB) and `sweep` (reads through 64 MiB).
///
/// In each of them `a` and `a-again` do the same, `plus10` does 10 % more, and `double`, in `spin` only, twice as
/// much. All variants run the same machine code, on different numbers: what differs between them is work, never the
/// layout of code.
pub fn good() -> Vec<Workload> {
    vec![kernels::spin(), kernels::gather(), kernels::sweep()]
}

/// The workload `misbehave`: every way to go wrong that goes through the contract's own `serve`.
pub fn bad() -> Vec<Workload> {
    vec![misbehave::workload()]
}

/// The workload `hot`: variants whose time is in functions of known names, for profilers.
pub fn hot() -> Vec<Workload> {
    vec![hot::workload()]
}
