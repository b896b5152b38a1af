//! A wgpu device that meters itself.
//!
//! A workload opens a [`Gpu`] and declares its meter with [`gpu_meter`]. From then on every metered sample has readings
//! of [`gpu_metrics`]: device time, copies by direction, waits of the host, submits, dispatches, buffers and memory. A
//! traced sample has the same events with their times. In timed samples all of this is off. Nothing is implicit: each
//! method documents its copies and waits.
//!
//! | task | use | cost |
//! | --- | --- | --- |
//! | upload data | [`Commands::upload`] | a staging buffer per call |
//! | upload data repeatedly | [`Commands::upload_through`] a [`Staging`] | a wait if the device is behind |
//! | change a few bytes | [`Gpu::write_buffer`] | a copy that cannot be timed |
//! | run a shader | [`Gpu::pipeline`], [`Pipeline::bind`], [`Commands::dispatch`] | |
//! | read a result | [`Gpu::read`] | a readback buffer, a submit and a sync per call |
//! | read results repeatedly | [`Commands::download`] to a [`Readback`] | a sync per [`Readback::wait`] |
//! | read results without waiting | the same, and [`Readback::poll`] later | |
//! | end a sample | [`Gpu::fence`] | host wait, but no sync |
//!
//! A complete workload:
//!
//! ```
//! use perfharness_contract::{Case, Check, Failure, Measured, Role, Setup, Tolerance, Workload};
//! use perfharness_gpu::{Bound, Buffer, Gpu, gpu_meter};
//!
//! const SOURCE: &str = "
//!     @group(0) @binding(0) var<storage, read> input: array<f32>;
//!     @group(0) @binding(1) var<storage, read_write> output: array<f32>;
//!     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
//!         if id.x < arrayLength(&input) { output[id.x] = 2.0 * input[id.x]; }
//!     }";
//!
//! struct Double { gpu: Gpu, values: Vec<f32>, input: Buffer, output: Buffer, kernel: Bound }
//!
//! impl Double {
//!     fn new(n: &u64, setup: &Setup) -> Result<Self, Failure> {
//!         let gpu = Gpu::open(setup)?;
//!         let input = gpu.buffer_for::<f32>("input", *n)?;
//!         let output = gpu.buffer_for::<f32>("output", *n)?;
//!         let kernel = gpu.pipeline("double", SOURCE, "main")?.bind([("input", &input), ("output", &output)])?;
//!         Ok(Self { gpu, values: vec![0.0; *n as usize], input, output, kernel })
//!     }
//! }
//!
//! impl Measured for Double {
//!     fn load(&mut self, round: u64) -> Result<(), Failure> {
//!         self.values.iter_mut().enumerate().for_each(|(i, v)| *v = (i as u64 + round) as f32);
//!         Ok(())
//!     }
//!     fn run(&mut self, index: u64) -> Result<(), Failure> {
//!         self.values[0] = index as f32;
//!         let groups = self.kernel.groups(self.input.count::<f32>());
//!         self.gpu.commands("step").upload(&self.input, &self.values).dispatch(&self.kernel, groups).submit()?;
//!         Ok(())
//!     }
//!     fn fence(&mut self) -> Result<(), Failure> {
//!         Ok(self.gpu.fence()?)
//!     }
//!     fn check(&mut self, _index: u64) -> Result<Check, Failure> {
//!         let expected: Vec<f64> = self.values.iter().map(|v| 2.0 * f64::from(*v)).collect();
//!         let actual: Vec<f64> = self.gpu.read::<f32>(&self.output)?.into_iter().map(f64::from).collect();
//!         Ok(Check::compare(&expected, &actual, Tolerance::Exact))
//!     }
//! }
//!
//! let workload = Workload::builder("double", 1, "Doubles numbers on the GPU")
//!     .case(Case::new("n1000", 1000))
//!     .meter(gpu_meter())
//!     .variant("plain", Role::Other, "one upload, one dispatch", Double::new)
//!     .build();
//! # let setup = workload.setup(1, "noop", ".");
//! # let (case, variant) = ("n1000".parse()?, "plain".parse()?);
//! # let mut measured = workload.construct(&case, &variant, &setup)?;
//! # measured.load(1).and_then(|()| measured.run(0)).and_then(|()| measured.fence())?;
//! # assert!(!measured.check(0)?.passed, "noop executes nothing");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapter;
mod buffer;
mod ceiling;
mod chunk;
mod clock;
mod commands;
mod device;
mod error;
mod flights;
mod kernels;
mod ledger;
mod mapping;
mod memory;
mod meter;
mod pipeline;
mod queries;
mod readback;
mod shader;
mod spans;
mod staging;
pub mod testing;
mod trace;

pub use adapter::{
    AdapterFacts, AdapterKind, ProbedAdapter, Timestamps, choose_adapter, list_adapters, probe_adapter,
};
pub use buffer::{Buffer, Slice};
pub use ceiling::DeviceCeilings;
pub use chunk::chunks;
pub use commands::{Commands, Submission};
pub use device::{Gpu, GpuOptions};
pub use error::GpuError;
pub use meter::gpu_meter;
pub use perfharness_contract::gpu_metric::{self as metric, gpu_metrics};
pub use perfharness_contract::protocol::Holder as PeakBuffers;
pub use pipeline::{Bound, Pipeline};
pub use readback::Readback;
pub use staging::Staging;
pub use wgpu;

/// The author's guide, whose programs the documentation tests compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-workload.md")]
struct Guide;
