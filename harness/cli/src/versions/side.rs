//! One version of the code, with workers and files of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_platform::{env, is_shared_library, library_path_variable};
use perfharness_record::WorkerCommand;

use super::VersionsError;
use super::build::{BuildRecipe, TARGET, program};
use super::links::functions_of;
use super::place::{Content, SidePlace, digest_of, folders_with};
use super::relocation::Relocation;
use crate::config::{WorkerConfig, program_name};

/// Built version of the code.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    side: &'static str,
    /// The commit; for uncommitted changes, one that no branch has.
    pub(crate) commit: String,
    /// Id of the commit's tree.
    pub(crate) tree: String,
    /// Commands that start its workers.
    pub(crate) workers: Vec<WorkerCommand>,
    /// Digest of all files that its workers use: the products of the build, and the sources if they read some.
    pub(crate) digest: Digest,
    /// Digest of the products of the build.
    built: Digest,
    /// Folder of the products.
    run: PathBuf,
    /// Working folder of the workers: the tree, or an empty folder.
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
        let built = digest_of(&run, Content::All)?;
        let sources = if reads_sources { tree.as_bytes() } else { &[] };
        let digest = Digest::of_parts([sources, built.0.as_bytes()]);
        Ok(Self { side, commit: commit.to_owned(), tree, workers, digest, built, run, folder })
    }

    /// Checks that the products are still those of the build.
    pub(super) fn check(&self) -> Result<(), VersionsError> {
        if digest_of(&self.run, Content::All)? == self.built { Ok(()) } else { Err(self.tampered()) }
    }

    /// Returns the digest of the files in the workers' folder.
    pub(super) fn sources(&self) -> Result<Digest, VersionsError> {
        digest_of(&self.folder, Content::Sources)
    }

    pub(super) fn tampered(&self) -> VersionsError {
        let path = self.run.parent().unwrap_or(&self.run).to_path_buf();
        VersionsError::Tampered { side: self.side, path }
    }
}

/// Returns the workers of a version. Each is started in the tree of the version; nothing in its command, environment or
/// search paths leads to the working copy, which is neither version.
pub(super) fn workers(
    side: &'static str,
    recipe: &BuildRecipe,
    root: &Path,
    place: &SidePlace,
) -> Result<Vec<WorkerCommand>, VersionsError> {
    let tree = || place.tree().join(&recipe.inside).components().collect();
    let folder = if recipe.reads_sources { tree() } else { place.empty() };
    let relocation = Relocation { root, tree: place.tree(), target: place.run() };
    let commands = WorkerCommands { name: side, recipe, relocation, folder };
    recipe.workers.iter().map(|worker| commands.worker(worker)).collect()
}

/// Maker of the commands that start the workers of a version.
struct WorkerCommands<'a> {
    /// The version.
    name: &'static str,
    recipe: &'a BuildRecipe,
    relocation: Relocation<'a>,
    /// Working folder.
    folder: PathBuf,
}

impl WorkerCommands<'_> {
    fn worker(&self, worker: &WorkerConfig) -> Result<WorkerCommand, VersionsError> {
        let mut environment = self.environment();
        environment
            .extend(worker.env.iter().map(|(name, value)| (name.clone(), self.relocation.text(value))));
        let mut command = Vec::new();
        for (number, word) in worker.command.iter().enumerate() {
            command.push(self.word(word, (number == 0).then_some(&environment))?);
        }
        let name = worker.name.clone().unwrap_or_else(|| program_name(&worker.command));
        let program = program(worker).map(|inside| self.relocation.target.join(inside));
        let links = match &program {
            Some(program) => self.recipe.links.of(program),
            None => Err(format!("its program, `{}`, is not built into {TARGET}", worker.command[0])),
        };
        let (layouts, one_layout) = match links {
            Ok(layouts) => (layouts, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let folder = Some(self.folder.clone());
        let functions = program.map(|program| functions_of(&program)).filter(|path| path.is_file());
        Ok(WorkerCommand { name, command, env: environment, folder, layouts, one_layout, functions })
    }

    /// Returns a word of a command for this version; `program` is the environment that a program is looked up in.
    fn word(&self, word: &str, program: Option<&BTreeMap<String, String>>) -> Result<String, VersionsError> {
        let own = self.relocation.text(word);
        if let Some(inside) = word.strip_prefix(TARGET) {
            return self.built(inside.trim_start_matches(['/', '\\'])).map(|path| text(&path));
        }
        let is_path = own.contains(['/', '\\']);
        let here = self.folder.join(&own);
        if let Some(environment) = program.filter(|_| !is_path) {
            let folders = environment.get("PATH").cloned().or_else(|| env::var("PATH"));
            return match which::which_in(&own, folders, &self.folder) {
                Ok(found) => self.check(word, &found).map(|()| own),
                // The start of the worker will report it.
                Err(_) => Ok(own),
            };
        }
        if here.exists() {
            self.check(word, &here)?;
            // The system looks a relative program up from the folder of the harness.
            return Ok(if program.is_some() { text(&here) } else { own });
        }
        // Both versions share an interpreter that is linked from the working copy and lies elsewhere. No other file that
        // this version lacks is taken from there.
        let there = self.relocation.root.join(&self.recipe.inside).join(word);
        if is_path && there.exists() && self.check(word, &there).is_ok() {
            return Ok(text(&there));
        }
        Ok(if program.is_some() { text(&here) } else { own })
    }

    /// Checks that a file is not part of the working copy.
    fn check(&self, word: &str, path: &Path) -> Result<(), VersionsError> {
        match path.canonicalize() {
            Ok(real) if real.starts_with(self.relocation.root) => {
                Err(VersionsError::Shared { word: word.to_owned(), path: real })
            }
            _ => Ok(()),
        }
    }

    /// Returns the path of a product of the build.
    fn built(&self, inside: &str) -> Result<PathBuf, VersionsError> {
        let path = self.relocation.target.join(inside);
        let with_suffix = PathBuf::from(format!("{}{}", path.display(), std::env::consts::EXE_SUFFIX));
        let found = [path, with_suffix].into_iter().find(|path| path.exists());
        found.ok_or(VersionsError::NoProgram { side: self.name, path: Path::new(TARGET).join(inside) })
    }

    /// Returns the variables that differ in the environment of this version's workers.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut found = self.relocation.environment(&self.folder);
        // Libraries that a program was linked to at the build path have moved here.
        let libraries = folders_with(&self.relocation.target, is_shared_library);
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
