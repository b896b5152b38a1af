//! What is asked of git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::VersionsError;

/// The repository that the current folder is in.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Self, VersionsError> {
        match git(Path::new("."), &["rev-parse", "--show-toplevel"]) {
            Ok(root) => Ok(Self { root: root.into() }),
            Err(VersionsError::Git { message, .. }) => Err(VersionsError::NoRepository { message }),
            Err(other) => Err(other),
        }
    }

    /// Its top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn git(&self, arguments: &[&str]) -> Result<String, VersionsError> {
        git(&self.root, arguments)
    }

    fn is_shallow(&self) -> bool {
        self.git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true")
    }

    /// The commit that a change began from: what HEAD and a reference have in common.
    ///
    /// # Errors
    /// When the reference is no commit, or has nothing in common with HEAD.
    pub fn merge_base(&self, reference: &str) -> Result<String, VersionsError> {
        let shallow = self.is_shallow();
        let commit = format!("{reference}^{{commit}}");
        if self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_err() {
            return Err(VersionsError::NoCommit { reference: reference.to_owned(), shallow });
        }
        self.git(&["merge-base", "--end-of-options", "HEAD", reference])
            .or_else(|_| self.git(&["merge-base", "HEAD", reference]))
            .map_err(|_| VersionsError::NoMergeBase { reference: reference.to_owned(), shallow })
    }

    /// A commit of what the tracked files are now: HEAD, or one that no branch has, if they were changed.
    ///
    /// # Errors
    /// When git cannot make one.
    pub fn tracked_state(&self) -> Result<String, VersionsError> {
        let stashed = self.git(&[
            "-c",
            "user.name=perfharness",
            "-c",
            "user.email=perfharness@localhost",
            "stash",
            "create",
        ])?;
        if stashed.is_empty() { self.git(&["rev-parse", "HEAD"]) } else { Ok(stashed) }
    }

    /// Untracked files that are not ignored: what a build from a commit would not have.
    pub fn untracked(&self) -> Vec<String> {
        let listed = self.git(&["ls-files", "--others", "--exclude-standard"]).unwrap_or_default();
        listed.lines().map(str::to_owned).collect()
    }

    /// A file as a commit has it; `None` where it has none. The path is seen from the top folder.
    pub fn file_at(&self, commit: &str, path: &str) -> Option<String> {
        let out = Command::new("git")
            .arg("-C")
            .arg(&self.root)
            .args(["show", &format!("{commit}:{path}")])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        // Not trimmed: a baseline is compared to the byte.
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Names of files in a folder of a commit.
    pub fn files_at(&self, commit: &str, folder: &str) -> Vec<String> {
        let listed = self.git(&["ls-tree", "--name-only", &format!("{commit}:{folder}")]).unwrap_or_default();
        listed.lines().map(str::to_owned).collect()
    }

    /// A path as seen from the top folder, with `/`; `None` for what is outside.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let root = self.root.canonicalize().ok()?;
        let absolute = std::env::current_dir().ok()?.join(path);
        // What does not exist any more cannot be resolved, but the folder that it was in can.
        let resolved = absolute.canonicalize().ok().or_else(|| {
            let name = absolute.file_name()?;
            Some(absolute.parent()?.canonicalize().ok()?.join(name))
        })?;
        let inside = resolved.strip_prefix(root).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    }

    /// Whether two commits have the same files.
    pub fn are_same(&self, one: &str, other: &str) -> bool {
        self.git(&["diff", "--quiet", one, other]).is_ok()
    }

    /// Checks a commit out into a folder of its own.
    ///
    /// # Errors
    /// When git cannot.
    pub(super) fn add_tree(&self, tree: &Path, commit: &str) -> Result<(), VersionsError> {
        self.remove_tree(tree);
        let tree = tree.to_string_lossy();
        self.git(&["worktree", "add", "--force", "--detach", &tree, commit]).map(drop)
    }

    /// Moves a checked-out folder.
    ///
    /// # Errors
    /// When git cannot.
    pub(super) fn move_tree(&self, from: &Path, to: &Path) -> Result<(), VersionsError> {
        self.remove_tree(to);
        self.git(&["worktree", "move", &from.to_string_lossy(), &to.to_string_lossy()]).map(drop)
    }

    /// Removes a checked-out folder; what is not there needs no removing.
    pub(super) fn remove_tree(&self, tree: &Path) {
        let _ = self.git(&["worktree", "remove", "--force", &tree.to_string_lossy()]);
        let _ = std::fs::remove_dir_all(tree);
        let _ = self.git(&["worktree", "prune"]);
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, VersionsError> {
    let command = || arguments.join(" ");
    let out = Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output();
    let out = out.map_err(|error| VersionsError::Git { command: command(), message: error.to_string() })?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    } else {
        let message = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        Err(VersionsError::Git { command: command(), message })
    }
}
