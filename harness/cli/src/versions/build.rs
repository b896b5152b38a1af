//! Building the two versions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Repository, VersionsError};
use crate::config::{Config, program_name};
use crate::measure::WorkerCommand;
use crate::record::short_commit;

/// Stands, in a build or worker command, for the folder that both versions are built into.
const TARGET: &str = "{target}";

/// Lines of a failed build that are shown.
const KEPT_LINES: usize = 40;

/// How both versions are built and started.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildRecipe {
    /// The command, run in the top folder of the sources; nothing is built where it is empty.
    build: Vec<String>,
    /// The worker that comes of it; the `[[worker]]`s of the version's own configuration where absent.
    worker: Option<Vec<String>>,
}

impl BuildRecipe {
    /// What a configuration says; a Cargo package is built in release by default.
    pub fn of(config: &Config, repository: &Repository) -> Self {
        let is_cargo = repository.root().join("Cargo.toml").is_file();
        let cargo = || ["cargo", "build", "--release", "--locked"].map(str::to_owned).to_vec();
        let default = || if is_cargo { cargo() } else { Vec::new() };
        Self { build: config.gate.build.clone().unwrap_or_else(default), worker: config.gate.worker.clone() }
    }
}

/// Both versions, built. Their source trees are removed with it.
#[derive(Debug)]
pub struct Versions {
    repository: Repository,
    folder: PathBuf,
    /// Workers of the base.
    pub base: Vec<WorkerCommand>,
    /// Workers of the code here.
    pub head: Vec<WorkerCommand>,
    /// Whether all that the workers consist of was built, so that equal digests mean equal programs.
    pub is_built: bool,
}

impl Versions {
    /// Builds the base and then the code here, both at the same path, so that no path in the programs differs.
    ///
    /// # Errors
    /// When git or the build fails, or there is no worker.
    pub fn build(
        repository: Repository,
        base_commit: &str,
        head_commit: &str,
        recipe: &BuildRecipe,
        say: &dyn Fn(&str),
    ) -> Result<Self, VersionsError> {
        let folder = repository.root().join("target").join("perfharness-gate");
        let mut versions =
            Self { repository, folder, base: Vec::new(), head: Vec::new(), is_built: recipe.is_built() };
        versions.make_folder()?;
        say(&format!("building the base, {}", short_commit(base_commit)));
        versions.base = versions.side("base", base_commit, recipe)?;
        say(&format!("building the code here, {}", short_commit(head_commit)));
        versions.head = versions.side("head", head_commit, recipe)?;
        Ok(versions)
    }

    fn make_folder(&self) -> Result<(), VersionsError> {
        let ignore = self.folder.join(".gitignore");
        let made = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&ignore, "*\n"));
        made.map_err(|source| VersionsError::Io { path: ignore, source })
    }

    fn side(
        &self,
        side: &'static str,
        commit: &str,
        recipe: &BuildRecipe,
    ) -> Result<Vec<WorkerCommand>, VersionsError> {
        let tree = self.folder.join("tree");
        let target = self.folder.join("target");
        let place = self.folder.join(side);
        self.repository.add_tree(&tree, commit)?;
        recipe.run(side, &tree, &target)?;
        self.repository.remove_tree(&place.join("tree"));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place)
            .map_err(|source| VersionsError::Io { path: place.clone(), source })?;
        let kept = place.join("tree");
        self.repository.move_tree(&tree, &kept)?;
        recipe.workers(side, &kept, &target, &place)
    }
}

impl Drop for Versions {
    fn drop(&mut self) {
        for tree in ["tree", "base/tree", "head/tree"] {
            self.repository.remove_tree(&self.folder.join(tree));
        }
    }
}

impl BuildRecipe {
    /// Whether every file of the worker comes from the build.
    fn is_built(&self) -> bool {
        self.worker.as_ref().is_some_and(|words| words.iter().all(|word| word.contains(TARGET)))
    }

    fn run(&self, side: &'static str, tree: &Path, target: &Path) -> Result<(), VersionsError> {
        let words: Vec<String> = self.build.iter().map(|word| fill(word, target)).collect();
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let command = words.join(" ");
        let failed = |how: String, output: String| VersionsError::Build {
            side,
            command: command.clone(),
            how,
            output,
        };
        // Nothing that differs between the two belongs into the programs: no paths of debug information, no state of an
        // earlier build.
        let out = Command::new(program)
            .args(arguments)
            .current_dir(tree)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot be started: {error}"), String::new()))?;
        if out.status.success() {
            return Ok(());
        }
        let text =
            [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let lines: Vec<&str> = text.lines().collect();
        let end = lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n");
        Err(failed(format!("ended with {}", out.status), end))
    }

    /// The workers of a version: what was built is copied beside its sources, because the other version is built in the
    /// same place.
    fn workers(
        &self,
        side: &'static str,
        tree: &Path,
        target: &Path,
        place: &Path,
    ) -> Result<Vec<WorkerCommand>, VersionsError> {
        let Some(words) = &self.worker else {
            let path = tree.join(crate::config::CONFIG_FILE);
            let config = Config::load(Some(&path)).map_err(|_| VersionsError::NoWorker)?;
            let workers = config.workers();
            return if workers.is_empty() { Err(VersionsError::NoWorker) } else { Ok(workers) };
        };
        let mut command = Vec::new();
        for word in words {
            if word.contains(TARGET) {
                command.push(copied(side, &PathBuf::from(fill(word, target)), place)?);
            } else if tree.join(word).is_file() {
                command.push(tree.join(word).to_string_lossy().into_owned());
            } else {
                command.push(word.clone());
            }
        }
        if command.is_empty() {
            return Err(VersionsError::NoWorker);
        }
        Ok(vec![WorkerCommand { name: program_name(&command), command, env: BTreeMap::new() }])
    }
}

fn fill(word: &str, target: &Path) -> String {
    word.replace(TARGET, &target.to_string_lossy())
}

fn copied(side: &'static str, path: &Path, place: &Path) -> Result<String, VersionsError> {
    let suffix = std::env::consts::EXE_SUFFIX;
    let with_suffix = PathBuf::from(format!("{}{suffix}", path.display()));
    let path = if path.is_file() { path.to_path_buf() } else { with_suffix };
    let Some(name) = path.file_name().filter(|_| path.is_file()) else {
        return Err(VersionsError::NoProgram { side, path });
    };
    let copy = place.join(name);
    std::fs::copy(&path, &copy).map_err(|source| VersionsError::Io { path: path.clone(), source })?;
    Ok(copy.to_string_lossy().into_owned())
}
