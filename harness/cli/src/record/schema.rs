//! The published JSON Schema of `run.json`.

use super::RunRecord;

/// The schema of the current format, as it is published in `harness/cli/schemas/`.
pub fn run_schema() -> serde_json::Value {
    schemars::schema_for!(RunRecord).to_value()
}
