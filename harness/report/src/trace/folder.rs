//! Where traces are written.

use std::io;
use std::path::{Path, PathBuf};

use perfharness_contract::BenchmarkId;
use serde::{Deserialize, Serialize};

use super::{TraceSummary, chrome_trace};
use crate::file_names::FileNames;
use perfharness_record::file::{RecordError, write_atomically};
use perfharness_record::{Outcome, Timeline};

/// How the names of files end.
const EXTENSION: &str = "trace.json";

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file for each benchmark, in this folder.
    Folder(PathBuf),
    /// The one file of one benchmark.
    File(PathBuf),
}

impl Destination {
    /// What a path means that the user gave: what ends with `.json` and is no folder is a file.
    pub fn of(path: &Path) -> Self {
        let is_file = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) && !path.is_dir();
        if is_file { Self::File(path.into()) } else { Self::Folder(path.into()) }
    }

    /// The folder that is written to.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::File(file) => file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        }
    }

    /// Makes the folder, and finds out whether files can be made in it: better before a launch than after it.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn prepare(&self) -> io::Result<()> {
        std::fs::create_dir_all(self.folder())?;
        tempfile::NamedTempFile::new_in(self.folder()).map(drop)
    }
}

/// What was traced, as `perfharness trace --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traces {
    /// Version of this form: 1.
    pub format: u32,
    /// Everything that was asked for, in order.
    pub benchmarks: Vec<TracedBenchmark>,
}

impl Default for Traces {
    fn default() -> Self {
        Self { format: 1, benchmarks: Vec::new() }
    }
}

/// What became of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedBenchmark {
    /// The benchmark.
    pub id: BenchmarkId,
    /// How its launch ended.
    pub outcome: Outcome,
    /// Its trace.
    pub trace: TraceState,
}

/// A trace, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TraceState {
    /// It was taken.
    Taken {
        /// The file, as it can be opened from here.
        file: PathBuf,
        /// Its figures.
        summary: Box<TraceSummary>,
    },
    /// It was not.
    Absent {
        /// Why.
        absent: String,
    },
}

/// Writes traces, one after the other.
#[derive(Debug)]
pub struct TraceWriter<'a> {
    destination: &'a Destination,
    names: FileNames,
}

impl<'a> TraceWriter<'a> {
    /// A writer to this place.
    pub fn new(destination: &'a Destination) -> Self {
        Self { destination, names: FileNames::divided_by(".") }
    }

    /// Writes the file of a benchmark, whole or not at all; returns its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, id: &BenchmarkId, timeline: &Timeline) -> Result<PathBuf, RecordError> {
        let path = match self.destination {
            Destination::File(file) => file.clone(),
            Destination::Folder(folder) => {
                let parts = [id.workload.as_str(), id.case.as_str(), id.variant.as_str()];
                folder.join(format!("{}.{EXTENSION}", self.names.take(&parts)))
            }
        };
        let text = serde_json::to_vec(&chrome_trace(id, timeline)).map_err(io::Error::from);
        match text.and_then(|text| write_atomically(&path, &text)) {
            Ok(()) => Ok(path),
            Err(source) => Err(RecordError::Write { path, source }),
        }
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
