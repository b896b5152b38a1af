//! Folders for the files of workers, one for each launch.
//!
//! They go with the launch. What a harness left that was killed is removed by the next one: each folder holds a file that
//! its harness has locked for as long as it lives, so that a folder whose file can be locked belongs to nobody.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use perfharness_platform::is_own;
use tempfile::TempDir;

const PREFIX: &str = "perfharness-";
/// Characters behind the prefix, ASCII letters and digits. Names of equal length: the length of a path can change the
/// layout of a process's stack.
const RANDOM: usize = 10;
/// What the worker gets.
const FILES: &str = "files";
/// What is locked.
const LOCK: &str = "owner.lock";
/// An empty folder is one whose harness was killed before it came to its lock, or is about to come to it.
const EMPTY_FOR: Duration = Duration::from_hours(1);
/// Somebody else's next run may find a folder between its making and its locking, and remove it.
const ATTEMPTS: usize = 5;

/// The folder of one launch.
pub(super) struct Scratch {
    folder: TempDir,
    lock: Option<File>,
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
        let mut failure = io::Error::other("another harness takes it away");
        for _ in 0..ATTEMPTS {
            let folder = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(parent)?;
            match locked(folder.path()) {
                Ok(lock) => return Ok(Self { folder, lock: Some(lock) }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Where the worker's files go.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(FILES)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Before the folder: Windows removes no file that is open.
        self.lock = None;
    }
}

/// Locks a new folder and makes the worker's within it, which fails where somebody has removed it meanwhile.
fn locked(folder: &Path) -> io::Result<File> {
    let lock = File::create_new(folder.join(LOCK))?;
    lock.try_lock()?;
    fs::create_dir(folder.join(FILES))?;
    Ok(lock)
}

/// Removes the folders that harnesses left which were killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_ours) {
            // One that cannot be removed is somebody else's business, and no reason not to measure.
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn remove_if_abandoned(folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(folder)?;
    if !facts.is_dir() || !is_own(&facts) {
        return Ok(());
    }
    let path = folder.join(LOCK);
    let Ok(lock_facts) = fs::symlink_metadata(&path) else {
        let is_old = facts.modified()?.elapsed().is_ok_and(|age| age > EMPTY_FOR);
        // This removes nothing that holds anything.
        return if is_old { fs::remove_dir(folder) } else { Ok(()) };
    };
    // A pipe would not open before somebody else opened it, too.
    if !lock_facts.is_file() || !is_own(&lock_facts) {
        return Ok(());
    }
    let lock = File::options().write(true).open(&path)?;
    lock.try_lock()?;
    // The lock goes last, so that what is cut off here is found again. Links within are removed and not followed.
    match fs::remove_dir_all(folder.join(FILES)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    drop(lock);
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as a harness leaves it that was killed.
    fn abandoned(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(folder.join(FILES).join("placement-000")).unwrap();
        fs::write(folder.join(FILES).join("left"), "behind").unwrap();
        fs::write(folder.join(LOCK), "").unwrap();
        folder
    }

    #[test]
    fn a_folder_is_empty_for_the_worker_and_goes_with_its_launch() {
        let parent = tempfile::tempdir().unwrap();
        let (first, second) =
            (Scratch::within(parent.path()).unwrap(), Scratch::within(parent.path()).unwrap());
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
        let dead = abandoned(parent.path(), "perfharness-0123456789");
        sweep(parent.path());
        assert!(living.path().join("file").exists());
        assert!(!dead.exists());
    }

    #[test]
    fn what_is_not_surely_ours_stays() {
        let parent = tempfile::tempdir().unwrap();
        let names =
            ["perfharness-short", "perfharness-01234 6789", "perfharness-e2e-012345", "other-0123456789"];
        let mut kept: Vec<PathBuf> = names.iter().map(|name| abandoned(parent.path(), name)).collect();
        // No lock, and not old; a lock that is a folder.
        let unlocked = abandoned(parent.path(), "perfharness-aaaaaaaaaa");
        fs::remove_file(unlocked.join(LOCK)).unwrap();
        let strange = abandoned(parent.path(), "perfharness-bbbbbbbbbb");
        fs::remove_file(strange.join(LOCK)).unwrap();
        fs::create_dir(strange.join(LOCK)).unwrap();
        kept.extend([unlocked, strange]);
        fs::write(parent.path().join("perfharness-cccccccccc"), "a file").unwrap();
        sweep(parent.path());
        for folder in kept {
            assert!(folder.join(FILES).join("left").exists(), "{}", folder.display());
        }
        assert!(parent.path().join("perfharness-cccccccccc").exists());
    }
}
