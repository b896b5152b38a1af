//! Writes traces as files.

use std::io;
use std::path::{Path, PathBuf};

use perfharness_contract::BenchmarkId;
use perfharness_record::file::RecordError;
use perfharness_record::{Outcome, Timeline};
use serde::{Deserialize, Serialize};

use super::{TraceSummary, chrome_trace};
use crate::file_names::FileNames;
use crate::folder::{State, write_file};

/// Extension of the files.
const EXTENSION: &str = "trace.json";

/// Destination of the traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A folder that gets one file for each benchmark.
    Folder(PathBuf),
    /// The file for one benchmark.
    File(PathBuf),
}

impl Destination {
    /// Interprets a path from the user: a path that ends with `.json` and is not a folder means a file.
    pub fn of(path: &Path) -> Self {
        let is_file = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) && !path.is_dir();
        if is_file { Self::File(path.into()) } else { Self::Folder(path.into()) }
    }

    /// Returns the folder to write to.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::File(file) => file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        }
    }

    /// Creates the folder and tests that it is writable, before a launch spends time.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn prepare(&self) -> io::Result<()> {
        std::fs::create_dir_all(self.folder())?;
        tempfile::NamedTempFile::new_in(self.folder()).map(drop)
    }
}

/// The traced benchmarks, as `perfharness trace --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traces {
    /// Version of this format: 1.
    pub format: u32,
    /// Every requested benchmark, in order.
    pub benchmarks: Vec<TracedBenchmark>,
}

impl Default for Traces {
    fn default() -> Self {
        Self { format: 1, benchmarks: Vec::new() }
    }
}

/// A benchmark and the result of tracing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedBenchmark {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Outcome of its launch.
    pub outcome: Outcome,
    /// Its trace.
    pub trace: TraceState,
}

/// A trace, or the reason for its absence.
pub type TraceState = State<TraceFile>;

/// The file of a trace and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFile {
    /// Path of the file, relative to the current folder or absolute.
    pub file: PathBuf,
    /// Its figures.
    pub summary: TraceSummary,
}

/// Writes traces one by one.
#[derive(Debug)]
pub struct TraceWriter<'a> {
    destination: &'a Destination,
    names: FileNames,
}

impl<'a> TraceWriter<'a> {
    /// Returns a writer to this destination.
    pub fn new(destination: &'a Destination) -> Self {
        Self { destination, names: FileNames::divided_by(".") }
    }

    /// Writes the file of a benchmark atomically and returns its path.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&mut self, id: &BenchmarkId, timeline: &Timeline) -> Result<PathBuf, RecordError> {
        let path = match self.destination {
            Destination::File(file) => file.clone(),
            Destination::Folder(folder) => {
                let parts = [id.workload.as_str(), id.case.as_str(), id.variant.as_str()];
                folder.join(format!("{}.{EXTENSION}", self.names.take(&parts)))
            }
        };
        let text = serde_json::to_vec(&chrome_trace(id, timeline)).map_err(io::Error::from);
        write_file(path, text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chrome::tests::timeline;
    use super::*;

    #[test]
    fn a_path_is_a_file_where_it_is_called_like_one() {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| Destination::of(&folder.path().join(name));
        assert_eq!(in_folder("a.json"), Destination::File(folder.path().join("a.json")));
        assert_eq!(in_folder("a"), Destination::Folder(folder.path().join("a")));
        std::fs::create_dir(folder.path().join("b.json")).unwrap();
        assert_eq!(in_folder("b.json"), Destination::Folder(folder.path().join("b.json")));
        assert_eq!(Destination::of(Path::new("x.JSON")).folder(), Path::new("."));
    }

    #[test]
    fn each_benchmark_has_a_file_and_the_same_one_again() {
        let folder = tempfile::tempdir().unwrap();
        let destination = Destination::of(&folder.path().join("new/traces"));
        destination.prepare().unwrap();
        let write = |ids: &[&str]| -> Vec<String> {
            let mut writer = TraceWriter::new(&destination);
            let mut one = |id: &&str| writer.write(&id.parse().unwrap(), &timeline()).unwrap();
            ids.iter().map(|id| one(id).file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        let names = write(&["w/c/v", "w.c/v/v", "w/c.v/v"]);
        assert_eq!(names[..2], ["w.c.v.trace.json", "w.c.v.v.trace.json"]);
        assert!(names[2].starts_with("w.c.v.v-") && names[2].ends_with(".trace.json"), "{names:?}");
        assert_eq!(write(&["w/c/v"]), ["w.c.v.trace.json"]);
        assert_eq!(std::fs::read_dir(destination.folder()).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_found_before() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("taken"), "").unwrap();
        assert!(Destination::of(&folder.path().join("taken/traces")).prepare().is_err());
        assert!(Destination::of(&folder.path().join("taken")).prepare().is_err());
    }
}
