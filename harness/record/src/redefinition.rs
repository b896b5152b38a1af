//! Differences between the definitions of a change and those of its base.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a change measures or judges in another way than its base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redefinition {
    /// A workload, or the configuration file.
    pub subject: String,
    /// The differences, each in words.
    pub changes: Vec<String>,
}
