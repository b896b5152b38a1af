//! What is in a folder of memory stories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::BenchmarkId;
use perfharness_verdict::GrowthVerdict;
use serde::{Deserialize, Serialize};

use super::{Finding, MemoryPoint};
use crate::measure::Outcome;
use crate::profile::is_file_name;

/// Version of `index.json`.
///
/// Changes: 1, the first.
pub const INDEX_FORMAT: u32 = 1;
/// Name of the file.
pub const INDEX_FILE: &str = "index.json";

/// What is in a folder of memory stories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryIndex {
    /// Version of this file.
    pub format: u32,
    /// Name and version of the program that wrote it.
    pub harness: String,
    /// What was asked for, whether it could be watched or not.
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

/// A benchmark, and what became of following it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowedBenchmark {
    /// The benchmark.
    pub id: BenchmarkId,
    /// When.
    pub taken: String,
    /// How the launch ended.
    pub outcome: Outcome,
    /// What was seen.
    pub memory: MemoryState,
}

/// What was seen, or a typed absence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MemoryState {
    /// Something.
    Taken(MemoryFacts),
    /// Nothing.
    Absent {
        /// Why.
        absent: String,
    },
}

impl MemoryState {
    /// The facts, where there are some.
    pub fn facts(&self) -> Option<&MemoryFacts> {
        match self {
            Self::Taken(facts) => Some(facts),
            Self::Absent { .. } => None,
        }
    }
}

/// A story in figures, and its picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// What follows.
    pub verdict: GrowthVerdict,
    /// The same in words.
    pub sentence: String,
    /// Iterations that were asked for.
    pub asked: u64,
    /// Iterations that were watched.
    pub iterations: u64,
    /// Time of one, in ns.
    pub iteration_ns: f64,
    /// What each series showed.
    pub series: Vec<Finding>,
    /// After so many iterations each.
    pub points: Vec<MemoryPoint>,
    /// Metrics that were not told, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    /// Name of the picture within the folder.
    pub file: String,
}

/// Why an index could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("not an index of memory stories: {0}")]
    Parse(#[from] serde_json::Error),
    /// A later version wrote it.
    #[error("an index of format {found}; this perfharness reads format {INDEX_FORMAT}: update perfharness")]
    Version {
        /// The version in it.
        found: u64,
    },
    /// It names a file that is not in its folder.
    #[error("an index that names {file:?}, which is no file of its folder")]
    Outside {
        /// The name.
        file: String,
    },
}

impl MemoryIndex {
    /// Reads an index from text.
    ///
    /// # Errors
    /// When it is none, of another version, or names files outside its folder.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        // The version first: a later format may not parse otherwise.
        let mut value: serde_json::Value = serde_json::from_str(text)?;
        if let Some(found) = value.get("format").and_then(serde_json::Value::as_u64)
            && found != u64::from(INDEX_FORMAT)
        {
            return Err(IndexError::Version { found });
        }
        crate::plain_text::make_plain(&mut value);
        let index: Self = serde_json::from_value(value)?;
        let outside = index.files().find(|name| !is_file_name(name)).map(str::to_owned);
        outside.map_or(Ok(index), |file| Err(IndexError::Outside { file }))
    }

    /// Reads the index of a folder; none where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not right.
    pub fn read(folder: &Path) -> Result<Option<Self>, IndexError> {
        let path = folder.join(INDEX_FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(IndexError::Read { path, source }),
        }
    }

    /// Names of all files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.benchmarks.iter().filter_map(|b| b.memory.facts()).map(|facts| facts.file.as_str())
    }

    /// What became of following a benchmark.
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
        assert!(matches!(MemoryIndex::parse("[]"), Err(IndexError::Parse(_))));
        assert!(matches!(MemoryIndex::parse("{\"format\": 2}"), Err(IndexError::Version { found: 2 })));
        assert!(matches!(MemoryIndex::parse(&index("../x.svg")), Err(IndexError::Outside { .. })));
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(MemoryIndex::read(folder.path()), Ok(None)));
    }
}
