//! Reading and writing record files.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};

use perfharness_platform::{new_file_permissions, open_at_once, sync_directory};

use super::json::{self, JsonError, RECORD_LIMITS};
use super::{FORMAT_VERSION, RunRecord};

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read the record {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a record.
    #[error("{} is not a run record: {source}; name a run.json that `perfharness run` wrote", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Place and reason of the failure.
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
        /// Error of the system.
        source: io::Error,
    },
}

/// Reads a record.
///
/// # Errors
/// When the file cannot be read, is no record, or has a format of another version.
pub fn read(path: &Path) -> Result<RunRecord, RecordError> {
    let text = read_text(path, RECORD_LIMITS.bytes)
        .map_err(|source| RecordError::Read { path: path.into(), source })?;
    parse(path, &text)
}

/// Reads a regular file of at most `limit` bytes. Whatever else a name may stand for, such as a folder, a pipe or a device, is
/// refused at once.
///
/// # Errors
/// When there is none, it is something else or larger, or it cannot be read.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(length as usize);
    // It may grow meanwhile.
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

/// The same of a text.
///
/// # Errors
/// As above, and when it is no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let content = read_regular(path, limit)?;
    String::from_utf8(content).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens a regular file for reading, and nothing else.
///
/// # Errors
/// When there is none, it is something else, or it cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |found: &Metadata| match found {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder, not a file")),
        _ => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file but a pipe, a device or the like",
        )),
    };
    // Opening a device can do something by itself. What the name stands for may change before it is opened.
    regular(&std::fs::metadata(path)?)?;
    let file = open_at_once(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a record from text; `path` is for messages.
///
/// # Errors
/// When the text is no record, or has a format of another version.
pub fn parse(path: &Path, text: &str) -> Result<RunRecord, RecordError> {
    json::read(text, RECORD_LIMITS, FORMAT_VERSION).map_err(|error| match error {
        JsonError::Version(found) => RecordError::Version { path: path.into(), found },
        JsonError::Broken(source) => RecordError::Parse { path: path.into(), source },
    })
}

/// Writes a record, whole or not at all.
///
/// # Errors
/// When it cannot be written; an older file of that name is then still there.
pub fn write(path: &Path, record: &RunRecord) -> Result<(), RecordError> {
    let text = serde_json::to_string_pretty(record).map_err(io::Error::from);
    let written = text.and_then(|text| write_atomically(path, text.as_bytes()));
    written.map_err(|source| RecordError::Write { path: path.into(), source })
}

/// Writes a file by way of a temporary one beside it, so that whoever reads it sees the old or the new content. What a
/// link names is replaced, and not the link, and whoever could read the old content can read the new one. What is no
/// file, such as a pipe or a device, is written to: a file in its place would be of no use to anybody.
///
/// # Errors
/// When the folder cannot be made, or the file not be written or renamed.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = &through_links(path);
    if let Some(mut stream) = standard_stream(path) {
        stream.write_all(content)?;
        return stream.flush();
    }
    let existing = std::fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return OpenOptions::new().append(true).open(path)?.write_all(content);
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new();
    if let Some(permissions) = new_file_permissions() {
        temporary.permissions(permissions);
    }
    let mut file = temporary.tempfile_in(folder)?;
    if let Some(existing) = existing {
        // Some file systems have none.
        let _ = file.as_file().set_permissions(existing.permissions());
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(folder)
}

/// Follows the links of a path, also to a file that does not exist yet.
pub fn through_links(path: &Path) -> PathBuf {
    /// As many as systems follow.
    const MOST_LINKS: usize = 40;
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        // What is behind a pipe has a name, but not one that leads to it.
        let is_stream = std::fs::metadata(&place).is_ok_and(|there| !there.is_file() && !there.is_dir());
        if is_stream || standard_stream(&place).is_some() {
            break;
        }
        let Ok(target) = std::fs::read_link(&place) else { break };
        place = place.with_file_name("").join(target);
    }
    place
}

/// The stream that a path names. This process has it open already, maybe in the middle of a file.
fn standard_stream(path: &Path) -> Option<Box<dyn Write>> {
    match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Box::new(io::stdout())),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Box::new(io::stderr())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_can_be_read_like_others() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (folder.path().join("below/ours"), folder.path().join("other"));
        for content in ["first", "second"] {
            write_atomically(&ours, content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&ours).unwrap(), content);
        }
        std::fs::write(&other, "").unwrap();
        let permissions = |path: &Path| std::fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions(&ours), permissions(&other));
        assert_eq!(std::fs::read_dir(ours.parent().unwrap()).unwrap().count(), 1);
    }
}
