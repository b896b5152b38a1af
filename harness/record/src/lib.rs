//! Records of runs, and the judging of them.
//!
//! A run leaves `run.json` ([`RunRecord`]), for people, gates and history, and beside it its raw samples in a columnar
//! file ([`samples`]). [`baseline`] holds accepted figures, and [`compare`] judges a record against them, against the base
//! that was measured in the same rounds, and against the claims of its workloads. All of it is a pure function of files:
//! the crate starts no process and opens no device.
//!
//! ```
//! use std::path::Path;
//!
//! use perfharness_record::compare::{GatePolicy, Terms, judge};
//! use perfharness_record::file;
//! # const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/record.json");
//!
//! let record = file::read(Path::new(RECORD))?;
//! for comparison in &record.comparisons {
//!     let (factor, _interval) = comparison.speed_up();
//!     println!("{} is {factor:.2} times as fast as {}", comparison.candidate, comparison.reference);
//! }
//!
//! let policy = GatePolicy::default();
//! let terms = Terms { baseline: None, calibration: None, policy: &policy, command: "perfharness gate", one_run: false };
//! let report = judge(&record, &terms);
//! assert_eq!(report.run, record.run.id);
//! # Ok::<(), file::RecordError>(())
//! ```
//!
//! [`Outcome`], [`Origin`], [`Design`] and the other plain types that a record stores stand here as well, below both the
//! engine that makes a record and the report that shows it.

pub mod baseline;
mod case;
pub mod ceilings;
pub mod compare;
mod counted;
mod design;
mod environment;
pub mod file;
pub mod file_name;
mod flag;
pub mod index_file;
pub mod json;
mod kernels;
mod layout;
mod machine;
pub mod memory;
mod observed;
mod outcome;
mod pattern;
pub mod plain_text;
mod queries;
mod redefinition;
pub mod samples;
pub mod schema;
mod side;
mod source;
mod stacks;
pub mod telemetry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod types;
pub mod units;
mod worker_command;

pub use case::{CaseEnd, Pairing};
pub use design::{Design, LookPlan};
pub use environment::Environment;
pub use flag::{Contamination, Flag};
pub use kernels::{CompiledKernel, Compiler, KernelCode, KernelRecord, KernelsRecord};
pub use layout::{ComparedLayouts, LayoutFacts, LayoutRecord, SideLayouts};
pub use machine::{Machine, SOFTWARE_ADAPTER};
pub use memory::{MemoryPoint, MemoryStory};
pub use observed::{Followed, Phase, Profiled, Timeline};
pub use outcome::Outcome;
pub use pattern::{Pattern, PatternError};
pub use queries::Section;
pub use redefinition::Redefinition;
pub use side::{LAUNCH_ALONE, MAX_LAUNCHES, Origin, Side, Stage};
pub use source::{SourceState, short_commit};
pub use stacks::{INSTRUCTIONS, Misses, StackProfile, fold, fold_line};
pub use types::*;
pub use worker_command::WorkerCommand;
