//! The write-ahead file of a run: a header, then one event a line. What is in it survives the harness.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::write_atomically;
use crate::measure::Event;
use crate::plan::Plan;
use crate::request::RunRequest;

/// Version of the journal's format; a journal of another version is not continued.
///
/// Changes: 1, the first.
pub const JOURNAL_VERSION: u32 = 1;

/// What a journal begins with: enough to go on, or to refuse to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// Version of the format.
    pub journal: u32,
    /// Id of the run.
    pub run: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// What the user asked for.
    pub request: RunRequest,
    /// What followed from it.
    pub plan: Plan,
    /// Digests of the workers.
    pub worker_digests: Vec<Option<String>>,
    /// Fingerprint of the code here, and the commit of the base: two codes do not belong into one run. Digests tell less,
    /// since a worker may read files that its command does not name.
    #[serde(default)]
    pub code: Vec<Option<String>>,
    /// How often the run was continued.
    pub resumed: u32,
}

/// Why a journal could not be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is none.
    #[error("there is no unfinished run at {}; start one without --resume", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error("the journal {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another run writes it.
    #[error(
        "another run is going to write {}; wait until it is done, or name another file with --output",
        path.display()
    )]
    InUse {
        /// The record.
        path: PathBuf,
    },
    /// It is damaged, or of another version.
    #[error("the journal {} cannot be continued: {what}; delete it or start without --resume", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A place for a record that no other run writes to for as long as this exists, however this program ends.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    /// Another file than the journal, since some systems let nobody read a locked one.
    _file: File,
}

impl RunLock {
    /// Takes the place of a record, before its journal is looked at.
    ///
    /// # Errors
    /// When another run has it, or the file cannot be made.
    pub fn take(record: &Path) -> Result<Self, JournalError> {
        let path = record.with_extension("lock");
        let io = |source| JournalError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse { path: record.into() }),
            // Some file systems know no locks; two runs at one place are then the user's to avoid.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        Ok(Self { path, _file: file })
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A file that stays behind locks nothing.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Path of the journal of a record.
    pub fn path_for(record: &Path) -> PathBuf {
        record.with_extension("journal.jsonl")
    }

    /// Starts a journal. One that is in the way, of a run that was never finished, is kept under another name.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, header: &JournalHeader) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io { path: path.into(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        if path.exists() {
            std::fs::rename(path, path.with_extension(format!("before-{}", header.run))).map_err(io)?;
        }
        let mut journal = Self { path: path.into(), file: File::create(path).map_err(io)? };
        journal.line(header)?;
        Ok(journal)
    }

    /// Goes on writing behind `length` bytes, under a new header; what a killed harness left of a last line is cut away.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn append(path: &Path, length: u64, header: &JournalHeader) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io { path: path.into(), source };
        let mut content = serde_json::to_vec(header).map_err(|e| io(e.into()))?;
        let older = std::fs::read(path).map_err(io)?;
        let complete = older.get(..length as usize).unwrap_or(&older);
        let events = complete.iter().position(|byte| *byte == b'\n').unwrap_or(complete.len());
        content.extend_from_slice(&complete[events..]);
        write_atomically(path, &content).map_err(io)?;
        let file = File::options().append(true).open(path).map_err(io)?;
        Ok(Self { path: path.into(), file })
    }

    /// Adds an event.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<(), JournalError> {
        self.line(event)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let io = |source| JournalError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(value).map_err(|e| io(e.into()))?;
        line.push(b'\n');
        // One write for each line: a killed harness leaves at most the last one incomplete.
        self.file.write_all(&line).map_err(io)
    }

    /// Removes the journal of a run whose record is written.
    pub fn remove(self) {
        drop(self.file);
        // A journal that stays behind does no harm: the next run moves it aside.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A journal that was read back.
#[derive(Debug)]
pub struct Replay {
    /// Its header.
    pub header: JournalHeader,
    /// Its events.
    pub events: Vec<Event>,
    /// Bytes of complete lines.
    pub length: u64,
}

/// Reads a journal; an incomplete last line is left out.
///
/// # Errors
/// When there is none, or it is damaged or of another version.
pub fn replay(path: &Path) -> Result<Replay, JournalError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(JournalError::Missing { path: path.into() });
        }
        Err(source) => return Err(JournalError::Io { path: path.into(), source }),
    };
    let unusable = |what: String| JournalError::Unusable { path: path.into(), what };
    let mut reader = BufReader::new(file);
    let mut header: Option<JournalHeader> = None;
    let (mut events, mut length, mut line) = (Vec::new(), 0, Vec::new());
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        let read = read.map_err(|source| JournalError::Io { path: path.into(), source })?;
        if read == 0 || !line.ends_with(b"\n") {
            break;
        }
        if header.is_none() {
            let value: serde_json::Value =
                serde_json::from_slice(&line).map_err(|e| unusable(format!("its first line: {e}")))?;
            if value.get("journal").and_then(serde_json::Value::as_u64) != Some(u64::from(JOURNAL_VERSION)) {
                return Err(unusable("it was written by another version of perfharness".into()));
            }
            header =
                Some(serde_json::from_value(value).map_err(|e| unusable(format!("its first line: {e}")))?);
        } else {
            events.push(
                serde_json::from_slice(&line)
                    .map_err(|e| unusable(format!("event {}: {e}", events.len() + 1)))?,
            );
        }
        length += read as u64;
    }
    let header = header.ok_or_else(|| unusable("it is empty".into()))?;
    Ok(Replay { header, events, length })
}
