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
    /// Id of the case, by which something can be planted in it alone.
    #[serde(skip)]
    id: &'static str,
    kernel: Kind,
    /// Steps that the result of one iteration needs.
    steps: u64,
    /// Size of the buffer that the steps read.
    buffer_bytes: u64,
}

const KIB: u64 = 1 << 10;

const fn case(id: &'static str, kernel: Kind, steps: u64, buffer_bytes: u64) -> Params {
    Params { id, kernel, steps, buffer_bytes }
}

/// Iterations take 0.05 to 0.3 ms, so that a launch is cheap. All step counts are multiples of 100, so every share is
/// exact.
const CASES: [Params; 6] = [
    case("spin", Kind::Spin, 60_000, 0),
    case("gather", Kind::Gather, 30_000, 512 * KIB),
    // Twice this number of steps fits a window.
    case("sweep", Kind::Sweep, 130_000, Sweep::BYTES),
    case("gpu", Kind::Gpu, 200_000, 0),
    case("append", Kind::Append, 100, 0),
    case("copy", Kind::Copy, 100, 0),
];

/// The cases of the suite: the same kernels in other sizes.
const SUITE: [Params; 20] = [
    case("spin-1", Kind::Spin, 40_000, 0),
    case("spin-2", Kind::Spin, 60_000, 0),
    case("spin-3", Kind::Spin, 80_000, 0),
    case("spin-4", Kind::Spin, 120_000, 0),
    case("gather-1", Kind::Gather, 30_000, 128 * KIB),
    case("gather-2", Kind::Gather, 30_000, 256 * KIB),
    case("gather-3", Kind::Gather, 30_000, 512 * KIB),
    case("gather-4", Kind::Gather, 20_000, 1024 * KIB),
    case("append-1", Kind::Append, 60, 0),
    case("append-2", Kind::Append, 100, 0),
    case("append-3", Kind::Append, 140, 0),
    case("append-4", Kind::Append, 200, 0),
    case("copy-1", Kind::Copy, 60, 0),
    case("copy-2", Kind::Copy, 100, 0),
    case("copy-3", Kind::Copy, 140, 0),
    case("copy-4", Kind::Copy, 200, 0),
    case("gpu-1", Kind::Gpu, 200_000, 0),
    case("gpu-2", Kind::Gpu, 300_000, 0),
    case("sweep-1", Kind::Sweep, 90_000, Sweep::BYTES),
    case("sweep-2", Kind::Sweep, 130_000, Sweep::BYTES),
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
    build("known-work", "Kernels of known work, to try the gate on", &CASES, &VARIANTS)
}

/// Returns the workload `known-suite`: twenty benchmarks, as many as a small project has, each with the variant `w100`
/// alone. Workers serve it to experiments with whole gates.
pub fn suite() -> Workload {
    build("known-suite", "Kernels of known work in several sizes, for whole gates", &SUITE, &VARIANTS[..1])
}

/// Work that no benchmark calls. A program that can reach it has its code laid out differently from one that cannot.
#[cfg(feature = "uncalled")]
pub fn uncalled(state: u64, steps: u64) -> u64 {
    chain::uncalled(state, steps)
}

fn build(
    id: &'static str,
    summary: &'static str,
    cases: &[Params],
    variants: &[(&'static str, u64, &'static str)],
) -> Workload {
    let mut workload = Workload::builder(id, 1, summary)
        .on_request()
        .cases(cases.iter().map(|params| Case::new(params.id, *params).items(params.steps, STEPS)))
        .meter(gpu_meter())
        .metric(MetricDef::work(STEPS, "steps that the result needs"))
        .metrics(CopyCounters::metrics())
        .metrics(Append::metrics())
        .setting(
            SETTING,
            "what is planted in every variant, e.g. time=1.10,copies=+1,leak=1024; by default nothing",
        );
    for &(id, percent, summary) in variants {
        workload = workload
            // No variant has the role `slow`, because its time would not be gated.
            .variant(id, Role::Other, summary, move |params, setup| prepare(params, percent, setup))
            .memory(id, |params| params.buffer_bytes);
    }
    workload.build()
}

fn prepare(params: &Params, percent: u64, setup: &Setup) -> Result<Box<dyn Measured>, Failure> {
    let planted = Planted::of(setup, params.id)?;
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
