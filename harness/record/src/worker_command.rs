//! The command that starts a worker.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Command that starts a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCommand {
    /// Name of the worker.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment variables set for it, beside the harness's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its working folder; that of the harness where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Links of its program, with the same code in different orders: its layouts, by number. Layout 0 is the program as
    /// built. Empty if it has no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<String>,
    /// Reason why the program of a built version has one layout only, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_layout: Option<String>,
    /// File with the digests of the functions of its program, where that was built to be compared with another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<PathBuf>,
}

impl WorkerCommand {
    /// Returns program and arguments with the program in a layout; the program as it is where there is no such layout.
    pub fn in_layout(&self, layout: u32) -> Vec<String> {
        let mut command = self.command.clone();
        if let (Some(word), Some(link)) = (command.first_mut(), self.layouts.get(layout as usize)) {
            word.clone_from(link);
        }
        command
    }
}
