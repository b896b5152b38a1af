//! From a request to a record: the one way to a run.
//!
//! A [`RunSpec`] says what is measured, against what, and by which workers. [`PlannedRun`] asks the workers, selects and plans;
//! [`Run`] measures, keeps a journal, and writes the record with its samples. A [`Listener`] hears what happens meanwhile.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use perfharness_contract::Effort;
//! use perfharness_engine::request::RunRequest;
//! use perfharness_engine::run::{PlannedRun, RecordPlace, RunError, RunSpec, Silent};
//! use perfharness_record::WorkerCommand;
//!
//! fn main() -> Result<(), RunError> {
//!     let worker = WorkerCommand { name: "mine".into(), command: vec!["./worker".into()], ..WorkerCommand::default() };
//!     let spec = RunSpec::new(RunRequest::new(["all"], Effort::Quick, vec![worker]));
//!     let planned = PlannedRun::new(spec, &mut Silent)?;
//!     let place = RecordPlace::at(Path::new("run.json"), false)?;
//!     let record = planned.begin(place, &mut Silent)?.measure_all(&mut Silent)?;
//!     for comparison in &record.comparisons {
//!         println!("{}: {:+.1} %", comparison.candidate, comparison.estimate.theta.exp_m1() * 100.0);
//!     }
//!     Ok(())
//! }
//! ```

mod error;
mod listener;
mod measuring;
mod place;
mod planned;
mod spec;
mod workers;

pub use error::RunError;
pub use listener::{Listener, Note, Silent};
pub use measuring::Run;
pub use place::RecordPlace;
pub use planned::PlannedRun;
pub use spec::{BaseBuild, ComparedWith, RunSpec, SettingPaths};
pub use workers::ask_workers;
