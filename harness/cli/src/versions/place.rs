//! Folder in which both versions are built and measured, outside of the repository.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_platform::cache_folder;

use super::{Repository, VersionsError};

/// Files and folders that Cargo keeps and checks before reuse, in the folder of a profile and above it.
const KEPT_BY_CARGO: [&str; 7] =
    [".fingerprint", "build", "deps", "incremental", ".cargo-lock", ".rustc_info.json", "CACHEDIR.TAG"];
/// Files beside a program that only a compiler reads.
const FOR_COMPILERS: [&str; 5] = ["d", "rlib", "rmeta", "pdb", "dwp"];
/// Greatest depth of a profile's folder in a target folder: `TARGET/PROFILE`.
const PROFILES_DEPTH: usize = 2;

/// Folder for the two versions of one repository, locked while this value exists. It lies outside of the repository because
/// build tools read configuration files of all folders above theirs.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    /// Never removed: two processes could otherwise lock the file and its successor.
    _lock: File,
}

impl Place {
    /// Locks the folder of a repository.
    ///
    /// # Errors
    /// When another gate has locked it, or it cannot be created.
    pub(super) fn take(repository: &Repository) -> Result<Self, VersionsError> {
        let root = repository.root();
        let key: String = Digest::of(root.to_string_lossy().as_bytes()).0.chars().take(16).collect();
        let folders = [cache_folder(), std::env::temp_dir().join("perfharness")];
        let outside = folders.iter().find(|folder| !is_within(folder, root));
        let Some(outside) = outside else {
            return Err(VersionsError::NoPlace { cache: cache_folder(), root: root.to_path_buf() });
        };
        let folder = outside.join("gate").join(key);
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source: io::Error| VersionsError::Io { path, source }
        };
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        // The canonical name, because it becomes part of the programs.
        let folder = folder.canonicalize().map_err(io(&folder))?;
        let path = folder.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(VersionsError::InUse { root: root.to_path_buf(), place: folder })
            }
            // Without a lock, two gates could measure each other's programs.
            Err(TryLockError::Error(source)) => Err(VersionsError::Io { path, source }),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the sources during a build.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Returns the target folder during a build.
    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Returns the folder of one version. Names have equal length because the length of a path can move a process's stack.
    pub(super) fn side(&self, side: &str) -> SidePlace {
        SidePlace { folder: self.folder.join(side) }
    }
}

/// Folder of one version.
#[derive(Clone, Debug)]
pub(super) struct SidePlace {
    folder: PathBuf,
}

impl SidePlace {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the sources after the build.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Returns the folder of the products of the last build, without the files that the build tool keeps. Workers run from it.
    pub(super) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Returns an empty folder, for workers that read no sources.
    pub(super) fn empty(&self) -> PathBuf {
        self.folder.join("none")
    }

    /// Returns the folder of the files that the build tool keeps for the next gate.
    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Moves the files that the build tool kept of this version into `target`. They contain neither products of an earlier
    /// build nor files of the other version.
    pub(super) fn lend_cache(&self, target: &Path) -> io::Result<()> {
        remove(target)?;
        std::fs::create_dir_all(&self.folder)?;
        match std::fs::rename(self.cache(), target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::create_dir_all(target),
            other => other,
        }
    }

    /// Moves the products of the build and the files that the build tool keeps out of `target`.
    pub(super) fn take_back(&self, target: &Path) -> io::Result<()> {
        let run = self.run();
        remove(&run)?;
        std::fs::create_dir_all(&run)?;
        move_products(target, &run, 0)?;
        remove(&self.cache())?;
        std::fs::rename(target, self.cache())
    }
}

/// Moves the products of a build, without the files that its tool keeps.
fn move_products(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    let is_profile = from.join(".fingerprint").is_dir();
    let is_cargos = has_profile(from, depth);
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_kept = |name: &str| KEPT_BY_CARGO.contains(&name);
        let for_compilers = |path: &Path| {
            path.extension().and_then(|e| e.to_str()).is_some_and(|e| FOR_COMPILERS.contains(&e))
        };
        let is_folder = entry.file_type()?.is_dir();
        if is_profile && for_compilers(&path)
            || (is_profile || is_cargos && !is_folder) && name.to_str().is_some_and(is_kept)
        {
            continue;
        }
        let to = to.join(&name);
        if is_folder && has_profile(&path, depth + 1) {
            std::fs::create_dir_all(&to)?;
            move_products(&path, &to, depth + 1)?;
        } else {
            std::fs::rename(&path, &to)?;
        }
    }
    Ok(())
}

/// Whether Cargo built something in a folder or in one below.
fn has_profile(folder: &Path, depth: usize) -> bool {
    if folder.join(".fingerprint").is_dir() {
        return true;
    }
    let below = || std::fs::read_dir(folder).into_iter().flatten().flatten();
    depth < PROFILES_DEPTH
        && below().any(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_profile(&entry.path(), depth + 1)
        })
}

/// Removes a folder and its contents, if it exists.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Whether a path, which need not exist yet, leads into a folder.
fn is_within(path: &Path, folder: &Path) -> bool {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let real = absolute.ancestors().find_map(|above| above.canonicalize().ok());
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    real.is_none_or(|real| real.starts_with(folder))
}

/// Part of a folder that a digest covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Everything.
    All,
    /// Everything but git's own files.
    Sources,
}

/// Returns the digest of the files in a folder and their names. Links are not followed.
pub(super) fn digest_of(folder: &Path, content: Content) -> Result<Digest, VersionsError> {
    let io = |source| VersionsError::Io { path: folder.to_path_buf(), source };
    let mut files = Vec::new();
    list(folder, Path::new(""), &mut files).map_err(io)?;
    files.retain(|file| content == Content::All || !file.starts_with(".git"));
    files.sort();
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for file in files {
        let path = folder.join(&file);
        let content = match std::fs::read_link(&path) {
            Ok(target) => Digest::of(target.to_string_lossy().as_bytes()),
            Err(_) => Digest::of(&std::fs::read(&path).map_err(io)?),
        };
        parts.push(file.to_string_lossy().into_owned().into_bytes());
        parts.push(content.0.into_bytes());
    }
    Ok(Digest::of_parts(parts.iter().map(Vec::as_slice)))
}

fn list(folder: &Path, inside: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder.join(inside))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = inside.join(entry.file_name());
        if kind.is_dir() {
            list(folder, &path, files)?;
        } else if kind.is_file() || kind.is_symlink() {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the folders at or below `folder` with a file whose name `is_one` accepts.
pub(super) fn folders_with(folder: &Path, is_one: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    // An unreadable folder counts as empty.
    let _ = list(folder, Path::new(""), &mut files);
    let is_one = |path: &&PathBuf| path.file_name().is_some_and(|name| is_one(&name.to_string_lossy()));
    let mut found: Vec<PathBuf> =
        files.iter().filter(is_one).map(|path| folder.join(path.parent().unwrap_or(Path::new("")))).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, names: &[&str]) {
        for name in names {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut files = Vec::new();
        list(folder, Path::new(""), &mut files).unwrap();
        let mut names: Vec<String> = files.iter().map(|f| f.to_string_lossy().replace('\\', "/")).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_build_made_is_taken_away_and_what_cargo_checks_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (target, side) = (folder.path().join("target"), SidePlace { folder: folder.path().join("base") });
        side.lend_cache(&target).unwrap();
        let made = [
            ".rustc_info.json",
            "release/.fingerprint/a",
            "release/deps/worker-1",
            "release/worker",
            "release/worker.d",
            "release/libwork.so",
            "x86/release/.fingerprint/a",
            "x86/release/worker",
            "data/deps/a",
        ];
        write(&target, &made);
        side.take_back(&target).unwrap();
        assert!(!target.exists());
        let products = ["data/deps/a", "release/libwork.so", "release/worker", "x86/release/worker"];
        assert_eq!(names(&side.run()), products);
        side.lend_cache(&target).unwrap();
        let kept = [
            ".rustc_info.json",
            "release/.fingerprint/a",
            "release/deps/worker-1",
            "release/worker.d",
            "x86/release/.fingerprint/a",
        ];
        assert_eq!(names(&target), kept);
        // A build that builds nothing leaves no products.
        side.take_back(&target).unwrap();
        assert_eq!(names(&side.run()), [""; 0]);
    }

    #[test]
    fn a_digest_tells_contents_and_names_apart() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let digest = |folder: &Path| digest_of(folder, Content::All).unwrap();
        let digests = || (digest(one.path()), digest(other.path()));
        write(one.path(), &["b/c", "a"]);
        write(other.path(), &["a", "b/c"]);
        assert_eq!(digests().0, digests().1);
        std::fs::write(other.path().join("b/c"), "changed").unwrap();
        assert_ne!(digests().0, digests().1);
        write(other.path(), &["b/c", "d"]);
        assert_ne!(digests().0, digests().1);
        // A product may have any name, but git's own files are not sources.
        let (all, sources) = (digest(one.path()), digest_of(one.path(), Content::Sources).unwrap());
        write(one.path(), &[".git/data"]);
        assert_ne!(digest(one.path()), all);
        assert_eq!(digest_of(one.path(), Content::Sources).unwrap(), sources);
    }

    #[test]
    fn a_folder_in_the_repository_is_within_it_even_where_it_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir_all(&root).unwrap();
        assert!(is_within(&root.join("cache/not/yet"), &root));
        assert!(is_within(&root, &root));
        assert!(!is_within(&folder.path().join("cache"), &root));
    }
}
