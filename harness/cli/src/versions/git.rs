//! What is asked of git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::VersionsError;
use super::stead::without_dots;

/// The mode of a symbolic link in a tree.
const LINK: &str = "120000";

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

    /// Files that a change may have, and a build from a commit has not: those that git does not know and is not told to
    /// ignore, and those that it was told to look away from and that differ.
    ///
    /// # Errors
    /// When git cannot tell.
    pub fn unknown(&self) -> Result<Vec<String>, VersionsError> {
        let mut unknown = self.paths(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        // What was changed within submodules, which a commit only names.
        let changed = |ignore| {
            self.paths(&["diff", "-z", "--name-only", &format!("--ignore-submodules={ignore}"), "HEAD"])
        };
        let known = changed("dirty")?;
        unknown.extend(changed("none")?.into_iter().filter(|path| !known.contains(path)));
        for line in self.paths(&["ls-files", "-z", "-v", "--stage"])? {
            // "h 100644 DIGEST 0\tPATH": a small letter for what is assumed to be unchanged, S for what is skipped.
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

    /// A list that git gives with `-z`: names as they are, which it would quote otherwise.
    fn paths(&self, arguments: &[&str]) -> Result<Vec<String>, VersionsError> {
        let listed = self.git(arguments)?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// The symbolic links of a commit, seen from the top folder.
    pub(super) fn links_of(&self, commit: &str) -> Result<Vec<String>, VersionsError> {
        let entries = self.paths(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let link = |entry: &String| {
            let (facts, path) = entry.split_once('\t')?;
            facts.starts_with(LINK).then(|| path.to_owned())
        };
        Ok(entries.iter().filter_map(link).collect())
    }

    /// Tracked files of a commit that name the working copy by its absolute path.
    pub fn naming_root(&self, commit: &str) -> Vec<String> {
        let root = self.root.to_string_lossy();
        // It ends with 1 where it finds nothing.
        let found = self
            .paths(&["grep", "-z", "-I", "-l", "--fixed-strings", "-e", &root, commit, "--"])
            .unwrap_or_default();
        found.iter().filter_map(|name| Some(name.split_once(':')?.1.to_owned())).collect()
    }

    /// Identifies what a commit has: two commits with the same files have the same tree.
    ///
    /// # Errors
    /// When git knows no such commit.
    pub fn tree_of(&self, commit: &str) -> Result<String, VersionsError> {
        self.git(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
    }

    /// A file as a commit has it, over links that the commit has; `None` where it has none. The path is seen from the top
    /// folder.
    ///
    /// # Errors
    /// When a link leads out of the repository, or git cannot tell.
    pub fn file_at(&self, commit: &str, path: &str) -> Result<Option<String>, VersionsError> {
        let Some(place) = self.resolve(commit, path)? else { return Ok(None) };
        // Not trimmed: a baseline is compared to the byte.
        Ok(self.content(commit, &place))
    }

    /// Names of files in a folder of a commit, over links that the commit has; none where there is no such folder.
    ///
    /// # Errors
    /// When a link leads out of the repository, or git cannot tell.
    pub fn files_at(&self, commit: &str, folder: &str) -> Result<Vec<String>, VersionsError> {
        let Some(place) = self.resolve(commit, folder)? else { return Ok(Vec::new()) };
        let listed = self.git(&["ls-tree", "--name-only", &format!("{commit}:{place}")]).unwrap_or_default();
        Ok(listed.lines().map(str::to_owned).collect())
    }

    fn content(&self, commit: &str, path: &str) -> Option<String> {
        let out = Command::new("git")
            .arg("-C")
            .arg(&self.root)
            .args(["show", &format!("{commit}:{path}")])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Where a path leads in a commit. The links are those of the commit, and not what lies in the folder today.
    fn resolve(&self, commit: &str, path: &str) -> Result<Option<String>, VersionsError> {
        /// As many as systems follow.
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

    /// A path as seen from the top folder, with `/`; `None` for what is outside. Links are taken for what they are called:
    /// what they lead to here is not what they led to before.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let root = self.root.canonicalize().ok()?;
        let absolute = without_dots(&std::env::current_dir().ok()?.join(path));
        // The outermost folder that is the repository's, however it is reached.
        let above: Vec<&Path> = absolute.ancestors().collect();
        let top = above.iter().rev().find(|folder| folder.canonicalize().is_ok_and(|real| real == root))?;
        let inside = absolute.strip_prefix(top).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    }

    /// Checks a commit out into a folder of its own.
    ///
    /// # Errors
    /// When git cannot.
    pub(super) fn add_tree(&self, tree: &Path, commit: &str) -> Result<(), VersionsError> {
        self.remove_tree(tree);
        let tree = tree.to_string_lossy();
        // Hooks may be files of the change.
        let no_hooks = "core.hooksPath=/dev/null";
        self.git(&["-c", no_hooks, "worktree", "add", "--force", "--detach", &tree, commit]).map(drop)
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
        // A folder may have a name that ends in a space.
        Ok(String::from_utf8_lossy(&out.stdout).trim_end_matches(['\r', '\n']).to_owned())
    } else {
        let message = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        Err(VersionsError::Git { command: command(), message })
    }
}
