//! One version of the code: its own workers, with its own files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_platform::{env, is_shared_library, library_path_variable};

use super::VersionsError;
use super::build::{BuildRecipe, TARGET};
use super::place::{SidePlace, digest_of, folders_with};
use crate::config::{WorkerConfig, program_name};
use crate::measure::WorkerCommand;

/// Lists of folders that interpreters and loaders take code from. Where they name the working copy, each version gets its
/// own files in the place of these.
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

/// One version, built.
#[derive(Clone, Debug)]
pub struct Version {
    side: &'static str,
    /// The commit. Of what was changed and not committed it is one that no branch has.
    pub commit: String,
    /// Identifies the files of the commit.
    pub tree: String,
    /// What starts its workers.
    pub workers: Vec<WorkerCommand>,
    /// Digest of everything that its workers have of their own: what the build made, and the sources where they read some.
    pub digest: Digest,
    /// Digest of what the build made alone.
    pub(super) built: Digest,
    /// Where that is.
    run: PathBuf,
    /// The tree, or an empty folder.
    folder: PathBuf,
}

impl Version {
    pub(super) fn new(
        side: &'static str,
        commit: &str,
        tree: String,
        reads_sources: bool,
        workers: Vec<WorkerCommand>,
        place: &SidePlace,
    ) -> Result<Self, VersionsError> {
        let run = place.run();
        let folder = if reads_sources { place.tree() } else { place.empty() };
        let built = digest_of(&run).map_err(|source| VersionsError::Io { path: run.clone(), source })?;
        let sources = if reads_sources { tree.as_bytes() } else { &[] };
        let digest = Digest::of_parts([sources, built.0.as_bytes()]);
        Ok(Self { side, commit: commit.to_owned(), tree, workers, digest, built, run, folder })
    }

    pub(super) fn check(&self) -> Result<(), VersionsError> {
        let now = digest_of(&self.run);
        let now = now.map_err(|source| VersionsError::Io { path: self.run.clone(), source })?;
        if now == self.built { Ok(()) } else { Err(self.tampered()) }
    }

    /// Digest of the files that its workers are started among.
    pub(super) fn sources(&self) -> Result<Digest, VersionsError> {
        digest_of(&self.folder).map_err(|source| VersionsError::Io { path: self.folder.clone(), source })
    }

    pub(super) fn tampered(&self) -> VersionsError {
        let path = self.run.parent().unwrap_or(&self.run).to_path_buf();
        VersionsError::Tampered { side: self.side, path }
    }
}

/// The workers of a version. Each is started in its own tree, with its own files; nothing in its command, its environment
/// or its search paths leads to the working copy, which is neither version.
pub(super) fn workers(
    side: &'static str,
    recipe: &BuildRecipe,
    root: &Path,
    place: &SidePlace,
) -> Result<Vec<WorkerCommand>, VersionsError> {
    let tree = || place.tree().join(&recipe.inside).components().collect();
    let folder = if recipe.reads_sources { tree() } else { place.empty() };
    let surroundings = Surroundings { name: side, recipe, root, place, folder };
    recipe.workers.iter().map(|worker| surroundings.worker(worker)).collect()
}

struct Surroundings<'a> {
    /// Which version.
    name: &'static str,
    recipe: &'a BuildRecipe,
    /// The working copy.
    root: &'a Path,
    place: &'a SidePlace,
    /// The working folder.
    folder: PathBuf,
}

impl Surroundings<'_> {
    fn worker(&self, worker: &WorkerConfig) -> Result<WorkerCommand, VersionsError> {
        let mut command = Vec::new();
        for (number, word) in worker.command.iter().enumerate() {
            command.push(self.word(word, number == 0)?);
        }
        let mut environment = self.search_paths();
        environment.extend(worker.env.iter().map(|(name, value)| (name.clone(), self.own(value))));
        let name = worker.name.clone().unwrap_or_else(|| program_name(&command));
        Ok(WorkerCommand { name, command, env: environment, folder: Some(self.folder.clone()) })
    }

    /// A text in which the working copy and the build's folder are this version's own.
    fn own(&self, text: &str) -> String {
        let run = self.place.run();
        let text = text.replace(TARGET, &run.to_string_lossy());
        replace_folder(&text, &self.root.to_string_lossy(), &self.place.tree().to_string_lossy())
    }

    fn word(&self, word: &str, is_program: bool) -> Result<String, VersionsError> {
        let own = self.own(word);
        if let Some(inside) = word.strip_prefix(TARGET) {
            return self.built(inside.trim_start_matches(['/', '\\'])).map(|path| text(&path));
        }
        let is_path = own.contains(['/', '\\']);
        let here = self.folder.join(&own);
        if here.exists() {
            self.check(word, &here)?;
            // A relative program is looked up from the folder that the harness was started in.
            return Ok(if is_program && is_path { text(&here) } else { own });
        }
        // An interpreter that was set up in the working copy, and lies elsewhere in truth, is shared by both. Anything else
        // that this version lacks it has to do without.
        let there = self.root.join(&self.recipe.inside).join(word);
        if is_path && there.exists() && self.check(word, &there).is_ok() {
            return Ok(text(&there));
        }
        Ok(if is_program && is_path { text(&here) } else { own })
    }

    /// Insists on a file being no part of the working copy.
    fn check(&self, word: &str, path: &Path) -> Result<(), VersionsError> {
        let (real, root) = (path.canonicalize(), self.root.canonicalize());
        match (real, root) {
            (Ok(real), Ok(root)) if real.starts_with(&root) => {
                Err(VersionsError::Shared { word: word.to_owned(), path: real })
            }
            _ => Ok(()),
        }
    }

    /// What the build made, or an error where it did not make it.
    fn built(&self, inside: &str) -> Result<PathBuf, VersionsError> {
        let path = self.place.run().join(inside);
        let with_suffix = PathBuf::from(format!("{}{}", path.display(), std::env::consts::EXE_SUFFIX));
        let found = [path, with_suffix].into_iter().find(|path| path.exists());
        found.ok_or(VersionsError::NoProgram { side: self.name, path: Path::new(TARGET).join(inside) })
    }

    /// Where this version's libraries and modules are, in place of those of the working copy.
    fn search_paths(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for name in SEARCH_PATHS {
            if let Some(value) = env::var(name).filter(|value| self.own(value) != *value) {
                found.insert(name.to_owned(), self.own(&value));
            }
        }
        // What a program was linked to at the path that it was built at lies here now.
        let libraries = folders_with(&self.place.run(), is_shared_library);
        if !libraries.is_empty() {
            let name = library_path_variable();
            let before = found.get(name).cloned().or_else(|| env::var(name)).unwrap_or_default();
            // An empty entry would be the working folder.
            let others = std::env::split_paths(&before).filter(|folder| !folder.as_os_str().is_empty());
            let folders = libraries.into_iter().chain(others);
            if let Ok(joined) = std::env::join_paths(folders) {
                found.insert(name.to_owned(), joined.to_string_lossy().into_owned());
            }
        }
        found
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The text with another folder in the place of one, where that is not a part of a longer name.
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
}
