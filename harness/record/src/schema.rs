//! The published JSON Schemas of `run.json` and of what a gate writes.

use super::RunRecord;
use crate::compare::GateReport;

/// The schema of the current format, as it is published in `harness/cli/schemas/`.
pub fn run_schema() -> serde_json::Value {
    schemars::schema_for!(RunRecord).to_value()
}

/// The schema of a gate's JSON, published in the same folder.
pub fn gate_schema() -> serde_json::Value {
    schemars::schema_for!(GateReport).to_value()
}
