//! The write-ahead file of a run: a header, then one event per line. Its events survive a crash of the harness.
//!
//! Each line carries a digest of itself and of the line before it, the first event one of itself and of the run. So a line
//! that is damaged, missing, misplaced or of another run is recognized, and the replay ends before it.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_record::file::{open_regular, write_atomically};
use same_file::Handle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::Event;
use crate::plan::Plan;
use crate::request::RunRequest;

/// Version of the journal's format; a journal of another version is not continued.
///
/// Changes: 1, the first. 2, each line has a digest that continues that of the line before.
pub const JOURNAL_VERSION: u32 = 2;

/// Most bytes of a line. The header grows with the plan, by 300 bytes for each benchmark.
const MOST_LINE_BYTES: usize = 16 << 20;

/// First line of a journal: enough to resume the run, or to refuse to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalHeader {
    /// Version of the format.
    pub journal: u32,
    /// Id of the run.
    #[serde(deserialize_with = "perfharness_record::file_name::id")]
    pub run: String,
    /// Time at which the run began, RFC 3339.
    pub started: String,
    /// The request of the user.
    pub request: RunRequest,
    /// The plan that was made of it.
    pub plan: Plan,
    /// Digests of the workers.
    pub worker_digests: Vec<Option<String>>,
    /// Fingerprint of the code here, and the commit of the base, because a run measures one version of the code. Digests do
    /// not suffice: a worker may read files that its command does not name.
    #[serde(default)]
    pub code: Vec<Option<String>>,
    /// Number of times that the run was resumed.
    pub resumed: u32,
}

/// A line of a journal: an entry, and the digest of the entry and of the line before.
#[derive(JsonSchema)]
#[schemars(title = "perfharness journal, a line of format 2")]
#[expect(dead_code, reason = "a journal is written and read line by line; only the schema needs the form")]
struct Line {
    digest: Digest,
    entry: LineEntry,
}

/// The entry of a line: the first line has the header, and each other line an event.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, clippy::large_enum_variant, reason = "only the schema needs the form")]
enum LineEntry {
    Header(JournalHeader),
    Event(Event),
}

/// Returns the JSON Schema of a line, as it is published in `harness/cli/schemas/`.
pub fn journal_schema() -> serde_json::Value {
    schemars::schema_for!(Line).to_value()
}

/// Reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No journal exists.
    #[error("there is no unfinished run at {}; start one without --resume", path.display())]
    Missing {
        /// Expected path.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("cannot read or write the journal {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another run writes to the same place.
    #[error("another run writes to {}; wait for its end, or choose another file with --output", path.display())]
    InUse {
        /// Path of the record.
        path: PathBuf,
    },
    /// The journal is damaged, or of another version.
    #[error("the journal {} cannot be continued: {what}; delete it or start without --resume", path.display())]
    Unusable {
        /// Path of the file.
        path: PathBuf,
        /// Reason, as a clause.
        what: String,
    },
}

/// Exclusive right to write a record at a path. It ends when the value is dropped or the program ends, however it does.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    /// Not the journal itself, because some systems let nobody read a locked file.
    _file: File,
}

impl RunLock {
    /// Takes the lock of a record, before its journal is read.
    ///
    /// # Errors
    /// When another run holds it, or the file cannot be created.
    pub fn take(record: &Path) -> Result<Self, JournalError> {
        let path = record.with_extension("lock");
        let io = |source| JournalError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(JournalError::InUse { path: record.into() }),
                // Some file systems have no locks; there the user has to avoid two runs at one place.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
            // The previous holder removes the file at its end. A file that is locked only after that excludes nobody,
            // because the next run creates another.
            let ours = Handle::from_file(file.try_clone().map_err(io)?).map_err(io)?;
            if Handle::from_path(&path).is_ok_and(|there| there == ours) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A file that stays behind holds no lock.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Digest of the last line.
    last: Digest,
}

/// Position behind the last undamaged event of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    bytes: u64,
    last: Digest,
}

impl Journal {
    /// Returns the path of the journal of a record.
    pub fn path_for(record: &Path) -> PathBuf {
        record.with_extension("journal.jsonl")
    }

    /// Starts a journal. A journal at the path, of a run that was never finished, is kept under another name.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, header: &JournalHeader) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io { path: path.into(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        if path.exists() {
            std::fs::rename(path, path.with_extension(format!("before-{}", header.run))).map_err(io)?;
        }
        let mut file = File::create(path).map_err(io)?;
        file.write_all(&header_line(header).map_err(io)?).map_err(io)?;
        Ok(Self { path: path.into(), file, last: first_of(&header.run) })
    }

    /// Resumes a journal behind `end`, under a new header; the rest of the file is cut off.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn append(path: &Path, end: &JournalEnd, header: &JournalHeader) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io { path: path.into(), source };
        let mut content = header_line(header).map_err(io)?;
        let mut older = BufReader::new(open_regular(path).map_err(io)?.take(end.bytes));
        older.skip_until(b'\n').map_err(io)?;
        older.read_to_end(&mut content).map_err(io)?;
        write_atomically(path, &content).map_err(io)?;
        let file = File::options().append(true).open(path).map_err(io)?;
        Ok(Self { path: path.into(), file, last: end.last.clone() })
    }

    /// Adds an event.
    ///
    /// # Errors
    /// When the event cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<(), JournalError> {
        let io = |source| JournalError::Io { path: self.path.clone(), source };
        let entry = serde_json::to_vec(event).map_err(|e| io(e.into()))?;
        let digest = following(&self.last, &entry);
        let line = line(&digest, &entry).map_err(io)?;
        // One write for each line: a killed harness leaves at most the last line incomplete.
        self.file.write_all(&line).map_err(io)?;
        self.last = digest;
        Ok(())
    }

    /// Removes the journal of a run whose record is written.
    pub fn remove(self) {
        drop(self.file);
        // A journal that stays behind does no harm: the next run renames it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Digest that the header follows.
fn before_header() -> Digest {
    Digest::of(b"the header of a perfharness journal")
}

/// Digest that the first event of a run follows. It is not that of the header, which changes when the run is resumed.
fn first_of(run: &str) -> Digest {
    Digest::of_parts([b"the events of a run".as_slice(), run.as_bytes()])
}

fn following(before: &Digest, entry: &[u8]) -> Digest {
    Digest::of_parts([before.0.as_bytes(), entry])
}

fn header_line(header: &JournalHeader) -> io::Result<Vec<u8>> {
    let entry = serde_json::to_vec(header)?;
    line(&following(&before_header(), &entry), &entry)
}

/// Text before the digest, between it and the entry, and behind the entry.
const FRAME: [&[u8]; 3] = [b"{\"digest\":\"", b"\",\"entry\":", b"}\n"];

/// Returns the line of an entry; one that is too long to be read back is an error.
fn line(digest: &Digest, entry: &[u8]) -> io::Result<Vec<u8>> {
    let line = [FRAME[0], digest.0.as_bytes(), FRAME[1], entry, FRAME[2]].concat();
    if line.len() > MOST_LINE_BYTES {
        let message = format!("a line of {} bytes is too long to be read back", line.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(line)
}

/// Gives each line the digest that it should have, whether it has one or not, so that tests get past the digests.
pub fn with_digests(lines: &[u8]) -> Vec<u8> {
    let mut before = before_header();
    let mut journal = Vec::new();
    for (at, own) in lines.split(|byte| *byte == b'\n').enumerate() {
        let entry = parts(&[own, b"\n"].concat()).map_or(own.to_vec(), |(_, entry)| entry.to_vec());
        let digest = following(&before, &entry);
        journal.extend(line(&digest, &entry).unwrap_or_default());
        let header = || serde_json::from_slice::<JournalHeader>(&entry).ok();
        before = if at == 0 { header().map_or(digest, |header| first_of(&header.run)) } else { digest };
    }
    journal
}

/// Splits a line into its digest and its entry; `None` if it is not a line of a journal.
fn parts(line: &[u8]) -> Option<(Digest, &[u8])> {
    let line = line.strip_prefix(FRAME[0])?.strip_suffix(FRAME[2])?;
    let end = line.iter().position(|byte| *byte == b'"')?;
    let (digest, entry) = line.split_at(end);
    Some((Digest(String::from_utf8(digest.to_vec()).ok()?), entry.strip_prefix(FRAME[1])?))
}

/// Splits a line into its digest and its entry, if it follows the line with the digest `before`.
fn undamaged<'l>(line: &'l [u8], before: &Digest) -> Option<(Digest, &'l [u8])> {
    parts(line).filter(|(digest, entry)| following(before, entry) == *digest)
}

/// Contents of a journal.
#[derive(Debug)]
pub struct Replay {
    /// Header.
    pub header: JournalHeader,
    /// Events, up to the first damaged line.
    pub events: Vec<Event>,
    /// Position behind them.
    pub end: JournalEnd,
    /// Lines that are left out; `None` if there is no more than an incomplete last line.
    pub damage: Option<Damage>,
}

/// Complete lines of a journal that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the journal is damaged; the {bytes} bytes from there on are ignored, and their samples are measured again"
)]
pub struct Damage {
    /// Number of the first of them, from 1.
    pub line: usize,
    /// Bytes from there to the end of the file.
    pub bytes: u64,
}

/// Reads a journal up to its first damaged line; an incomplete last line is left out.
///
/// # Errors
/// When there is no journal, its header is damaged, or it is of another version.
pub fn replay(path: &Path) -> Result<Replay, JournalError> {
    let io = |source| JournalError::Io { path: path.into(), source };
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(JournalError::Missing { path: path.into() });
        }
        Err(source) => return Err(io(source)),
    };
    let length = file.metadata().map_err(io)?.len();
    replay_from(path, BufReader::new(file), length)
}

/// Reads a journal of `length` bytes; `path` is for messages.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_from(path: &Path, mut reader: impl BufRead, length: u64) -> Result<Replay, JournalError> {
    let io = |source| JournalError::Io { path: path.into(), source };
    let unusable = |what: &str| JournalError::Unusable { path: path.into(), what: what.into() };
    let mut line = Vec::new();
    if !next_line(&mut reader, &mut line).map_err(io)? {
        return Err(unusable("its first line is incomplete"));
    }
    let header = header(&line).map_err(|what| unusable(&what))?;
    let mut end = JournalEnd { bytes: line.len() as u64, last: first_of(&header.run) };
    let mut events = Vec::new();
    let mut damage = None;
    while next_line(&mut reader, &mut line).map_err(io)? {
        let number = events.len() + 2;
        let Some((digest, entry)) = undamaged(&line, &end.last) else {
            damage = Some(Damage { line: number, bytes: length.saturating_sub(end.bytes) });
            break;
        };
        let event = serde_json::from_slice(entry);
        events.push(event.map_err(|error| unusable(&format!("line {number}: {error}")))?);
        end = JournalEnd { bytes: end.bytes + line.len() as u64, last: digest };
    }
    Ok(Replay { header, events, end, damage })
}

fn header(line: &[u8]) -> Result<JournalHeader, String> {
    /// Fields that every version has.
    #[derive(Deserialize)]
    struct Version {
        journal: u32,
    }
    // Version 1 had no digests.
    let entry = parts(line).map_or(line, |(_, entry)| entry);
    if let Ok(Version { journal }) = serde_json::from_slice(entry)
        && journal != JOURNAL_VERSION
    {
        return Err("it was written by another version of perfharness".into());
    }
    let (_, entry) = undamaged(line, &before_header()).ok_or("its first line is damaged")?;
    serde_json::from_slice(entry).map_err(|error| format!("its first line: {error}"))
}

/// Reads a line with its end; returns `false` if no complete line is left. A line that is too long is cut, and so damaged.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = reader.by_ref().take(MOST_LINE_BYTES as u64).read_until(b'\n', line)?;
    Ok(line.ends_with(b"\n") || read == MOST_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use perfharness_contract::Effort;
    use perfharness_record::{Design, Pairing};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lock_has_one_holder_however_often_it_is_taken_and_released() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("run.json");
        let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = RunLock::take(&record) else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        taken.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
    }

    fn header(run: &str) -> JournalHeader {
        let request = RunRequest {
            patterns: vec!["a/b/c".into()],
            effort: Effort::Quick,
            time_budget: None,
            seed: 1,
            device: "auto".into(),
            settings: std::collections::BTreeMap::new(),
            workers: Vec::new(),
            launches: None,
            memory_limit_bytes: None,
            timeout: Duration::from_secs(1),
        };
        let plan = Plan {
            seed: 1,
            device: "auto".into(),
            settings: std::collections::BTreeMap::new(),
            effort: Effort::Quick,
            budget: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            memory_limit_bytes: None,
            design: Design::of(Effort::Quick),
            cases: Vec::new(),
            on_gpu: Vec::new(),
        };
        JournalHeader {
            journal: JOURNAL_VERSION,
            run: run.into(),
            started: "2026-01-01T00:00:00Z".into(),
            request,
            plan,
            worker_digests: vec![None],
            code: Vec::new(),
            resumed: 0,
        }
    }

    fn event(number: usize) -> Event {
        if number.is_multiple_of(3) {
            return Event::CaseStarted { case: number, pairing: Pairing::Together };
        }
        Event::Tuned { case: 0, side: number, iterations: 10, lead_in: number as u64 }
    }

    const EVENTS: usize = 8;

    fn written(run: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal.jsonl");
        let mut journal = Journal::create(&path, &header(run)).unwrap();
        (0..EVENTS).for_each(|number| journal.event(&event(number)).unwrap());
        std::fs::read(path).unwrap()
    }

    fn replayed(content: &[u8]) -> Result<Replay, JournalError> {
        replay_from(Path::new("x.journal.jsonl"), content, content.len() as u64)
    }

    fn lines(content: &[u8]) -> Vec<Vec<u8>> {
        content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn ended_lines(content: &[u8]) -> usize {
        content.split(|byte| *byte == b'\n').count() - 1
    }

    /// Asserts that the first `events` events are replayed as they were written.
    fn assert_beginning(content: &[u8], events: usize, is_damaged: bool) {
        let found = replayed(content).unwrap();
        assert_eq!(found.events, (0..events).map(event).collect::<Vec<_>>());
        assert_eq!(found.damage.map(|damage| damage.line), is_damaged.then_some(events + 2));
    }

    #[test]
    fn a_journal_is_replayed_and_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal.jsonl");
        for cut in [0, 3] {
            let mut content = written("r1");
            content.truncate(content.len() - cut);
            std::fs::write(&path, &content).unwrap();
            let found = replay(&path).unwrap();
            let kept = found.events.len();
            let resumed = JournalHeader { resumed: 1, ..header("r1") };
            let mut journal = Journal::append(&path, &found.end, &resumed).unwrap();
            journal.event(&event(kept)).unwrap();
            let content = std::fs::read(&path).unwrap();
            assert_beginning(&content, kept + 1, false);
            assert_eq!(replayed(&content).unwrap().header.resumed, 1);
        }
    }

    #[test]
    fn a_journal_that_is_cut_anywhere_is_replayed_up_to_there() {
        let content = written("r1");
        let first = lines(&content)[0].len();
        for end in 0..content.len() {
            let complete = ended_lines(&content[..end]);
            if end < first {
                assert!(replayed(&content[..end]).is_err());
            } else {
                assert_beginning(&content[..end], complete - 1, false);
            }
        }
    }

    #[test]
    fn lines_in_another_place_or_of_another_run_end_the_replay() {
        let (own, foreign) = (lines(&written("r1")), lines(&written("r2")));
        let with = |edit: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut lines = own.clone();
            edit(&mut lines);
            lines.concat()
        };
        assert_beginning(&with(&|lines| lines.swap(3, 5)), 2, true);
        assert_beginning(&with(&|lines| drop(lines.remove(4))), 3, true);
        assert_beginning(&with(&|lines| lines.insert(4, own[3].clone())), 3, true);
        assert_beginning(&with(&|lines| lines[2] = foreign[2].clone()), 1, true);
        assert_beginning(&with(&|lines| lines[6] = b"\n".to_vec()), 5, true);
        assert_beginning(&with(&|lines| lines.push(b"{}\n".to_vec())), EVENTS, true);
        let mixed = [foreign[0].clone(), own[1..].concat()].concat();
        assert_beginning(&mixed, 0, true);
    }

    #[test]
    fn a_line_without_an_end_is_not_read_to_its_end() {
        let content = [written("r1"), vec![b'x'; MOST_LINE_BYTES + 10]].concat();
        assert_beginning(&content, EVENTS, true);
        let error = replayed(&vec![b'x'; MOST_LINE_BYTES + 10]).unwrap_err().to_string();
        assert!(error.contains("its first line"), "{error}");
    }

    #[test]
    fn a_folder_in_the_place_of_a_journal_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = replay(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it is a folder"), "{error}");
    }

    proptest! {
        #[test]
        fn a_byte_that_changed_ends_the_replay_before_its_line(at in 0_usize..10_000, to in any::<u8>()) {
            let mut content = written("r1");
            let at = at % content.len();
            prop_assume!(content[at] != to);
            let line = ended_lines(&content[..at]);
            content[at] = to;
            match replayed(&content) {
                Ok(found) => {
                    prop_assert!(line > 0);
                    prop_assert_eq!(found.events, (0..line - 1).map(event).collect::<Vec<_>>());
                }
                Err(error) => prop_assert_eq!(line, 0, "{}", error),
            }
        }
    }
}
