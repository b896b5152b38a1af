//! A wgpu adapter for tests that interprets compute shaders on the host and reports what hardware may do wrong.
//!
//! One software adapter says little about the others: it runs the invocations of a workgroup in a fixed order, its weak
//! exchanges always succeed, and its workgroups run one after the other. This adapter runs workgroups in a random order
//! and several at a time, interleaves invocations at random, and lets weak exchanges fail at random. It reports data races,
//! indices out of bounds, barriers that not all invocations reach, reads of workgroup memory before a write, and dispatches
//! that wait for others.
//!
//! A test runs the workload itself, so that the host's side of a kernel and its reference are the real ones:
//!
//! ```
//! use perfharness_gpu::{Gpu, GpuOptions};
//! use perfharness_wgsl_check::{Checker, Mistake};
//!
//! const SUM: &str = "@group(0) @binding(0) var<storage, read_write> sum: u32;
//!     @compute @workgroup_size(64) fn main() { sum += 1u; }";
//!
//! let ((), report) = Checker::new(1).run(|| {
//!     let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
//!     let sum = gpu.upload("sum", &[0_u32]).unwrap();
//!     let kernel = gpu.pipeline("sum", SUM, "main").unwrap().bind([("sum", &sum)]).unwrap();
//!     gpu.commands("sum").dispatch(&kernel, [1, 1, 1]).submit().unwrap();
//! });
//! assert!(report.has(Mistake::Race), "{report}");
//! ```
//!
//! A dispatch that is free of findings under some orders may still be wrong under others, so tests use several seeds.
//! Subgroups, textures and overrides are reported as unsupported.

mod adapter;
mod buffer;
mod checker;
mod code;
mod commands;
mod compile;
mod dispatch;
mod finding;
mod invocation;
mod math;
mod memory;
mod nodes;
mod operations;
mod race;
mod session;
mod shapes;
mod value;

pub use checker::Checker;
pub use finding::{Finding, Mistake, Report};
