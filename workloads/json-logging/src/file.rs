//! Log files. Every open, read, write and sync of a variant goes through this module and is counted, one count per call
//! of the operating system.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use perfharness_contract::{Counter, MetricDef, Setup};

const OPENS: &str = "file-opens";
const READS: &str = "file-reads";
const READ_BYTES: &str = "file-read-bytes";
pub(crate) const WRITES: &str = "file-writes";
const WRITE_BYTES: &str = "file-write-bytes";
const SYNCS: &str = "file-syncs";

/// Counters of calls and bytes.
#[derive(Debug)]
pub(crate) struct FileCounters {
    opens: Counter,
    reads: Counter,
    read_bytes: Counter,
    writes: Counter,
    write_bytes: Counter,
    syncs: Counter,
}

impl FileCounters {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            opens: setup.counter(OPENS),
            reads: setup.counter(READS),
            read_bytes: setup.counter(READ_BYTES),
            writes: setup.counter(WRITES),
            write_bytes: setup.counter(WRITE_BYTES),
            syncs: setup.counter(SYNCS),
        }
    }

    pub(crate) fn metrics() -> [MetricDef; 6] {
        [
            MetricDef::count(OPENS, "file opens"),
            MetricDef::count(READS, "file reads"),
            MetricDef::bytes(READ_BYTES, "file bytes read"),
            MetricDef::count(WRITES, "file writes"),
            MetricDef::bytes(WRITE_BYTES, "file bytes written"),
            MetricDef::count(SYNCS, "file syncs"),
        ]
    }
}

/// An open file whose calls are counted, including those that fail or are cut short. It has no buffer and does not
/// implement `Write`, whose provided methods would retry without counting.
#[derive(Debug)]
pub(crate) struct CountedFile<'a> {
    file: File,
    counters: &'a FileCounters,
}

impl<'a> CountedFile<'a> {
    fn open(path: &Path, options: &OpenOptions, counters: &'a FileCounters) -> io::Result<Self> {
        counters.opens.add(1);
        Ok(Self { file: options.open(path)?, counters })
    }

    /// Opens the file for appending, and creates it if it does not exist.
    pub(crate) fn append(path: &Path, counters: &'a FileCounters) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().append(true).create(true), counters)
    }

    /// Opens the file for writing and truncates it.
    pub(crate) fn rewrite(path: &Path, counters: &'a FileCounters) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().write(true).create(true).truncate(true), counters)
    }

    /// Reads a whole file into memory: one read of the size of the file, and more only if the system cuts it short.
    pub(crate) fn read_whole(path: &Path, counters: &'a FileCounters) -> io::Result<Vec<u8>> {
        let mut file = Self::open(path, OpenOptions::new().read(true), counters)?;
        let mut bytes = vec![0; file.file.metadata()?.len() as usize];
        let mut done = 0;
        while done < bytes.len() {
            counters.reads.add(1);
            match file.file.read(&mut bytes[done..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    counters.read_bytes.add(count as u64);
                    done += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }

    /// Writes all of `bytes`: one write, and more only if the system cuts it short.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.counters.writes.add(1);
            match self.file.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.counters.write_bytes.add(count as u64);
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the written data is on the disk. No variant calls this yet; one that does is counted.
    #[cfg_attr(not(test), expect(dead_code, reason = "the metric exists for a variant that may need it"))]
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.counters.syncs.add(1);
        self.file.sync_data()
    }
}

/// Folder of a placement. It has one log per iteration, so that every iteration starts without a log.
#[derive(Debug)]
pub(crate) struct LogFolder {
    /// Log of the last iteration. The path is updated in place, so that the allocations of an iteration do not depend
    /// on the location of its files.
    path: PathBuf,
    made: u64,
}

impl LogFolder {
    pub(crate) fn new(folder: &Path) -> Self {
        let mut logs = Self { path: folder.join("log"), made: 0 };
        // Reserves room for every name; all names have the same length.
        logs.rename();
        logs
    }

    fn rename(&mut self) {
        self.path.set_file_name(format!("log-{:020}", self.made));
    }

    /// Path of the log of the next iteration. It is numbered, because an index may run twice.
    pub(crate) fn next(&mut self) -> &Path {
        self.made += 1;
        self.rename();
        &self.path
    }

    /// Path of the log of the last iteration.
    pub(crate) fn last(&self) -> Option<&Path> {
        (self.made > 0).then_some(&self.path)
    }

    /// Removes the logs of all iterations.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        while self.made > 0 {
            match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => self.made -= 1,
            }
            self.rename();
        }
        Ok(())
    }
}

impl Drop for LogFolder {
    fn drop(&mut self) {
        // A launch has many placements, and its folder is removed only when it ends. A file that cannot be removed now
        // is removed with the folder.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_or_rewritten_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let counters = FileCounters::new(&Setup::new(0, "none", folder.path()));
        for (text, whole) in [("ab", "ab"), ("c", "abc"), ("", "abc")] {
            let mut file = CountedFile::append(&path, &counters).unwrap();
            file.write(text.as_bytes()).unwrap();
            file.sync().unwrap();
            assert_eq!(CountedFile::read_whole(&path, &counters).unwrap(), whole.as_bytes());
        }
        CountedFile::rewrite(&path, &counters).unwrap().write(b"d").unwrap();
        assert_eq!(CountedFile::read_whole(&path, &counters).unwrap(), b"d");
        CountedFile::rewrite(&path, &counters).unwrap();
        assert!(CountedFile::read_whole(&path, &counters).unwrap().is_empty());
    }

    #[test]
    fn clearing_removes_every_log_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        let mut logs = LogFolder::new(folder.path());
        assert_eq!(logs.last(), None);
        let paths = [(); 3].map(|()| logs.next().to_owned());
        assert_eq!(logs.last(), Some(paths[2].as_path()));
        std::fs::write(&paths[0], "").unwrap();
        std::fs::write(&paths[2], "").unwrap();
        logs.clear().unwrap();
        assert_eq!(logs.last(), None);
        let again = logs.next().to_owned();
        std::fs::write(&again, "").unwrap();
        drop(logs);
        assert!(other.exists() && !again.exists() && paths.iter().all(|path| !path.exists()));
    }
}
