//! The source code that was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the repository that the run was started in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a commit of letters and digits, or why there is none")]
pub enum SourceState {
    /// A git repository.
    Git {
        /// The commit that is checked out.
        #[serde(deserialize_with = "crate::file_name::id")]
        commit: String,
        /// The branch, where one is checked out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// Whether tracked files differ from the commit.
        dirty: bool,
    },
    /// There is none to be read.
    Absent {
        /// Why.
        absent: String,
    },
}

impl SourceState {
    /// Whether both are the same code, as far as git tells: a branch is only a name.
    pub fn is_same_code(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Git { commit, dirty, .. }, Self::Git { commit: theirs, dirty: changed, .. }) => {
                commit == theirs && dirty == changed
            }
            (Self::Absent { .. }, Self::Absent { .. }) => true,
            (Self::Git { .. }, Self::Absent { .. }) | (Self::Absent { .. }, Self::Git { .. }) => false,
        }
    }

    /// The commit, where there is one.
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Git { commit, .. } => Some(commit),
            Self::Absent { .. } => None,
        }
    }

    /// Name of the folder below `reports/` for this state.
    pub fn folder(&self) -> String {
        match self {
            Self::Git { commit, dirty, .. } => {
                let short = short_commit(commit);
                if *dirty { format!("{short}-dirty") } else { short.into() }
            }
            Self::Absent { .. } => "no-commit".into(),
        }
    }
}

/// As much of a commit as is enough to know it by.
pub fn short_commit(commit: &str) -> &str {
    commit.char_indices().nth(12).map_or(commit, |(at, _)| &commit[..at])
}
