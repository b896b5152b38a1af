//! The folder of all reports: its runs and their summaries.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use perfharness_record::compare::{GateReport, REPORT_VERSION};
use perfharness_record::json::{JsonError, RECORD_LIMITS};
use perfharness_record::{RunRecord, file, json};

use super::{RunSummary, SUMMARY_VERSION};

/// Name of the file with the summary of a run, in the folder of its commit.
pub const SUMMARY_FILE: &str = "summary.json";

/// A folder of reports: one folder for each commit, and a page over all of them.
#[derive(Clone, Debug)]
pub struct Reports {
    root: PathBuf,
}

/// A run in the folder of its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// The folder of the commit.
    pub folder: PathBuf,
    /// The record.
    pub record: PathBuf,
    /// The report of a gate on this commit, if there is one.
    pub gate: Option<PathBuf>,
}

impl Reports {
    /// Returns the reports in a folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the page over all runs.
    pub fn index(&self) -> PathBuf {
        self.root.join("index.html")
    }

    /// Returns the runs in the folder, sorted by the names of their folders.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed. A folder that does not exist has no runs.
    pub fn runs(&self) -> io::Result<Vec<FoundRun>> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            found.extend(FoundRun::in_folder(&entry?.path()));
        }
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(found)
    }

    /// Returns the summaries of all runs, and a remark for each file that could not be read.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn summaries(&self) -> io::Result<(Vec<RunSummary>, Vec<String>)> {
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

    /// Reads the summary beside a record; makes a new one if it is missing, damaged or of another record.
    fn summary(&self, found: &FoundRun, remarks: &mut Vec<String>) -> Result<RunSummary, file::RecordError> {
        let of = found.state();
        let path = found.folder.join(SUMMARY_FILE);
        let text = file::read_text(&path, RECORD_LIMITS.bytes).ok();
        let known =
            text.and_then(|text| json::read::<RunSummary>(&text, RECORD_LIMITS, SUMMARY_VERSION).ok());
        if let Some(known) = known.filter(|known| known.format == SUMMARY_VERSION && known.of == of) {
            // The page lies beside the record now; the stored path may lead elsewhere.
            return Ok(RunSummary { page: self.relative(&found.page()), ..known });
        }
        let record = file::read(&found.record)?;
        let gate = found.gate.as_deref().and_then(|path| match read_gate(path) {
            Ok(gate) => Some(gate),
            Err(why) => {
                remarks.push(why);
                None
            }
        });
        Ok(self.keep(found, &record, gate.as_ref()))
    }

    /// Summarizes a run and writes the summary beside the record. A failure to write it only costs time later.
    pub fn keep(&self, found: &FoundRun, record: &RunRecord, gate: Option<&GateReport>) -> RunSummary {
        let summary = RunSummary::new(record, gate, self.relative(&found.page()), found.state());
        if let Ok(text) = serde_json::to_vec(&summary) {
            let _ = file::write_atomically(&found.folder.join(SUMMARY_FILE), &text);
        }
        summary
    }

    /// Returns a path below this folder as a link from its index.
    fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<String> =
            inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        parts.join("/")
    }
}

impl FoundRun {
    /// Finds the record of a run in the folder of a commit, or that of a gate if there is no other.
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let file = |path: &str| Some(folder.join(path)).filter(|path| path.is_file());
        let record = file("run.json").or_else(|| file("gate/run.json"))?;
        let gate = file("gate/gate.json").or_else(|| file("gate.json"));
        Some(Self { folder: folder.into(), record, gate })
    }

    /// Returns the path of its page.
    pub fn page(&self) -> PathBuf {
        self.folder.join("index.html")
    }

    /// Returns sizes and modification times, which reveal another file without reading it.
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

/// Reads the report of a gate from a file.
///
/// # Errors
/// Returns a message if the file cannot be read or is not such a report.
pub fn read_gate(path: &Path) -> Result<GateReport, String> {
    let broken = |why: String| format!("{}: {why}; run `perfharness gate` again to write it", path.display());
    let text = file::read_text(path, RECORD_LIMITS.bytes).map_err(|error| broken(error.to_string()))?;
    parse_gate(&text).map_err(broken)
}

/// Reads the report of a gate from text.
///
/// # Errors
/// Returns a message if the text is not such a report.
pub fn parse_gate(text: &str) -> Result<GateReport, String> {
    // Format 1 has words where later ones have figures, format 2 another figure of what a time could have shown; both are
    // read all the same.
    let read = |format| json::read(text, RECORD_LIMITS, format);
    let report = match read(REPORT_VERSION) {
        Err(JsonError::Version(earlier @ (1 | 2))) => read(earlier as u32),
        report => report,
    };
    report.map_err(|error| match error {
        JsonError::Version(found) => format!("this version of perfharness does not know format {found}"),
        JsonError::Broken(error) => error.to_string(),
    })
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
        // The summary comes from the file and is not made anew.
        let path = root.join("a").join(SUMMARY_FILE);
        let edited = fs::read_to_string(&path).unwrap().replace("\"main\"", "\"kept\"");
        fs::write(&path, edited).unwrap();
        assert_eq!(summaries()[0].branch.as_deref(), Some("kept"));
        // A record of another length counts as another record.
        put(root, "a/run.json", &format!("{RECORD}\n"));
        assert_eq!(summaries()[0].branch.as_deref(), Some("main"));
        // A damaged summary is replaced.
        fs::write(&path, "{").unwrap();
        assert_eq!(summaries()[0].branch.as_deref(), Some("main"));
    }

    #[test]
    fn an_unreadable_file_is_reported_and_the_rest_is_there() {
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
