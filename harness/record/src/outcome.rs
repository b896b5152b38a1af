//! Outcomes of benchmarks, with their reasons.

use perfharness_contract::OutcomeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcome of measuring one benchmark, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Kind of the outcome.
    pub kind: OutcomeKind,
    /// Why, in words; absent for `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines that the worker wrote to stderr, where it died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

impl Outcome {
    /// Everything went well.
    pub fn ok() -> Self {
        Self { kind: OutcomeKind::Ok, reason: None, stderr: Vec::new() }
    }

    /// An outcome with its reason.
    pub fn new(kind: OutcomeKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: Some(reason.into()), stderr: Vec::new() }
    }

    /// Kind and reason.
    pub fn in_words(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or("for no stated reason");
        format!("{}: {reason}", self.kind.as_str())
    }

    /// The same with the worker's last words.
    #[must_use]
    pub fn with_stderr(mut self, lines: Vec<String>) -> Self {
        self.stderr = lines;
        self
    }
}
