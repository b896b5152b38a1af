//! Two versions of the code, built so that only the code differs: at one path, with one command, into one target folder.

mod build;
mod git;

pub use build::{BuildRecipe, Versions};
pub use git::Repository;

use std::path::PathBuf;

/// Why the two versions could not be had.
#[derive(Debug, thiserror::Error)]
pub enum VersionsError {
    /// Git did not do what it was asked for.
    #[error("git {command} failed: {message}")]
    Git {
        /// What it was asked.
        command: String,
        /// What it said.
        message: String,
    },
    /// The current folder is in no repository.
    #[error(
        "the current folder is in no git repository, which --base needs: {message}; give --base-worker instead"
    )]
    NoRepository {
        /// What git said.
        message: String,
    },
    /// The name stands for no commit.
    #[error(
        "--base {reference} is no commit here; fetch it first, e.g. `git fetch origin`, or check the name{}",
        if *.shallow { ": this clone is shallow, fetch the history with `git fetch --unshallow` (`fetch-depth: 0` in CI)" } else { "" }
    )]
    NoCommit {
        /// The name.
        reference: String,
        /// Whether the clone is shallow.
        shallow: bool,
    },
    /// The two have no commit in common.
    #[error(
        "HEAD and {reference} have no commit in common{}",
        if *.shallow { ", because this clone is shallow: fetch the history with `git fetch --unshallow` (`fetch-depth: 0` in CI)" } else { "" }
    )]
    NoMergeBase {
        /// The name.
        reference: String,
        /// Whether the clone is shallow.
        shallow: bool,
    },
    /// Nothing says what the worker is.
    #[error(
        "--base needs to know how a worker is built and started: write [gate] with `build` and `worker`, or a [[worker]], into perfharness.toml"
    )]
    NoWorker,
    /// The build command failed.
    #[error("{side} does not build: `{command}` {how}\n{output}")]
    Build {
        /// Which version.
        side: &'static str,
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it printed.
        output: String,
    },
    /// The build left no worker.
    #[error("building {side} left no {}; check `worker` under [gate] in perfharness.toml", path.display())]
    NoProgram {
        /// Which version.
        side: &'static str,
        /// Where it should be.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl VersionsError {
    /// Whether what was asked for is wrong, and not what came of it.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoRepository { .. } | Self::NoCommit { .. } | Self::NoMergeBase { .. } | Self::NoWorker
        )
    }
}
