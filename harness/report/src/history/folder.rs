//! The folder of all reports: which runs lie in it, and their summaries.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{SUMMARY_VERSION, Summary};
use perfharness_record::compare::GateReport;
use perfharness_record::json;
use perfharness_record::json::{JsonError, RECORD_LIMITS};
use perfharness_record::{RunRecord, file};

/// Name of the file with the summary of a run, in the folder of its commit.
pub const SUMMARY_FILE: &str = "summary.json";

/// A folder with reports: a folder for each commit, and the page over all of them.
#[derive(Clone, Debug)]
pub struct Reports {
    root: PathBuf,
}

/// A run in the folder of its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The folder of the commit.
    pub folder: PathBuf,
    /// The record.
    pub record: PathBuf,
    /// What a gate found for this commit, where there is a file of it.
    pub gate: Option<PathBuf>,
}

impl Reports {
    /// The reports in a folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The page over all runs.
    pub fn index(&self) -> PathBuf {
        self.root.join("index.html")
    }

    /// The runs that lie here, by the name of their folders.
    ///
    /// # Errors
    /// When the folder cannot be listed; one that is not there has no runs.
    pub fn runs(&self) -> io::Result<Vec<Found>> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            found.extend(Found::in_folder(&entry?.path()));
        }
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(found)
    }

    /// The summaries of all runs, and what could not be read.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn summaries(&self) -> io::Result<(Vec<Summary>, Vec<String>)> {
        let mut summaries = Vec::new();
        let mut remarks = Vec::new();
        for found in self.runs()? {
            match self.summary(&found, &mut remarks) {
                Ok(summary) => summaries.push(summary),
                Err(error) => remarks.push(error.to_string()),
            }
        }
        Ok((summaries, remarks))
    }

    /// The summary that lies beside a record, or a new one where that is missing, broken, or of another record.
    fn summary(&self, found: &Found, remarks: &mut Vec<String>) -> Result<Summary, file::RecordError> {
        let of = found.state();
        let path = found.folder.join(SUMMARY_FILE);
        let text = file::read_text(&path, RECORD_LIMITS.bytes).ok();
        let known = text.and_then(|text| json::read::<Summary>(&text, RECORD_LIMITS, SUMMARY_VERSION).ok());
        if let Some(known) = known.filter(|known| known.format == SUMMARY_VERSION && known.of == of) {
            // Where it lies now, and not where its text would lead.
            return Ok(Summary { page: self.relative(&found.page()), ..known });
        }
        let record = file::read(&found.record)?;
        let gate = found.gate.as_deref().and_then(|path| match read_gate(path) {
            Ok(gate) => Some(gate),
            Err(why) => {
                remarks.push(why);
                None
            }
        });
        let summary = self.keep(found, &record, gate.as_ref());
        Ok(summary)
    }

    /// Makes the summary of a run and leaves it beside the record. That it cannot be written costs time later, and
    /// nothing else.
    pub fn keep(&self, found: &Found, record: &RunRecord, gate: Option<&GateReport>) -> Summary {
        let summary = Summary::new(record, gate, self.relative(&found.page()), found.state());
        if let Ok(text) = serde_json::to_vec(&summary) {
            let _ = file::write_atomically(&found.folder.join(SUMMARY_FILE), &text);
        }
        summary
    }

    /// A path below this folder as a link from its index.
    fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<String> =
            inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        parts.join("/")
    }
}

impl Found {
    /// What lies in the folder of a commit: the record of a run, or that of a gate where there is no other.
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let file = |path: &str| Some(folder.join(path)).filter(|path| path.is_file());
        let record = file("run.json").or_else(|| file("gate/run.json"))?;
        let gate = file("gate/gate.json").or_else(|| file("gate.json"));
        Some(Self { folder: folder.into(), record, gate })
    }

    /// Its page.
    pub fn page(&self) -> PathBuf {
        self.folder.join("index.html")
    }

    /// Sizes and times of change: enough to see that a file is another one, without reading it.
    fn state(&self) -> String {
        let one = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(format!("{}@{}", meta.len(), changed.as_nanos()))
        };
        let files = [Some(self.record.as_path()), self.gate.as_deref()];
        let states: Vec<String> = files.into_iter().flatten().filter_map(one).collect();
        states.join(" ")
    }
}

/// Reads what a gate found.
///
/// # Errors
/// In words, when the file cannot be read or is something else.
pub fn read_gate(path: &Path) -> Result<GateReport, String> {
    let broken = |why: String| format!("{}: {why}; run `perfharness gate` again to have it", path.display());
    let text = file::read_text(path, RECORD_LIMITS.bytes).map_err(|error| broken(error.to_string()))?;
    parse_gate(&text).map_err(broken)
}

/// Reads what a gate found from the content of a file.
///
/// # Errors
/// In words, when it is something else.
pub fn parse_gate(text: &str) -> Result<GateReport, String> {
    json::read(text, RECORD_LIMITS, perfharness_record::compare::REPORT_VERSION).map_err(
        |error| match error {
            JsonError::Version(found) => format!("it has format {found}, which this version does not know"),
            JsonError::Broken(error) => error.to_string(),
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RECORD: &str = include_str!("../../../cli/tests/fixtures/record.json");

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn runs_and_gates_are_found_and_other_folders_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in ["b/run.json", "a/gate/run.json", "a/gate/gate.json", "c/notes.txt", "README.md"] {
            put(root, file, "");
        }
        let found = Reports::new(root).runs().unwrap();
        let names: Vec<_> = found.iter().map(|f| f.record.strip_prefix(root).unwrap().to_owned()).collect();
        assert_eq!(names, [Path::new("a/gate/run.json"), Path::new("b/run.json")]);
        assert_eq!(found[0].gate.as_deref(), Some(root.join("a/gate/gate.json").as_path()));
        assert!(Reports::new(root.join("none")).runs().unwrap().is_empty());
    }

    #[test]
    fn a_summary_is_made_once_and_again_for_another_record() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, "a/run.json", RECORD);
        let reports = Reports::new(root);
        let summaries = || reports.summaries().unwrap().0;
        let first = summaries();
        assert_eq!((first.len(), first[0].page.as_str()), (1, "a/index.html"));
        assert!(first[0].benchmarks["json-logging/n1000/slow"].wall.is_some());
        // Taken from the file, and not made anew.
        let path = root.join("a").join(SUMMARY_FILE);
        let edited = fs::read_to_string(&path).unwrap().replace("\"main\"", "\"kept\"");
        fs::write(&path, edited).unwrap();
        assert_eq!(summaries()[0].branch.as_deref(), Some("kept"));
        // A record of another length is another one.
        put(root, "a/run.json", &format!("{RECORD}\n"));
        assert_eq!(summaries()[0].branch.as_deref(), Some("main"));
        // What is no summary is made again.
        fs::write(&path, "{").unwrap();
        assert_eq!(summaries()[0].branch.as_deref(), Some("main"));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_rest_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, "a/run.json", "{");
        put(root, "b/run.json", RECORD);
        put(root, "b/gate.json", "no gate");
        let (summaries, remarks) = Reports::new(root).summaries().unwrap();
        assert_eq!(summaries.len(), 1);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[0].contains("run.json") && remarks[1].contains("gate.json"), "{remarks:?}");
    }
}
