//! Reading and writing record files.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use perfharness_platform::sync_directory;

use super::{FORMAT_VERSION, RunRecord};
use crate::plain_text::make_plain;

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read the record {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not a record.
    #[error("{} is not a run record: {source}; name a run.json that `perfharness run` wrote", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where reading failed.
        source: serde_json::Error,
    },
    /// The file was written by a later version.
    #[error(
        "{} has record format {found}; this perfharness reads format {FORMAT_VERSION}: update perfharness",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in it.
        found: u64,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Reads a record.
///
/// # Errors
/// When the file cannot be read, is no record, or has a format of another version.
pub fn read(path: &Path) -> Result<RunRecord, RecordError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| RecordError::Read { path: path.into(), source })?;
    parse(path, &text)
}

/// Reads a record from text; `path` is for messages.
///
/// # Errors
/// When the text is no record, or has a format of another version.
pub fn parse(path: &Path, text: &str) -> Result<RunRecord, RecordError> {
    let broken = |source| RecordError::Parse { path: path.into(), source };
    // The version first: a later format may not parse otherwise.
    let mut value: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(FORMAT_VERSION) => {
            Err(RecordError::Version { path: path.into(), found })
        }
        _ => {
            make_plain(&mut value);
            serde_json::from_value(value).map_err(broken)
        }
    }
}

/// Writes a record, whole or not at all.
///
/// # Errors
/// When it cannot be written; an older file of that name is then still there.
pub fn write(path: &Path, record: &RunRecord) -> Result<(), RecordError> {
    let text = serde_json::to_string_pretty(record).map_err(std::io::Error::from);
    let written = text.and_then(|text| write_atomically(path, text.as_bytes()));
    written.map_err(|source| RecordError::Write { path: path.into(), source })
}

/// Writes a file by way of a temporary one beside it, so that whoever reads it sees the old or the new content.
///
/// # Errors
/// When the folder cannot be made, or the file not be written or renamed.
pub fn write_atomically(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(folder)
}
