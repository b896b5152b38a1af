//! Folders of files with an index, such as flame graphs.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use perfharness_record::file::{RecordError, write_atomically};
use serde::{Deserialize, Serialize};

/// The facts about a benchmark, or a typed absence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum State<T> {
    /// The launch delivered them.
    Taken(T),
    /// There are none.
    Absent {
        /// The reason.
        absent: String,
    },
}

impl<T> State<T> {
    /// Returns the facts, if there are any.
    pub fn facts(&self) -> Option<&T> {
        match self {
            Self::Taken(facts) => Some(facts),
            Self::Absent { .. } => None,
        }
    }
}

/// Writes a file atomically and returns its path.
pub(crate) fn write_file(path: PathBuf, content: io::Result<Vec<u8>>) -> Result<PathBuf, RecordError> {
    match content.and_then(|content| write_atomically(&path, &content)) {
        Ok(()) => Ok(path),
        Err(source) => Err(RecordError::Write { path, source }),
    }
}

/// Writes an index, and removes the files of the older index that the new one does not list.
pub(crate) fn write_index<'a>(
    path: &Path,
    index: &impl Serialize,
    listed: impl Iterator<Item = &'a str>,
    older: impl Iterator<Item = &'a str>,
) -> Result<(), RecordError> {
    let text = serde_json::to_string_pretty(index).map_err(io::Error::from);
    write_file(path.to_owned(), text.map(String::into_bytes))?;
    let listed: BTreeSet<&str> = listed.collect();
    for file in older.filter(|file| !listed.contains(file)) {
        // A file that cannot be removed does no harm.
        let _ = std::fs::remove_file(path.with_file_name(file));
    }
    Ok(())
}
