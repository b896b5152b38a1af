//! Folders for the files of workers, one for each launch.
//!
//! They go with the launch. What a harness left that was killed is removed by the next one: beside each folder lies a file
//! that its harness has locked for as long as it lives. The file is there before the folder and after it, so that nothing
//! is left that nobody finds, and a file that can be locked belongs to nobody.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Once;

use perfharness_platform::is_own;
use tempfile::{Builder, NamedTempFile, TempDir};

const PREFIX: &str = "perfharness-";
/// Characters behind the prefix, ASCII letters and digits. Names of equal length: the length of a path can change the
/// layout of a process's stack.
const RANDOM: usize = 10;
/// What the name of the file has behind that of the folder.
const LOCK: &str = ".lock";
/// Somebody else's next run may find a file between its making and its locking, and remove it.
const ATTEMPTS: usize = 5;

/// The folder of one launch. The fields are dropped in this order.
pub(super) struct Scratch {
    folder: TempDir,
    _lock: NamedTempFile,
}

impl Scratch {
    /// Makes one.
    ///
    /// # Errors
    /// When it cannot be made.
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
                // Unless somebody found it before it was locked, and removed it.
                Ok(()) => lock.path().exists(),
                Err(fs::TryLockError::WouldBlock) => false,
                // Some file systems know no locks; there nothing is removed for the dead.
                Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => true,
                Err(fs::TryLockError::Error(error)) => return Err(error),
            };
            if is_ours && let Some(name) = lock.path().file_stem() {
                let folder = Builder::new().prefix(name).rand_bytes(0).tempdir_in(parent)?;
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(io::Error::other("another harness takes it away"))
    }

    /// Where the worker's files go.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders that harnesses left which were killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if let Some(folder) = entry.file_name().to_str().and_then(folder_of) {
            // One that cannot be removed is somebody else's business, and no reason not to measure.
            let _ = remove_if_abandoned(&entry.path(), &parent.join(folder));
        }
    }
}

/// The name of the folder that a file with this name stands for.
fn folder_of(lock: &str) -> Option<&str> {
    let folder = lock.strip_suffix(LOCK)?;
    let random = folder.strip_prefix(PREFIX)?;
    (random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(folder)
}

/// Removes what nobody has locked. Links are not followed, and what belongs to another user is left alone.
fn remove_if_abandoned(lock_path: &Path, folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(lock_path)?;
    // Neither a link, nor a pipe that would not open before somebody else opened it, too.
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

    /// A folder as a harness leaves it that was killed.
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
        // One that was killed before it came to its folder.
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
        // Nothing says that its owner is dead; what says it is a folder.
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
