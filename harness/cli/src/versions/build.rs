//! Building of the two versions.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perfharness_engine::measure::forget_repository;
use perfharness_platform::{has_ended, kill_tree, spawn_bound};
use perfharness_record::short_commit;

use super::linker::{CargoLinker, driver};
use super::links::Links;
use super::place::{Place, SidePlace, remove};
use super::relocation::{Relocation, without_dots};
use super::side::{Version, workers};
use super::{Repository, VersionsError};
use crate::config::{Config, WorkerConfig};

/// Placeholder, in a build or worker command, for the folder that a version is built into.
pub(super) const TARGET: &str = "{target}";

/// Variable with the compiler driver that a build of other tools than Cargo should link its workers with.
const LINKER: &str = "PERFHARNESS_LINKER";

/// Last lines of a failed build that are shown.
const KEPT_LINES: usize = 40;

/// Commands that build and start both versions, whatever the versions' own configurations say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BuildRecipe {
    /// The build command; if it is empty, nothing is built.
    build: Vec<String>,
    /// The workers.
    pub(super) workers: Vec<WorkerConfig>,
    /// Folder of the configuration, relative to the top folder. Commands are started in it, in the tree of each version.
    pub(super) inside: PathBuf,
    /// Whether workers read files of the sources.
    pub(super) reads_sources: bool,
    /// Links of the workers' programs.
    pub(super) links: Links,
}

impl BuildRecipe {
    /// Reads the commands from a configuration. A Cargo package is built in release by default.
    ///
    /// # Errors
    /// When the configuration names no worker.
    pub(crate) fn of(config: &Config, repository: &Repository) -> Result<Self, VersionsError> {
        let is_cargo = repository.root().join("Cargo.toml").is_file();
        let cargo = || ["cargo", "build", "--release", "--locked"].map(str::to_owned).to_vec();
        let default = || if is_cargo { cargo() } else { Vec::new() };
        let workers = match &config.gate.worker {
            Some(command) => vec![WorkerConfig { name: None, command: command.clone(), env: [].into() }],
            None => config.worker.clone(),
        };
        if workers.is_empty() || workers.iter().any(|worker| worker.command.is_empty()) {
            return Err(VersionsError::NoWorker);
        }
        let inside = repository.relative(&config.folder).unwrap_or_default();
        let programs = workers.iter().filter_map(program);
        let links = Links::new(
            config.gate.layouts,
            programs.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())),
        );
        Ok(Self {
            links,
            build: config.gate.build.clone().unwrap_or_else(default),
            workers,
            inside: inside.into(),
            reads_sources: config.gate.reads_sources.unwrap_or(true),
        })
    }

    /// True if it links programs of the workers several times.
    pub(crate) fn varies_layout(&self) -> bool {
        self.links.are_wanted()
    }

    fn run(
        &self,
        side: &'static str,
        relocation: &Relocation<'_>,
        scripts: &Path,
    ) -> Result<(), VersionsError> {
        let words: Vec<String> = self.build.iter().map(|word| relocation.text(word)).collect();
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let command = words.join(" ");
        let failed = |how: String, output: String| VersionsError::Build {
            side,
            command: command.clone(),
            how,
            output,
        };
        let folder = relocation.tree.join(&self.inside);
        let mut build = Command::new(program);
        forget_repository(&mut build);
        // The programs must not differ by anything but the code: no paths in debug information, no state of an earlier
        // build.
        build
            .args(arguments)
            .current_dir(&folder)
            .envs(relocation.environment(&folder))
            .env("CARGO_TARGET_DIR", &relocation.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false");
        self.set_linker(&mut build, relocation, &folder, scripts)
            .map_err(|source| VersionsError::Io { path: scripts.to_path_buf(), source })?;
        let (status, text) =
            finished(build).map_err(|error| failed(format!("cannot be started: {error}"), String::new()))?;
        if status.success() {
            return Ok(());
        }
        let lines: Vec<&str> = text.lines().collect();
        let end = lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n");
        Err(failed(format!("ended with {status}"), end))
    }

    /// Makes a build call a script in place of its linker, which links the workers' programs several times.
    fn set_linker(
        &self,
        build: &mut Command,
        relocation: &Relocation<'_>,
        folder: &Path,
        scripts: &Path,
    ) -> io::Result<()> {
        let driver: Vec<String> = driver().iter().map(|word| relocation.text(word)).collect();
        if !self.links.are_wanted() {
            // A build that links with it links as it would without this program.
            build.env(LINKER, driver.join(" "));
            return Ok(());
        }
        build.env(LINKER, self.links.script(scripts, &driver)?);
        if let Some(cargo) = CargoLinker::of(folder) {
            let linker = relocation.text(&cargo.linker);
            build.env(cargo.variable, self.links.script(scripts, &[linker])?);
        }
        Ok(())
    }

    /// Puts the links of the built programs of the workers beside them.
    fn gather_links(&self, target: &Path) -> io::Result<()> {
        let programs = self.workers.iter().filter_map(program);
        programs.map(|inside| target.join(inside)).try_for_each(|path| self.links.gather(&path))
    }
}

/// The path of a worker's program within the folder that is built into, if it is built.
pub(super) fn program(worker: &WorkerConfig) -> Option<PathBuf> {
    let inside = worker.command.first()?.strip_prefix(TARGET)?;
    Some(inside.trim_start_matches(['/', '\\']).into())
}

/// Runs a command, and returns its status and its output. The command is bound to this process, because processes that it
/// left running would build in the folder of the next gate.
fn finished(mut command: Command) -> io::Result<(ExitStatus, String)> {
    /// Time between two checks for its end.
    const POLL: Duration = Duration::from_millis(5);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn_bound(command)?;
    let readers = [child.stdout.take().map(in_the_background), child.stderr.take().map(in_the_background)];
    while !has_ended(&mut child)? {
        thread::sleep(POLL);
    }
    kill_tree(&mut child)?;
    let text = readers.into_iter().flatten().filter_map(|reader| reader.join().ok()).collect();
    Ok((child.wait()?, text))
}

/// Reads an output to its end on a thread, so that the writer never blocks. Unreadable output is not shown.
fn in_the_background(mut output: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// Both versions, built. Their source trees are removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Versions {
    /// The base.
    pub(crate) base: Version,
    /// The code here.
    pub(crate) head: Version,
    _workshop: Workshop,
}

impl Versions {
    /// Builds the base and then the code here, both at the same path, so that no path in the programs differs.
    ///
    /// # Errors
    /// When another gate has locked the folder, git or a build fails, or a build does not create a worker.
    pub(crate) fn build(
        repository: Repository,
        base_commit: &str,
        head_commit: &str,
        recipe: &BuildRecipe,
        say: &dyn Fn(&str),
    ) -> Result<Self, VersionsError> {
        let place = Place::take(&repository)?;
        let workshop = Workshop { repository, place };
        say(&format!("building the base, {}", short_commit(base_commit)));
        let base = workshop.version("base", base_commit, recipe)?;
        let sources = base.sources()?;
        say(&format!("building the code here, {}", short_commit(head_commit)));
        let head = workshop.version("head", head_commit, recipe)?;
        // The second build runs code of the change. No worker has run yet, which may write into its sources.
        if base.sources()? != sources {
            return Err(base.tampered());
        }
        let versions = Self { base, head, _workshop: workshop };
        versions.check()?;
        Ok(versions)
    }

    /// Whether the workers of both versions are known to load the same files: their digests are equal and so are the trees,
    /// unless all of their programs were built.
    pub(crate) fn are_identical(&self, recipe: &BuildRecipe) -> bool {
        let is_built = |worker: &WorkerConfig| program(worker).is_some();
        // A program that was not built may load files that were installed for one of the versions only.
        let all_known = self.base.tree == self.head.tree || recipe.workers.iter().all(is_built);
        self.base.digest == self.head.digest && all_known
    }

    /// Checks that the programs are still those that were built, because builds and workers of the change could reach them.
    pub(crate) fn check(&self) -> Result<(), VersionsError> {
        self.base.check()?;
        self.head.check()
    }
}

/// The code here, built as one version of a gate. Its source tree is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct BuiltHere {
    pub(crate) version: Version,
    _workshop: Workshop,
}

impl BuiltHere {
    /// Builds the code here.
    ///
    /// # Errors
    /// When another gate has locked the folder, git or the build fails, or the build does not create a worker.
    pub(crate) fn build(
        repository: Repository,
        recipe: &BuildRecipe,
        say: &dyn Fn(&str),
    ) -> Result<Self, VersionsError> {
        let commit = repository.tracked_state()?;
        let workshop = Workshop { place: Place::take(&repository)?, repository };
        say(&format!("building the code here, {}, in several layouts", short_commit(&commit)));
        Ok(Self { version: workshop.version("head", &commit, recipe)?, _workshop: workshop })
    }

    /// Checks that the programs are still those that were built.
    pub(crate) fn check(&self) -> Result<(), VersionsError> {
        self.version.check()
    }
}

/// Folder and repository that the versions are built with, cleaned up at the end.
#[derive(Debug)]
struct Workshop {
    repository: Repository,
    place: Place,
}

impl Workshop {
    fn version(
        &self,
        side: &'static str,
        commit: &str,
        recipe: &BuildRecipe,
    ) -> Result<Version, VersionsError> {
        let (tree, target, own) = (self.place.tree(), self.place.target(), self.place.side(side));
        let io = |source| VersionsError::Io { path: own.folder().to_path_buf(), source };
        self.repository.add_tree(&tree, commit)?;
        own.lend_cache(&target).map_err(io)?;
        self.check_links(commit, &tree)?;
        let relocation =
            Relocation { root: self.repository.root(), tree: tree.clone(), target: target.clone() };
        let scripts = self.place.folder().join("link");
        let built = recipe.run(side, &relocation, &scripts);
        if built.is_ok() {
            recipe.gather_links(&target).map_err(io)?;
        }
        own.take_back(&target).map_err(io)?;
        built?;
        if recipe.reads_sources {
            self.repository.move_tree(&tree, &own.tree())?;
            self.check_links(commit, &own.tree())?;
        } else {
            self.repository.remove_tree(&tree);
            remove(&own.empty()).and_then(|()| std::fs::create_dir_all(own.empty())).map_err(io)?;
        }
        let workers = workers(side, recipe, self.repository.root(), &own)?;
        let sources = self.repository.tree_of(commit)?;
        Version::new(side, commit, sources, recipe.reads_sources, workers, &own)
    }

    /// Checks that no link leads to the working copy or to the other version.
    fn check_links(&self, commit: &str, tree: &Path) -> Result<(), VersionsError> {
        let is_elsewhere = |path: &Path| {
            path.starts_with(self.repository.root())
                || path.starts_with(self.place.folder()) && !path.starts_with(tree)
        };
        for link in self.repository.links_of(commit)? {
            let path = tree.join(&link);
            let Ok(target) = std::fs::read_link(&path) else { continue };
            let named = without_dots(&path.parent().unwrap_or(tree).join(target));
            if is_elsewhere(&named) || path.canonicalize().is_ok_and(|real| is_elsewhere(&real)) {
                return Err(VersionsError::Link { path: link, commit: short_commit(commit).to_owned() });
            }
        }
        Ok(())
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let sides = ["base", "head"].map(|side| self.place.side(side));
        for tree in [self.place.tree()].into_iter().chain(sides.iter().map(SidePlace::tree)) {
            self.repository.remove_tree(&tree);
        }
        for side in &sides {
            // The next build removes files that stay behind.
            let _ = remove(&side.run());
        }
    }
}
