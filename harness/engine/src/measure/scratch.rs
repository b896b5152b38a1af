//! Scratch folders for the files of workers, one for each launch.
//!
//! A folder is removed with its launch; folders of a harness that was killed are removed by the next one. Beside each
//! folder lies a file that its harness keeps locked. The file is created before the folder and removed after it, so that
//! every folder has one, and a file that can be locked belongs to no living harness.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Once;

use perfharness_platform::is_own;
use tempfile::{Builder, NamedTempFile, TempDir};

const PREFIX: &str = "perfharness-";
/// ASCII letters and digits behind the prefix. Names have equal length because the length of a path can change the layout
/// of a process's stack.
const RANDOM: usize = 10;
/// Suffix of the file, behind the name of the folder.
const LOCK: &str = ".lock";
/// Attempts to create the file: another harness may find it before it is locked, and remove it.
const ATTEMPTS: usize = 5;

/// Scratch folder of one launch. The fields are dropped in this order.
pub(super) struct Scratch {
    folder: TempDir,
    _lock: NamedTempFile,
}

impl Scratch {
    /// Creates a folder, and removes abandoned ones first.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub(super) fn new() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let parent = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&parent));
        Self::within(&parent)
    }

    fn within(parent: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let lock = Builder::new().prefix(PREFIX).suffix(LOCK).rand_bytes(RANDOM).tempfile_in(parent)?;
            let is_ours = match lock.as_file().try_lock() {
                // Another harness may have removed the file before it was locked.
                Ok(()) => lock.path().exists(),
                Err(fs::TryLockError::WouldBlock) => false,
                // Some file systems have no locks; there no abandoned folder is removed.
                Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => true,
                Err(fs::TryLockError::Error(error)) => return Err(error),
            };
            if is_ours && let Some(name) = lock.path().file_stem() {
                let folder = Builder::new().prefix(name).rand_bytes(0).tempdir_in(parent)?;
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(io::Error::other("another run of perfharness removes it again and again"))
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of harnesses that were killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if let Some(folder) = entry.file_name().to_str().and_then(folder_of) {
            // A folder that cannot be removed is no reason not to measure.
            let _ = remove_if_abandoned(&entry.path(), &parent.join(folder));
        }
    }
}

/// Returns the name of the folder that a lock file belongs to.
fn folder_of(lock: &str) -> Option<&str> {
    let folder = lock.strip_suffix(LOCK)?;
    let random = folder.strip_prefix(PREFIX)?;
    (random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(folder)
}

/// Removes a folder whose file is not locked. Links are not followed, and files of other users are left alone.
fn remove_if_abandoned(lock_path: &Path, folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(lock_path)?;
    // Not a link, nor a pipe, which would block until somebody else opened it.
    if !facts.is_file() || !is_own(&facts) {
        return Ok(());
    }
    let lock = File::options().write(true).open(lock_path)?;
    lock.try_lock()?;
    match fs::symlink_metadata(folder) {
        Ok(facts) if facts.is_dir() && is_own(&facts) => fs::remove_dir_all(folder)?,
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::remove_file(lock_path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Creates a folder as a killed harness leaves it.
    fn abandoned(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(folder.join("placement-000")).unwrap();
        fs::write(folder.join("left"), "behind").unwrap();
        fs::write(parent.join(format!("{name}{LOCK}")), "").unwrap();
        folder
    }

    #[test]
    fn a_folder_is_empty_for_the_worker_and_goes_with_its_launch() {
        let parent = tempfile::tempdir().unwrap();
        let make = || Scratch::within(parent.path()).unwrap();
        let (first, second) = (make(), make());
        assert_eq!(fs::read_dir(first.path()).unwrap().count(), 0);
        assert_eq!(first.path().as_os_str().len(), second.path().as_os_str().len());
        fs::write(first.path().join("file"), "").unwrap();
        drop((first, second));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_harness_left_is_removed_and_what_a_living_one_has_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::within(parent.path()).unwrap();
        fs::write(living.path().join("file"), "").unwrap();
        abandoned(parent.path(), "perfharness-0123456789");
        // A harness that was killed before it created its folder.
        fs::write(parent.path().join("perfharness-aaaaaaaaaa.lock"), "").unwrap();
        sweep(parent.path());
        assert!(living.path().join("file").exists());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2, "the living one's");
    }

    #[test]
    fn what_is_not_surely_ours_stays() {
        let parent = tempfile::tempdir().unwrap();
        let names =
            ["perfharness-short", "perfharness-01234 6789", "perfharness-e2e-012345", "other-0123456789"];
        let mut kept: Vec<PathBuf> = names.iter().map(|name| abandoned(parent.path(), name)).collect();
        // One has no lock file; the lock file of the other is a folder.
        let unlocked = abandoned(parent.path(), "perfharness-aaaaaaaaaa");
        fs::remove_file(unlocked.with_extension("lock")).unwrap();
        let strange = abandoned(parent.path(), "perfharness-bbbbbbbbbb");
        fs::remove_file(strange.with_extension("lock")).unwrap();
        fs::create_dir(strange.with_extension("lock")).unwrap();
        kept.extend([unlocked, strange]);
        fs::write(parent.path().join("perfharness-cccccccccc"), "a file").unwrap();
        fs::write(parent.path().join("perfharness-cccccccccc.lock"), "").unwrap();
        sweep(parent.path());
        for folder in kept {
            assert!(folder.join("left").exists(), "{}", folder.display());
        }
        assert!(parent.path().join("perfharness-cccccccccc").exists());
    }
}
