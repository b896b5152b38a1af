//! The engine: from a request to a record. [`run`] is its interface; the other modules are its parts.
//!
//! [`plan`] asks every worker for its workloads and says which sides are compared, [`measure`] turns the plan into events,
//! [`journal`] keeps them, and [`build`] makes the record. [`probe`] asks drivers from a distance, [`telemetry`] watches the
//! machine meanwhile, and [`ceiling`] measures how fast it can be at most.

pub mod ask;
pub mod build;
pub mod ceiling;
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
