//! Judging what a record holds: pure functions of it.

mod claims;
mod gate;
mod policy;
mod report;

pub use claims::judge_claims;
pub use gate::{Plant, Terms, flagged, judge, plants};
pub use policy::{Acknowledgement, GatePolicy, LimitRule, RuleError};
pub use report::{
    Against, BaselineInfo, ChangedKernel, GateReport, GateRow, GrownFunction, PlantedRow, REPORT_VERSION,
    Remark, Tally,
};
