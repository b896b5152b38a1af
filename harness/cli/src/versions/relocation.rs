//! Paths of a version in place of those of the working copy.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use perfharness_platform::env;

use super::build::TARGET;

/// Variables with folders that interpreters and loaders take code from: their paths in the working copy are never shared.
const SEARCH_PATHS: [&str; 9] = [
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "NODE_PATH",
    "RUBYLIB",
    "PERL5LIB",
    "CLASSPATH",
];
/// Variables with folders of the user and of tools, which may lie in the working copy and belong to no version.
const SHARED: [&str; 9] = [
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "OLDPWD",
    "PERFHARNESS_CACHE",
];
/// Characters that end a path within a text.
const DELIMITERS: &str = " \t\n:;,\"'`=()<>|&$";

/// The working copy, and the folders of a version that replace it.
pub(super) struct Relocation<'a> {
    /// The working copy, as a canonical path.
    pub(super) root: &'a Path,
    /// Tree of the version.
    pub(super) tree: PathBuf,
    /// Folder of the products of its build.
    pub(super) target: PathBuf,
}

impl Relocation<'_> {
    /// Replaces `{target}` and all paths in the working copy, however they are written, with those of this version.
    pub(super) fn text(&self, text: &str) -> String {
        let text = text.replace(TARGET, &self.target.to_string_lossy());
        let mut replaced = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let length = rest.find(|c| DELIMITERS.contains(c)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(length);
            let own = Path::new(part).is_absolute().then(|| self.path(Path::new(part))).flatten();
            replaced.push_str(own.as_ref().map_or(part, |own| own.to_str().unwrap_or(part)));
            let delimiter = behind.chars().next().map_or(0, char::len_utf8);
            replaced.push_str(&behind[..delimiter]);
            rest = &behind[delimiter..];
        }
        // The path of the working copy may contain a delimiter.
        replace_folder(&replaced, &self.root.to_string_lossy(), &self.tree.to_string_lossy())
    }

    /// Returns the path of this version for one in the working copy, or `None` if it is elsewhere.
    fn path(&self, path: &Path) -> Option<PathBuf> {
        let (there, real) = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
        let inside = real.strip_prefix(self.root).ok()?;
        Some(self.tree.join(inside).join(path.strip_prefix(there).ok()?).components().collect())
    }

    /// Returns the variables of the environment that name the working copy, with the paths of this version.
    pub(super) fn environment(&self, folder: &Path) -> BTreeMap<String, String> {
        let mut own = BTreeMap::from([("PWD".to_owned(), folder.to_string_lossy().into_owned())]);
        for (name, value) in env::all() {
            if SHARED.contains(&name.as_str()) || name.starts_with("GIT_") || own.contains_key(&name) {
                continue;
            }
            if name == "PATH" {
                own.insert(name, self.folders(&value));
                continue;
            }
            let text = self.text(&value);
            // Files that git does not track, such as a Python environment, are in no version and can only be shared,
            // except for search paths of code.
            let is_there = || !Path::new(&value).is_absolute() || Path::new(&text).exists();
            if text != value && (SEARCH_PATHS.contains(&name.as_str()) || is_there()) {
                own.insert(name, text);
            }
        }
        own
    }

    /// Replaces the folders of the working copy in a list with those of this version that exist.
    fn folders(&self, list: &str) -> String {
        let own = |folder: PathBuf| self.path(&folder).filter(|own| own.is_dir()).unwrap_or(folder);
        let joined = std::env::join_paths(std::env::split_paths(list).map(own));
        joined.map_or_else(|_| list.to_owned(), |joined| joined.to_string_lossy().into_owned())
    }
}

/// Replaces a folder in a text, except where it is part of a longer name.
fn replace_folder(text: &str, from: &str, to: &str) -> String {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '~');
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let behind = &rest[at + from.len()..];
        replaced.push_str(&rest[..at]);
        replaced.push_str(if behind.starts_with(goes_on) { from } else { to });
        rest = behind;
    }
    replaced + rest
}

/// Removes `.` and `..` from a path without resolving links.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_and_one_whose_name_only_begins_so_is_not() {
        let own = |text: &str| replace_folder(text, "/home/me/repo", "/cache/base/tree");
        assert_eq!(own("/home/me/repo/src:/home/me/repo"), "/cache/base/tree/src:/cache/base/tree");
        assert_eq!(own("sh -c 'cd /home/me/repo && x'"), "sh -c 'cd /cache/base/tree && x'");
        assert_eq!(own("/home/me/repo-2/src"), "/home/me/repo-2/src");
        assert_eq!(own("src"), "src");
    }

    #[test]
    fn the_working_copy_is_known_by_its_other_names() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("repo");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let relocation = Relocation { root: &root, tree: "/own/tree".into(), target: "/own/run".into() };
        let text = |text: String| relocation.text(&text);
        assert_eq!(text("{target}/x".into()), "/own/run/x");
        let top = top.display();
        for name in
            [format!("{top}//repo/src"), format!("{top}/./repo/src"), format!("{top}/repo/../repo/src")]
        {
            let own = text(format!("sh -c 'a={name}:/usr/bin; b'"));
            assert_eq!(own, "sh -c 'a=/own/tree/src:/usr/bin; b'", "{name}");
        }
        assert_eq!(text(format!("{top}/./repo/not/yet")), "/own/tree/not/yet");
        let other = format!("{top}/other {top}");
        assert_eq!(text(other.clone()), other);
    }
}
