//! The engine: from a request to a record. [`run`] is its interface; the other modules are its parts.
//!
//! [`plan`] asks every worker for its workloads and decides which sides are compared, [`measure`] turns the plan into
//! events, [`journal`] keeps them, and `build` makes the record. [`probe`] asks drivers in a process of its own,
//! [`functions`] tells which functions of a program differ from those of another build; [`telemetry`] watches the machine during the run, and [`ceiling`] measures its greatest speed;
//! [`isa`] compiles kernels for GPUs that the machine does not have.

pub mod ask;
mod build;
pub mod ceiling;
pub mod functions;
pub mod isa;
pub mod journal;
mod machine;
pub mod measure;
pub mod plan;
pub mod probe;
pub mod request;
pub mod run;
mod source;
pub mod telemetry;

pub use machine::read_machine;
pub use source::{fingerprint, source_state};
