//! One version of the code: its own workers, with its own files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_platform::{env, is_shared_library, library_path_variable};
use perfharness_record::WorkerCommand;

use super::VersionsError;
use super::build::{BuildRecipe, TARGET};
use super::place::{Content, SidePlace, digest_of, folders_with};
use super::stead::Stead;
use crate::config::{WorkerConfig, program_name};

/// One version, built.
#[derive(Clone, Debug)]
pub struct Version {
    side: &'static str,
    /// The commit. Of what was changed and not committed it is one that no branch has.
    pub commit: String,
    /// Identifies the files of the commit.
    pub tree: String,
    /// The commands that start its workers.
    pub workers: Vec<WorkerCommand>,
    /// Digest of everything that its workers have of their own: what the build made, and the sources where they read some.
    pub digest: Digest,
    /// Digest of what the build made alone.
    built: Digest,
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
        let built = digest_of(&run, Content::All)
            .map_err(|source| VersionsError::Io { path: run.clone(), source })?;
        let sources = if reads_sources { tree.as_bytes() } else { &[] };
        let digest = Digest::of_parts([sources, built.0.as_bytes()]);
        Ok(Self { side, commit: commit.to_owned(), tree, workers, digest, built, run, folder })
    }

    pub(super) fn check(&self) -> Result<(), VersionsError> {
        let now = digest_of(&self.run, Content::All);
        let now = now.map_err(|source| VersionsError::Io { path: self.run.clone(), source })?;
        if now == self.built { Ok(()) } else { Err(self.tampered()) }
    }

    /// Digest of the files that its workers are started among.
    pub(super) fn sources(&self) -> Result<Digest, VersionsError> {
        digest_of(&self.folder, Content::Sources)
            .map_err(|source| VersionsError::Io { path: self.folder.clone(), source })
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
    let stead = Stead { root, tree: place.tree(), target: place.run() };
    let surroundings = Surroundings { name: side, recipe, stead, folder };
    recipe.workers.iter().map(|worker| surroundings.worker(worker)).collect()
}

struct Surroundings<'a> {
    /// Which version.
    name: &'static str,
    recipe: &'a BuildRecipe,
    stead: Stead<'a>,
    /// The working folder.
    folder: PathBuf,
}

impl Surroundings<'_> {
    fn worker(&self, worker: &WorkerConfig) -> Result<WorkerCommand, VersionsError> {
        let mut environment = self.environment();
        environment.extend(worker.env.iter().map(|(name, value)| (name.clone(), self.stead.text(value))));
        let mut command = Vec::new();
        for (number, word) in worker.command.iter().enumerate() {
            command.push(self.word(word, (number == 0).then_some(&environment))?);
        }
        let name = worker.name.clone().unwrap_or_else(|| program_name(&worker.command));
        Ok(WorkerCommand { name, command, env: environment, folder: Some(self.folder.clone()) })
    }

    /// A word of a command; that of the program comes with the environment that it is looked up in.
    fn word(&self, word: &str, program: Option<&BTreeMap<String, String>>) -> Result<String, VersionsError> {
        let own = self.stead.text(word);
        if let Some(inside) = word.strip_prefix(TARGET) {
            return self.built(inside.trim_start_matches(['/', '\\'])).map(|path| text(&path));
        }
        let is_path = own.contains(['/', '\\']);
        let here = self.folder.join(&own);
        if let Some(environment) = program.filter(|_| !is_path) {
            let folders = environment.get("PATH").cloned().or_else(|| env::var("PATH"));
            return match which::which_in(&own, folders, &self.folder) {
                Ok(found) => self.check(word, &found).map(|()| own),
                // The system says so when it is started.
                Err(_) => Ok(own),
            };
        }
        if here.exists() {
            self.check(word, &here)?;
            // A relative program is looked up from the folder that the harness was started in.
            return Ok(if program.is_some() { text(&here) } else { own });
        }
        // An interpreter that was set up in the working copy, and lies elsewhere in truth, is shared by both. Anything else
        // that this version lacks it has to do without.
        let there = self.stead.root.join(&self.recipe.inside).join(word);
        if is_path && there.exists() && self.check(word, &there).is_ok() {
            return Ok(text(&there));
        }
        Ok(if program.is_some() { text(&here) } else { own })
    }

    /// Insists on a file being no part of the working copy.
    fn check(&self, word: &str, path: &Path) -> Result<(), VersionsError> {
        match path.canonicalize() {
            Ok(real) if real.starts_with(self.stead.root) => {
                Err(VersionsError::Shared { word: word.to_owned(), path: real })
            }
            _ => Ok(()),
        }
    }

    /// A product of the build, or an error where it did not make it.
    fn built(&self, inside: &str) -> Result<PathBuf, VersionsError> {
        let path = self.stead.target.join(inside);
        let with_suffix = PathBuf::from(format!("{}{}", path.display(), std::env::consts::EXE_SUFFIX));
        let found = [path, with_suffix].into_iter().find(|path| path.exists());
        found.ok_or(VersionsError::NoProgram { side: self.name, path: Path::new(TARGET).join(inside) })
    }

    /// Variables that differ in the environment of this version's workers.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut found = self.stead.environment(&self.folder);
        // What a program was linked to at the path that it was built at lies here now.
        let libraries = folders_with(&self.stead.target, is_shared_library);
        if !libraries.is_empty() {
            let name = library_path_variable();
            let before = found.get(name).cloned().or_else(|| env::var(name)).unwrap_or_default();
            // An empty entry would be the working folder.
            let others = std::env::split_paths(&before).filter(|folder| !folder.as_os_str().is_empty());
            if let Ok(joined) = std::env::join_paths(libraries.into_iter().chain(others)) {
                found.insert(name.to_owned(), joined.to_string_lossy().into_owned());
            }
        }
        found
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
