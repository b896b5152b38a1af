//! Judging what a record holds: pure functions of it.

mod claims;
mod diagnosis;
mod gate;
mod policy;
mod report;
mod wording;

pub use claims::judge_claims;
pub use diagnosis::waste;
pub use gate::{Terms, flagged, judge};
pub use policy::{Acknowledgement, GatePolicy, LimitRule};
pub use report::{Against, BaselineInfo, GateReport, REPORT_VERSION, Row, Tally};
