//! Kernels of known work, for calibration, tests and demonstrations of the gate.
//!
//! Each case is a kernel, and its variants do a stated share more of its work. They run the same machine code on
//! different numbers, so they differ in work and never in the layout of code. Other regressions that a gate has to find
//! can be planted in all variants, with the setting `known-work` or the environment variable [`VARIABLE`] of a process.

mod append;
mod chain;
mod copy;
mod device;
mod kernel;
mod plant;
#[cfg(test)]
mod tests;

use perfharness_contract::{Case, Failure, Measured, MetricDef, Role, Setup, Workload};
use perfharness_gpu::gpu_meter;
use serde::Serialize;

pub use chain::{Chain, Gather, Spin, Start, Sweep, Walk};
pub use kernel::{Input, Kernel, Known, Work};
pub use plant::VARIABLE;

use append::Append;
use copy::Copy;
use device::Device;
use kernel::{CopyCounters, STEPS};
use plant::{Planted, SETTING};

/// Kernel of a case.
#[derive(Clone, std::marker::Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Spin,
    Gather,
    Sweep,
    Gpu,
    Append,
    Copy,
}

/// Parameters of a case.
#[derive(Clone, std::marker::Copy, Debug, Serialize)]
struct Params {
    kernel: Kind,
    /// Steps that the result of one iteration needs.
    steps: u64,
    /// Size of the buffer that the steps read.
    buffer_bytes: u64,
}

/// Iterations take 0.05 to 0.3 ms, so that a launch is cheap. All step counts are multiples of 100, so every share is
/// exact.
const CASES: [(&str, Params); 6] = [
    ("spin", Params { kernel: Kind::Spin, steps: 60_000, buffer_bytes: 0 }),
    ("gather", Params { kernel: Kind::Gather, steps: 30_000, buffer_bytes: 512 << 10 }),
    // Twice this number of steps fits a window.
    ("sweep", Params { kernel: Kind::Sweep, steps: 130_000, buffer_bytes: Sweep::BYTES }),
    ("gpu", Params { kernel: Kind::Gpu, steps: 40_000, buffer_bytes: 0 }),
    ("append", Params { kernel: Kind::Append, steps: 100, buffer_bytes: 0 }),
    ("copy", Params { kernel: Kind::Copy, steps: 100, buffer_bytes: 0 }),
];

/// The variants and the percentage of the work that each does. The first is the reference.
const VARIANTS: [(&str, u64, &str); 8] = [
    ("w100", 100, "the work itself"),
    ("w100-again", 100, "the same as w100"),
    ("w101", 101, "1 % more work than w100, for the same result"),
    ("w102", 102, "2 % more work than w100, for the same result"),
    ("w103", 103, "3 % more work than w100, for the same result"),
    ("w105", 105, "5 % more work than w100, for the same result"),
    ("w110", 110, "10 % more work than w100, for the same result"),
    ("w200", 200, "twice the work of w100, for the same result"),
];

/// Returns the workload `known-work`.
pub fn workload() -> Workload {
    let mut workload = Workload::builder("known-work", 1, "Kernels of known work, to try the gate on")
        .on_request()
        .cases(CASES.map(|(id, params)| Case::new(id, params).items(params.steps, STEPS)))
        .meter(gpu_meter())
        .metric(MetricDef::work(STEPS, "steps that the result needs"))
        .metrics(CopyCounters::metrics())
        .metrics(Append::metrics())
        .setting(
            SETTING,
            "what is planted in every variant, e.g. time=1.10,copies=+1,leak=1024; by default nothing",
        );
    for (id, percent, summary) in VARIANTS {
        workload = workload
            // No variant has the role `slow`, because its time would not be gated.
            .variant(id, Role::Other, summary, move |params, setup| prepare(params, percent, setup))
            .memory(id, |params| params.buffer_bytes);
    }
    workload.build()
}

fn prepare(params: &Params, percent: u64, setup: &Setup) -> Result<Box<dyn Measured>, Failure> {
    let planted = Planted::of(setup)?;
    place(params, percent, &planted, setup)
}

fn place(
    params: &Params,
    percent: u64,
    planted: &Planted,
    setup: &Setup,
) -> Result<Box<dyn Measured>, Failure> {
    let work = Work::of(params.steps, percent);
    let bytes = params.buffer_bytes;
    Ok(match params.kernel {
        Kind::Spin => on_host(Chain::new(Spin), work, bytes, planted, setup),
        Kind::Gather => on_host(Chain::new(Gather::new(bytes, setup)), work, bytes, planted, setup),
        Kind::Sweep => on_host(Chain::new(Sweep::new(bytes, setup)), work, bytes, planted, setup),
        Kind::Append => on_host(Append::new(setup)?, work, bytes, planted, setup),
        Kind::Copy => on_host(Copy::new(params.steps, planted.peak, setup), work, bytes, planted, setup),
        Kind::Gpu => Box::new(Known::new(Device::new(planted.peak, setup)?, work, setup).plant(planted)),
    })
}

fn on_host(
    kernel: impl Kernel,
    work: Work,
    buffer_bytes: u64,
    planted: &Planted,
    setup: &Setup,
) -> Box<dyn Measured> {
    Box::new(Known::new(kernel, work, setup).plant(planted).on_host(planted, buffer_bytes, setup))
}
