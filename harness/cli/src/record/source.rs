//! Which source code was measured.

use std::process::{Command, Stdio};

use perfharness_contract::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the repository that the run was started in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a commit of letters and digits, or why there is none")]
pub enum SourceState {
    /// A git repository.
    Git {
        /// The commit that is checked out.
        #[serde(deserialize_with = "super::file_name::id")]
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
    /// Asks git about the current folder.
    pub fn read() -> Self {
        let Some(commit) = git(&["rev-parse", "--verify", "HEAD"]) else {
            let absent = match git(&["rev-parse", "--git-dir"]) {
                Some(_) => "the repository has no commit yet",
                None => "the current folder is in no git repository, or git is not installed",
            };
            return Self::Absent { absent: absent.into() };
        };
        Self::Git {
            commit,
            branch: git(&["symbolic-ref", "--quiet", "--short", "HEAD"]),
            // Untracked files are not counted: a run writes some itself.
            dirty: git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|out| !out.is_empty()),
        }
    }

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

    /// What tells the code in the current folder apart, as far as git follows it: the commit, and a digest of what differs
    /// from it. `None` where there is no repository with a commit.
    pub fn fingerprint() -> Option<String> {
        let commit = git(&["rev-parse", "--verify", "HEAD"])?;
        let changes = git(&["diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv"])?;
        Some(format!("{commit} {}", Digest::of(changes.as_bytes()).0))
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

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
