//! Two versions of the code, built so that only the code differs: at one path, with one command, and isolated from each
//! other.

mod build;
mod git;
mod linker;
mod links;
mod place;
mod relocation;
mod side;

pub(crate) use build::{BuildRecipe, BuiltHere, Versions};
pub(crate) use git::Repository;
pub(crate) use side::Version;

use std::path::PathBuf;

/// Error while the two versions are found, built or checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VersionsError {
    #[error("`git {command}` failed: {message}")]
    Git { command: String, message: String },
    /// The current folder is not in a repository.
    #[error(
        "the current folder is not in a git repository, which --base needs: {message}; use --base-worker instead"
    )]
    NoRepository { message: String },
    /// The reference does not name a commit.
    #[error(
        "--base {reference} does not name a commit of this repository; fetch it, e.g. with `git fetch origin`, or correct the name{}",
        if *.shallow { "; this clone is shallow: fetch the history with `git fetch --unshallow` (`fetch-depth: 0` in CI)" } else { "" }
    )]
    NoCommit { reference: String, shallow: bool },
    /// The reference names several commits.
    #[error("--base {reference} is ambiguous between {names}; give the full name of one of them")]
    Ambiguous { reference: String, names: String },
    /// Git sees no change, but does not track some files.
    #[error(
        "git sees no difference between the base and the code here, but it does not track {}; `git add` the files of the change, and ignore the others",
        files.join(", ")
    )]
    Unseen { files: Vec<String> },
    /// HEAD and the reference have no commit in common.
    #[error(
        "HEAD and {reference} have no commit in common{}",
        if *.shallow { ", because this clone is shallow: fetch the history with `git fetch --unshallow` (`fetch-depth: 0` in CI)" } else { "" }
    )]
    NoMergeBase { reference: String, shallow: bool },
    /// The configuration names no worker.
    #[error(
        "--base needs the commands that build and start a worker; add [gate] with `build` and `worker`, or a [[worker]], to perfharness.toml"
    )]
    NoWorker,
    #[error("the {side} does not build: `{command}` {how}\n{output}")]
    Build {
        side: &'static str,
        command: String,
        /// Its end, as a phrase.
        how: String,
        /// Last lines of its output.
        output: String,
    },
    /// The build did not create the worker.
    #[error("the build of the {side} did not create {}; check `worker` under [gate] in perfharness.toml", path.display())]
    NoProgram {
        side: &'static str,
        /// Expected path.
        path: PathBuf,
    },
    /// A command names a file of the working copy, which both versions would share.
    #[error(
        "the worker's `{word}` is {} in the working copy, which the base and the change would share; use a path relative to the configuration, or build it into {{target}}",
        path.display()
    )]
    Shared { word: String, path: PathBuf },
    /// The programs of a version changed after they were built.
    #[error(
        "the programs of the {side} in {} changed after they were built; the build and the workers of the change must not modify them",
        path.display()
    )]
    Tampered {
        side: &'static str,
        /// Folder of the programs.
        path: PathBuf,
    },
    /// A link of a commit leads out of the repository.
    #[error(
        "{path} is a link of {commit}, or behind one, that leads out of the repository; replace it with a file or folder"
    )]
    Link { path: String, commit: String },
    /// Another gate of this repository is running.
    #[error(
        "another gate of {} is running in {}; wait for its end, or set PERFHARNESS_CACHE to another folder",
        root.display(),
        place.display()
    )]
    InUse {
        root: PathBuf,
        /// The folder that it builds in.
        place: PathBuf,
    },
    /// The cache folder is inside the repository.
    #[error(
        "both versions are built outside of {}, but {} is inside of it; set PERFHARNESS_CACHE to another folder",
        root.display(),
        cache.display()
    )]
    NoPlace { root: PathBuf, cache: PathBuf },
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl VersionsError {
    /// Whether the arguments or the configuration are wrong, and not their execution.
    pub(crate) fn is_usage(&self) -> bool {
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
