//! The index of a folder of memory stories.

use std::collections::BTreeMap;
use std::path::Path;

use perfharness_contract::BenchmarkId;
use perfharness_record::index_file::IndexError;
use perfharness_record::memory::SeriesFinding;
use perfharness_record::{MemoryPoint, Outcome, index_file};
use perfharness_verdict::GrowthVerdict;
use serde::{Deserialize, Serialize};

use crate::folder::State;

/// Version of `index.json`.
///
/// Changes: 1, the first.
pub const INDEX_FORMAT: u32 = 1;
/// Name of the file.
pub const INDEX_FILE: &str = "index.json";

/// The index of a folder of memory stories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryIndex {
    /// Version of this file.
    pub format: u32,
    /// Name and version of the program that wrote it.
    pub harness: String,
    /// Every requested benchmark, with or without a story.
    pub benchmarks: Vec<FollowedBenchmark>,
}

impl Default for MemoryIndex {
    fn default() -> Self {
        Self {
            format: INDEX_FORMAT,
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            benchmarks: Vec::new(),
        }
    }
}

/// A benchmark and the result of following it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowedBenchmark {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Start of the measurement, RFC 3339.
    pub taken: String,
    /// Outcome of the launch.
    pub outcome: Outcome,
    /// The story, or the reason for its absence.
    pub memory: MemoryState,
}

/// The facts of a memory story, or a typed absence.
pub type MemoryState = State<MemoryFacts>;

/// A story in figures, and its picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// The verdict over all series.
    pub verdict: GrowthVerdict,
    /// The verdict in one sentence, with its figures.
    pub sentence: String,
    /// Number of requested iterations.
    pub asked: u64,
    /// Number of measured iterations.
    pub iterations: u64,
    /// Time of one iteration in ns.
    pub iteration_ns: f64,
    /// The finding of each series.
    pub series: Vec<SeriesFinding>,
    /// The memory after each group of iterations.
    pub points: Vec<MemoryPoint>,
    /// Metrics without figures and the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    /// Name of the picture within the folder.
    pub file: String,
}

impl MemoryIndex {
    /// Reads an index from text.
    ///
    /// # Errors
    /// Returns an error if the text is not an index, has another version or names files outside its folder.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        index_file::parse(text, INDEX_FORMAT, "memory stories", |index: &Self| {
            index.files().map(str::to_owned).collect()
        })
    }

    /// Reads the index of a folder; returns `None` if the folder has no index.
    ///
    /// # Errors
    /// Returns an error if the index cannot be read or is damaged.
    pub fn read(folder: &Path) -> Result<Option<Self>, IndexError> {
        index_file::read(folder, INDEX_FILE, Self::parse)
    }

    /// Returns the names of all files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.benchmarks.iter().filter_map(|b| b.memory.facts()).map(|facts| facts.file.as_str())
    }

    /// Returns the entry of a benchmark.
    pub fn benchmark(&self, id: &BenchmarkId) -> Option<&FollowedBenchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.id == *id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_index_of_this_version_is_refused() {
        let index = |file: &str| {
            json!({"format": 1, "harness": "h", "benchmarks": [{
                "id": "w/c/v", "taken": "t", "outcome": {"kind": "ok"}, "memory": {
                    "verdict": "flat", "sentence": "flat", "asked": 1, "iterations": 1, "iteration_ns": 1.0, "series": [],
                    "points": [{"iterations": 0, "resident": 1.0}], "file": file
                }
            }]})
            .to_string()
        };
        let read = MemoryIndex::parse(&index("w-c-v.svg")).unwrap();
        assert_eq!(read.files().collect::<Vec<_>>(), ["w-c-v.svg"]);
        assert_eq!(MemoryIndex::parse(&serde_json::to_string(&read).unwrap()).unwrap(), read);
        assert!(matches!(MemoryIndex::parse("[]"), Err(IndexError::Parse { .. })));
        assert!(matches!(MemoryIndex::parse("{\"format\": 2}"), Err(IndexError::Version { found: 2, .. })));
        assert!(matches!(MemoryIndex::parse(&index("../x.svg")), Err(IndexError::Outside { .. })));
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(MemoryIndex::read(folder.path()), Ok(None)));
    }
}
