//! Reading the index of a folder of pictures that lie beside a record. People move such folders about, and pages link what an
//! index names.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::file::read_text;
use crate::file_name::check_file_name;
use crate::json;
use crate::json::{JsonError, RECORD_LIMITS};

/// Why an index could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("not an index of {of}: {source}")]
    Parse {
        /// Kind of the index.
        of: &'static str,
        /// Reason, as a clause.
        source: serde_json::Error,
    },
    /// A later version wrote it.
    #[error("an index of format {found}; this perfharness reads format {known}: update perfharness")]
    Version {
        /// The version in it.
        found: u64,
        /// The version that is known.
        known: u32,
    },
    /// It names a file that is not in its folder.
    #[error("an index that names {file:?}, which is not a file of its folder")]
    Outside {
        /// The name.
        file: String,
    },
}

/// Reads an index of this format from text; `of` says what it should be an index of, and `files` what files it names.
///
/// # Errors
/// When it is none, of another version, or names files outside its folder.
pub fn parse<T: DeserializeOwned>(
    text: &str,
    known: u32,
    of: &'static str,
    files: impl FnOnce(&T) -> Vec<String>,
) -> Result<T, IndexError> {
    let index: T = json::read(text, RECORD_LIMITS, known).map_err(|error| match error {
        JsonError::Version(found) => IndexError::Version { found, known },
        JsonError::Broken(source) => IndexError::Parse { of, source },
    })?;
    let outside = files(&index).into_iter().find(|name| check_file_name(name).is_err());
    outside.map_or(Ok(index), |file| Err(IndexError::Outside { file }))
}

/// Reads the index of a folder; none where there is none.
///
/// # Errors
/// When it cannot be read, or is not right.
pub fn read<T>(
    folder: &Path,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, IndexError>,
) -> Result<Option<T>, IndexError> {
    let path = folder.join(name);
    match read_text(&path, RECORD_LIMITS.bytes) {
        Ok(text) => parse(&text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IndexError::Read { path, source }),
    }
}
