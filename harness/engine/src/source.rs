//! State of the source code in the current folder, as git reports it.

use std::process::{Command, Stdio};

use perfharness_contract::Digest;
use perfharness_record::SourceState;

/// Asks git about the current folder.
pub fn source_state() -> SourceState {
    let Some(commit) = git(&["rev-parse", "--verify", "HEAD"]) else {
        let absent = match git(&["rev-parse", "--git-dir"]) {
            Some(_) => "the repository has no commit yet",
            None => "the current folder is not in a git repository, or git is not installed",
        };
        return SourceState::Absent { absent: absent.into() };
    };
    SourceState::Git {
        commit,
        branch: git(&["symbolic-ref", "--quiet", "--short", "HEAD"]),
        // Untracked files are not counted: a run writes some itself.
        dirty: git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|out| !out.is_empty()),
    }
}

/// Identifies the tracked code in the current folder: the commit, and a digest of the changes to it. `None` if there is no
/// repository with a commit.
pub fn fingerprint() -> Option<String> {
    let commit = git(&["rev-parse", "--verify", "HEAD"])?;
    let changes = git(&["diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv"])?;
    Some(format!("{commit} {}", Digest::of(changes.as_bytes()).0))
}

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
