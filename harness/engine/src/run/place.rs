//! The place of a record.

use std::path::{Path, PathBuf};

use perfharness_record::file;

use super::RunError;
use crate::journal::{Journal, Replay, RunLock, replay};

/// The place where a record is to go, with the run that was cut off there.
#[derive(Debug)]
pub struct RecordPlace {
    /// The record, over links.
    pub(super) path: PathBuf,
    /// The lock of that place, where it was taken already.
    pub(super) lock: Option<RunLock>,
    /// The journal of the run that is continued.
    pub(super) replayed: Option<Replay>,
}

impl RecordPlace {
    /// A place for a new run or, to `resume`, that of the run that was cut off there.
    ///
    /// # Errors
    /// When there is no such run, another process goes on with it, or its journal cannot be read.
    pub fn at(path: &Path, resume: bool) -> Result<Self, RunError> {
        let path = file::through_links(path);
        if !resume {
            return Ok(Self { path, lock: None, replayed: None });
        }
        let journal = Journal::path_for(&path);
        // Before the journal is read: another run may be writing it.
        let lock = if journal.exists() { Some(RunLock::take(&path)?) } else { None };
        Ok(Self { path, lock, replayed: Some(replay(&journal)?) })
    }

    /// The run that is continued.
    pub fn replayed(&self) -> Option<&Replay> {
        self.replayed.as_ref()
    }

    /// Refuses to put a record in the place of something else, before anything is measured for it.
    pub(super) fn check(&self) -> Result<(), RunError> {
        let occupied = |what: String| Err(RunError::Occupied { path: self.path.clone(), what });
        match std::fs::metadata(&self.path) {
            // The journal, the first file that is written, shows what is wrong with the folder.
            Err(_) => return Ok(()),
            Ok(there) if there.is_dir() => return occupied("it is a folder".into()),
            Ok(there) if !there.is_file() => return occupied("it is not a regular file".into()),
            Ok(there) if there.len() == 0 => return Ok(()),
            Ok(_) => {}
        }
        file::read(&self.path)
            .map(drop)
            .or_else(|error| occupied(format!("something else is there ({error})")))
    }
}

/// Moves a record that is in the way, with its samples, into `earlier/<run id>/` beside it.
pub(super) fn keep_older(path: &Path, samples_path: &Path, run: &str) -> Result<(), RunError> {
    let Ok(older) = file::read(path) else { return Ok(()) };
    if older.run.id == run {
        return Ok(());
    }
    let folder = path.with_file_name("earlier").join(&older.run.id);
    let moved = std::fs::create_dir_all(&folder).and_then(|()| {
        for file in [samples_path, path] {
            if let Some(name) = file.file_name().filter(|_| file.exists()) {
                std::fs::rename(file, folder.join(name))?;
            }
        }
        Ok(())
    });
    moved.map_err(|source| RunError::Older { path: path.into(), source })
}
