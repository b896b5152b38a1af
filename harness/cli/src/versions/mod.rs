//! Two versions of the code, built so that only the code differs: at one path, with one command, and neither with anything
//! of the other.

mod build;
mod git;
mod place;
mod side;
mod stead;

pub use build::{BuildRecipe, Versions};
pub use git::Repository;
pub use side::Version;

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
    /// The name stands for several commits.
    #[error("--base {reference} may be {names}; write the whole name of the one that is meant")]
    Ambiguous {
        /// The name.
        reference: String,
        /// The commits' names.
        names: String,
    },
    /// Git sees no change, and there are files that it does not see.
    #[error(
        "the base and the code here are the same as git sees them, and it does not see {}; `git add` what belongs to the change, or have git ignore it",
        files.join(", ")
    )]
    Unseen {
        /// Some of the files.
        files: Vec<String>,
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
    /// A command names something of the working copy, which both versions would share.
    #[error(
        "the worker's `{word}` is {}, in the working copy, so that the base and the change would be the same; name it relative to the configuration, or build it into {{target}}",
        path.display()
    )]
    Shared {
        /// The word of the command.
        word: String,
        /// The file.
        path: PathBuf,
    },
    /// A version is not any more what was built.
    #[error(
        "the programs of {side} changed after they were built, in {}; what the change builds or runs must leave them alone",
        path.display()
    )]
    Tampered {
        /// Which version.
        side: &'static str,
        /// Where they are.
        path: PathBuf,
    },
    /// A link of a commit leads out of the repository.
    #[error(
        "{path} is a link of {commit}, or behind one, that leads out of it; make it a file or folder of its own"
    )]
    Link {
        /// The path.
        path: String,
        /// The commit.
        commit: String,
    },
    /// Another gate of this repository is going on.
    #[error(
        "locked: another gate of {} is going on in {}; wait until it is done, or give this one a folder of its own by PERFHARNESS_CACHE",
        root.display(),
        place.display()
    )]
    InUse {
        /// The repository.
        root: PathBuf,
        /// The folder that it builds in.
        place: PathBuf,
    },
    /// There is no folder outside of the repository.
    #[error(
        "both versions are built outside of {}, and {} is inside; set PERFHARNESS_CACHE to a folder elsewhere",
        root.display(),
        cache.display()
    )]
    NoPlace {
        /// The repository.
        root: PathBuf,
        /// The folder for files that outlive a run.
        cache: PathBuf,
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
            Self::NoRepository { .. }
                | Self::NoCommit { .. }
                | Self::NoMergeBase { .. }
                | Self::Ambiguous { .. }
                | Self::Unseen { .. }
                | Self::NoWorker
                | Self::Shared { .. }
                | Self::Link { .. }
                | Self::NoPlace { .. }
        )
    }
}
