//! The published JSON Schemas of records, gates and baselines.

use super::RunRecord;
use crate::baseline::file::Head;
use crate::compare::GateReport;

/// Returns the schema of `run.json`, as it is published in `harness/cli/schemas/`.
pub fn run_schema() -> serde_json::Value {
    schemars::schema_for!(RunRecord).to_value()
}

/// Returns the schema of a gate's JSON, published in the same folder.
pub fn gate_schema() -> serde_json::Value {
    schemars::schema_for!(GateReport).to_value()
}

/// Returns the schema of a baseline file, published in the same folder.
pub fn baseline_schema() -> serde_json::Value {
    schemars::schema_for!(Head).to_value()
}
