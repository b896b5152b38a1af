//! The contract between a hot path and the harness.
//!
//! A program with code to measure describes it ([`WorkloadDef`]), constructs it ([`Workload`], [`Measured`]) and answers
//! the harness's requests over stdin and stdout ([`serve`]). The two sides share only the wire types in [`protocol`], so a
//! worker can also be written in another language; see `docs/protocol.md`.
//!
//! With the feature `profile` a worker also takes profiled samples for flame graphs; see `docs/profile.md`. Every worker
//! of this crate takes traced samples, which record when events happen; see `docs/trace.md`.
//!
//! A complete worker:
//!
//! ```no_run
//! use perfharness_contract::{Case, Check, Failure, Measured, Role, Setup, Workload, serve};
//! use serde::Serialize;
//!
//! perfharness_contract::counting_allocator!();
//!
//! #[derive(Serialize)]
//! struct Params { n: u64 }
//!
//! struct Sum { round: u64, n: u64, total: u64 }
//!
//! impl Measured for Sum {
//!     fn load(&mut self, round: u64) -> Result<(), Failure> { self.round = round; Ok(()) }
//!     fn run(&mut self, index: u64) -> Result<(), Failure> {
//!         self.total = (0..self.n).map(|i| std::hint::black_box(i ^ self.round ^ index)).sum();
//!         Ok(())
//!     }
//!     fn check(&mut self, index: u64) -> Result<Check, Failure> {
//!         let expected: u64 = (0..self.n).map(|i| i ^ self.round ^ index).sum();
//!         Ok(Check::exact(&expected.to_le_bytes(), &self.total.to_le_bytes()))
//!     }
//! }
//!
//! fn prepare(params: &Params, _setup: &Setup) -> Result<Sum, Failure> {
//!     Ok(Sum { round: 0, n: params.n, total: 0 })
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     serve(vec![
//!         Workload::builder("sum", 1, "Adds numbers")
//!             .case(Case::new("n1000", Params { n: 1000 }))
//!             .variant("plain", Role::Other, "a loop", prepare)
//!             .build(),
//!     ])
//! }
//! ```

mod check;
mod claim;
mod definition;
mod floor;
pub mod gpu_metric;
mod id;
mod input;
mod meter;
mod metric;
mod number;
mod outcome;
mod placement;
mod profile;
pub mod protocol;
mod serve;
pub mod testing;
mod trace;
mod workload;

pub use check::{Check, Digest, Tolerance};
pub use claim::{ClaimDef, Promise};
pub use definition::{
    BenchmarkDef, CaseDef, Effort, Items, Role, SettingDef, SettingKind, Source, VariantDef, WorkloadDef,
};
pub use floor::{Floor, LARGEST_DEVICE_CACHE};
pub use id::{BenchmarkId, Name, NameError};
pub use input::input_rng;
pub use meter::{Counter, CountingAllocator, Growth, Meter, MeterDef, PointLog};
pub use metric::{Direction, MetricDef, MetricKind, Portability, Scope, standard};
pub use number::Number;
pub use outcome::OutcomeKind;
pub use placement::Placement;
pub use protocol::Reading;
pub use serve::{serve, serve_on};
pub use workload::{Case, Failure, Measured, Setup, Workload, WorkloadBuilder};
