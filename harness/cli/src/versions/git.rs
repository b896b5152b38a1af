//! Access to the git repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::VersionsError;
use super::relocation::without_dots;

/// Mode of a symbolic link in a tree.
const LINK: &str = "120000";

/// Repository of the current folder. Everything that asks git fails when git does, and every reader of a commit when a link
/// leads out of the repository.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds the repository.
    pub(crate) fn find() -> Result<Self, VersionsError> {
        match git(Path::new("."), &["rev-parse", "--show-toplevel"]) {
            Ok(root) => Ok(Self { root: root.into() }),
            Err(VersionsError::Git { message, .. }) => Err(VersionsError::NoRepository { message }),
            Err(other) => Err(other),
        }
    }

    /// Returns the top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn git(&self, arguments: &[&str]) -> Result<String, VersionsError> {
        git(&self.root, arguments)
    }

    fn is_shallow(&self) -> bool {
        self.git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true")
    }

    /// Returns the merge base of HEAD and a reference.
    ///
    /// # Errors
    /// When the reference does not name one commit, or has none in common with HEAD.
    pub(crate) fn merge_base(&self, reference: &str) -> Result<String, VersionsError> {
        let shallow = self.is_shallow();
        let commit = format!("{reference}^{{commit}}");
        if self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_err() {
            return Err(VersionsError::NoCommit { reference: reference.to_owned(), shallow });
        }
        let named = ["refs/heads", "refs/tags", "refs/remotes"].map(|kind| format!("{kind}/{reference}"));
        let is_there = |name: &&String| self.git(&["show-ref", "--verify", "--quiet", name]).is_ok();
        let mut names = named.iter().filter(is_there);
        if let (Some(one), Some(other)) = (names.next(), names.next()) {
            let names = format!("{one} and {other}");
            return Err(VersionsError::Ambiguous { reference: reference.to_owned(), names });
        }
        self.git(&["merge-base", "--end-of-options", "HEAD", reference])
            .or_else(|_| self.git(&["merge-base", "HEAD", reference]))
            .map_err(|_| VersionsError::NoMergeBase { reference: reference.to_owned(), shallow })
    }

    /// Returns the files that a change may contain but a build from a commit lacks: those that git neither tracks nor
    /// ignores, and changed ones that it was told to assume unchanged.
    pub(crate) fn unknown(&self) -> Result<Vec<String>, VersionsError> {
        let mut unknown = self.paths(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        // Changes within submodules, of which a commit contains only the name.
        let changed = |ignore| {
            self.paths(&["diff", "-z", "--name-only", &format!("--ignore-submodules={ignore}"), "HEAD"])
        };
        let known = changed("dirty")?;
        unknown.extend(changed("none")?.into_iter().filter(|path| !known.contains(path)));
        for line in self.paths(&["ls-files", "-z", "-v", "--stage"])? {
            // "h 100644 DIGEST 0\tPATH": a small letter for a file that is assumed unchanged, S for a skipped one.
            let Some((facts, path)) = line.split_once('\t') else { continue };
            let mut facts = facts.split(' ');
            let (tag, digest) = (facts.next().unwrap_or_default(), facts.nth(1).unwrap_or_default());
            let is_hidden = tag == "S" || tag.chars().all(|c| c.is_ascii_lowercase());
            if is_hidden && self.root.join(path).is_file() {
                let now = self.git(&["hash-object", "--", path])?;
                unknown.extend((now != digest).then(|| path.to_owned()));
            }
        }
        Ok(unknown)
    }

    /// Returns a commit of the tracked files as they are: HEAD or, if they were changed, one that no branch has.
    pub(crate) fn tracked_state(&self) -> Result<String, VersionsError> {
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

    /// Returns a list that git prints with `-z`, which keeps it from quoting names.
    fn paths(&self, arguments: &[&str]) -> Result<Vec<String>, VersionsError> {
        let listed = self.git(arguments)?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the symbolic links of a commit, relative to the top folder.
    pub(super) fn links_of(&self, commit: &str) -> Result<Vec<String>, VersionsError> {
        let entries = self.paths(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let link = |entry: &String| {
            let (facts, path) = entry.split_once('\t')?;
            facts.starts_with(LINK).then(|| path.to_owned())
        };
        Ok(entries.iter().filter_map(link).collect())
    }

    /// Returns the tracked files of a commit that contain the absolute path of the working copy.
    pub(crate) fn naming_root(&self, commit: &str) -> Vec<String> {
        let root = self.root.to_string_lossy();
        // Git exits with 1 if it finds nothing.
        let found = self
            .paths(&["grep", "-z", "-I", "-l", "--fixed-strings", "-e", &root, commit, "--"])
            .unwrap_or_default();
        found.iter().filter_map(|name| Some(name.split_once(':')?.1.to_owned())).collect()
    }

    /// Returns the id of a commit's tree: two commits with the same files have the same one.
    pub(crate) fn tree_of(&self, commit: &str) -> Result<String, VersionsError> {
        self.git(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
    }

    /// Reads a file of a commit, or returns `None` if it has none. The path is relative to the top folder, and links of the
    /// commit are followed.
    pub(crate) fn file_at(&self, commit: &str, path: &str) -> Result<Option<String>, VersionsError> {
        let Some(place) = self.resolve(commit, path)? else { return Ok(None) };
        // Not trimmed: a baseline is compared to the byte.
        Ok(self.content(commit, &place))
    }

    /// Returns the names of the files in a folder of a commit, and none if there is no such folder. Links of the commit are
    /// followed.
    pub(crate) fn files_at(&self, commit: &str, folder: &str) -> Result<Vec<String>, VersionsError> {
        let Some(place) = self.resolve(commit, folder)? else { return Ok(Vec::new()) };
        let listed = self.git(&["ls-tree", "--name-only", &format!("{commit}:{place}")]).unwrap_or_default();
        Ok(listed.lines().map(str::to_owned).collect())
    }

    fn content(&self, commit: &str, path: &str) -> Option<String> {
        output(&self.root, &["show", &format!("{commit}:{path}")]).ok()
    }

    /// Resolves a path by the links of a commit, and not by those in the working copy.
    fn resolve(&self, commit: &str, path: &str) -> Result<Option<String>, VersionsError> {
        /// Most links that are followed, as on most systems.
        const MOST_LINKS: usize = 40;
        let outside = || VersionsError::Link { path: path.to_owned(), commit: commit.to_owned() };
        let parts = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
        let mut rest = parts(path);
        let mut place: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." if place.pop().is_some() => continue,
                ".." => return Err(outside()),
                _ => place.push(part),
            }
            let here = place.join("/");
            let entry = self.git(&["--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", &here])?;
            match entry.split_ascii_whitespace().next() {
                None => return Ok(None),
                Some(mode) if mode == LINK => {
                    links += 1;
                    let target = self.content(commit, &here).ok_or_else(outside)?;
                    if links > MOST_LINKS || Path::new(&target).is_absolute() || target.starts_with('/') {
                        return Err(outside());
                    }
                    place.pop();
                    rest.extend(parts(&target));
                }
                Some(_) => {}
            }
        }
        Ok(Some(place.join("/")))
    }

    /// Returns a path relative to the top folder, with `/`, or `None` if it is outside. Links are not resolved, because they
    /// may lead elsewhere in another commit.
    pub(crate) fn relative(&self, path: &Path) -> Option<String> {
        let root = self.root.canonicalize().ok()?;
        let absolute = without_dots(&std::env::current_dir().ok()?.join(path));
        // The outermost folder that is the top folder, by whatever links it is reached.
        let above: Vec<&Path> = absolute.ancestors().collect();
        let top = above.iter().rev().find(|folder| folder.canonicalize().is_ok_and(|real| real == root))?;
        let inside = absolute.strip_prefix(top).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    }

    /// Checks a commit out into a folder of its own.
    pub(super) fn add_tree(&self, tree: &Path, commit: &str) -> Result<(), VersionsError> {
        self.remove_tree(tree);
        let tree = tree.to_string_lossy();
        // Hooks may be files of the change.
        let no_hooks = "core.hooksPath=/dev/null";
        self.git(&["-c", no_hooks, "worktree", "add", "--force", "--detach", &tree, commit]).map(drop)
    }

    /// Moves a checked-out folder.
    pub(super) fn move_tree(&self, from: &Path, to: &Path) -> Result<(), VersionsError> {
        self.remove_tree(to);
        self.git(&["worktree", "move", &from.to_string_lossy(), &to.to_string_lossy()]).map(drop)
    }

    /// Removes a checked-out folder, if it exists.
    pub(super) fn remove_tree(&self, tree: &Path) {
        let _ = self.git(&["worktree", "remove", "--force", &tree.to_string_lossy()]);
        let _ = std::fs::remove_dir_all(tree);
        let _ = self.git(&["worktree", "prune"]);
    }
}

/// Returns the output of git without its line end.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, VersionsError> {
    // Other white space stays: a folder may have a name that ends in a space.
    Ok(output(folder, arguments)?.trim_end_matches(['\r', '\n']).to_owned())
}

/// Returns the output of git.
fn output(folder: &Path, arguments: &[&str]) -> Result<String, VersionsError> {
    let command = || arguments.join(" ");
    let out = Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output();
    let out = out.map_err(|error| VersionsError::Git { command: command(), message: error.to_string() })?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        let message = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        Err(VersionsError::Git { command: command(), message })
    }
}
