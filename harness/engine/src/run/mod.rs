//! From a request to a record: the one way to a run.
//!
//! A [`Request`] says what is measured, against what, and by which workers. [`Prepared`] asks the workers, selects and plans;
//! [`Run`] measures, keeps a journal, and writes the record with its samples. A [`Listener`] hears what happens meanwhile.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use perfharness_contract::Effort;
//! use perfharness_engine::request::RunRequest;
//! use perfharness_engine::run::{Place, Prepared, Request, RunError, Silent};
//! use perfharness_record::WorkerCommand;
//!
//! fn main() -> Result<(), RunError> {
//!     let worker = WorkerCommand { name: "mine".into(), command: vec!["./worker".into()], ..WorkerCommand::default() };
//!     let request = Request::new(RunRequest::new(["all"], Effort::Quick, vec![worker]));
//!     let prepared = Prepared::new(request, &mut Silent)?;
//!     let place = Place::at(Path::new("run.json"), false)?;
//!     let record = prepared.begin(place, &mut Silent)?.measure_all(&mut Silent)?;
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
mod prepared;
mod request;
mod workers;

pub use error::RunError;
pub use listener::{Listener, Note, Silent};
pub use measuring::Run;
pub use place::Place;
pub use prepared::Prepared;
pub use request::{Against, Base, Request, Settings};
pub use workers::ask_workers;
