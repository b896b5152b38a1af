//! The run record: everything that one run saw, and the one file format between measuring and all the rest.
//!
//! `run.json` is small and for people, gates and history; the raw samples lie beside it in a columnar file
//! ([`samples`]). While a run goes on, its events are in a [`journal`].

mod build;
mod environment;
pub mod file;
pub(crate) mod file_name;
pub mod journal;
pub mod json;
mod machine;
pub mod samples;
pub mod schema;
mod source;
mod types;

pub use build::{BaseFacts, RunFacts, build};
pub use environment::{Environment, harness_facts};
pub use machine::Machine;
pub use source::{SourceState, short_commit};
pub use types::*;
