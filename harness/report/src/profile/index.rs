//! The index of a folder of flame graphs.

use std::path::Path;

use perfharness_contract::BenchmarkId;
use perfharness_contract::protocol::ProfileClock;
use perfharness_record::index_file::IndexError;
use perfharness_record::{Misses, Origin, Outcome, index_file};
use serde::{Deserialize, Serialize};

use super::{ProfileFormat, Widths};
use crate::folder::State;

/// Version of `index.json`.
///
/// Changes: 1, the first.
pub const INDEX_FORMAT: u32 = 1;
/// Name of the file.
pub const INDEX_FILE: &str = "index.json";

/// The index of a folder of flame graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlameIndex {
    /// Version of this file.
    pub format: u32,
    /// Name and version of the program that wrote it.
    pub harness: String,
    /// Every requested benchmark, with or without a profile.
    pub benchmarks: Vec<ProfiledBenchmark>,
    /// Graphs of one benchmark against another.
    pub differences: Vec<DifferenceGraph>,
}

impl Default for FlameIndex {
    fn default() -> Self {
        Self {
            format: INDEX_FORMAT,
            harness: concat!("perfharness ", env!("CARGO_PKG_VERSION")).into(),
            benchmarks: Vec::new(),
            differences: Vec::new(),
        }
    }
}

/// A benchmark and the result of profiling it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledBenchmark {
    /// The benchmark.
    pub id: BenchmarkId,
    /// The build that the benchmark comes from.
    #[serde(default)]
    pub origin: Origin,
    /// Start of the profiling, RFC 3339.
    pub taken: String,
    /// Id of the run that the profile belongs to (`RunInfo::id`); absent for `perfharness profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Outcome of the launch.
    pub outcome: Outcome,
    /// The profile, or the reason for its absence.
    pub profile: ProfileState,
}

/// The facts of a profile, or a typed absence.
pub type ProfileState = State<ProfileFacts>;

/// A profile in figures, and its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileFacts {
    /// Number of samples.
    pub samples: u64,
    /// Amount that one sample stands for, in `unit`.
    pub period: f64,
    /// The unit: `ns` for time.
    pub unit: String,
    /// The kind of time that was sampled.
    pub clock: ProfileClock,
    /// Amount of all samples, in `unit` per iteration.
    pub per_iteration: f64,
    /// Number of profiled iterations.
    pub iterations: u64,
    /// Wall-clock time of these iterations.
    pub wall_ns: u64,
    /// CPU time of the process during these iterations, if the worker reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Misses of a simulated processor in an iteration, where the instructions of one were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Misses>,
    /// The functions with the most samples, in descending order.
    pub hottest: Vec<Hot>,
    /// The files.
    pub files: Vec<GraphFile>,
}

/// A function and the share of the samples in the function itself, without its callees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hot {
    /// Its name.
    pub function: String,
    /// Share of the samples, from 0 to 1.
    pub share: f64,
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFile {
    /// Its format.
    pub format: ProfileFormat,
    /// Its name within the folder.
    pub file: String,
}

/// A graph of one benchmark against another, both scaled to one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferenceGraph {
    /// The benchmark compared with.
    pub reference: BenchmarkId,
    /// The build that the reference comes from.
    #[serde(default)]
    pub reference_origin: Origin,
    /// The benchmark that is compared.
    pub candidate: BenchmarkId,
    /// The side whose time determines the widths; absent for folded stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widths: Option<Widths>,
    /// The file.
    #[serde(flatten)]
    pub file: GraphFile,
}

impl FlameIndex {
    /// Reads an index from text.
    ///
    /// # Errors
    /// Returns an error if the text is not an index, has another version or names files outside its folder.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        index_file::parse(text, INDEX_FORMAT, "flame graphs", |index: &Self| {
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

    /// Keeps the profiles of this run and those without a run. The folder may still hold graphs of an earlier run.
    #[must_use]
    pub fn of_run(mut self, run: &str) -> Self {
        self.benchmarks.retain(|b| b.run.as_deref().is_none_or(|of| of == run));
        let kept: Vec<BenchmarkId> = self.benchmarks.iter().map(|b| b.id.clone()).collect();
        self.differences.retain(|d| kept.contains(&d.reference) && kept.contains(&d.candidate));
        self
    }

    /// Returns the names of all files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let of_benchmarks = self.benchmarks.iter().filter_map(|b| b.profile.facts()).flat_map(|f| &f.files);
        of_benchmarks.chain(self.differences.iter().map(|d| &d.file)).map(|file| file.file.as_str())
    }

    /// Returns the entry of a benchmark of the head.
    pub fn benchmark(&self, id: &BenchmarkId) -> Option<&ProfiledBenchmark> {
        self.benchmarks.iter().find(|b| b.id == *id && b.origin == Origin::Head)
    }

    /// Returns the flame graph of a benchmark of the head, as SVG.
    pub fn flame_graph(&self, id: &BenchmarkId) -> Option<&str> {
        let files = &self.benchmark(id)?.profile.facts()?.files;
        files.iter().find(|file| file.format == ProfileFormat::Svg).map(|file| file.file.as_str())
    }

    /// Returns the graph of one benchmark of the head against another, as SVG.
    pub fn differential(
        &self,
        reference: &BenchmarkId,
        candidate: &BenchmarkId,
        widths: Widths,
    ) -> Option<&str> {
        let wanted = |d: &&DifferenceGraph| {
            d.reference == *reference
                && d.candidate == *candidate
                && d.reference_origin == Origin::Head
                && d.widths == Some(widths)
                && d.file.format == ProfileFormat::Svg
        };
        self.differences.iter().find(wanted).map(|d| d.file.file.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn index() -> Value {
        json!({
            "format": 1,
            "harness": "perfharness 0.1.0",
            "benchmarks": [
                {"id": "w/c/slow", "taken": "t", "outcome": {"kind": "ok"}, "profile": {
                    "samples": 2, "period": 1.5, "unit": "ns", "clock": "cpu", "per_iteration": 3.0, "iterations": 1,
                    "wall_ns": 4, "hottest": [{"function": "write", "share": 1.0}],
                    "files": [{"format": "svg", "file": "w-c-slow.svg"}]
                }},
                {"id": "w/c/fast", "taken": "t", "outcome": {"kind": "ok"}, "profile": {"absent": "no profiler"}}
            ],
            "differences": [{
                "reference": "w/c/slow", "candidate": "w/c/fast", "widths": "reference",
                "format": "svg", "file": "w-c-slow-against-fast.svg"
            }]
        })
    }

    #[test]
    fn graphs_are_found_by_their_benchmarks() {
        let index = FlameIndex::parse(&index().to_string()).unwrap();
        let (slow, fast) = ("w/c/slow".parse().unwrap(), "w/c/fast".parse().unwrap());
        assert_eq!(index.flame_graph(&slow), Some("w-c-slow.svg"));
        assert_eq!(index.flame_graph(&fast), None);
        assert!(index.benchmark(&fast).unwrap().profile.facts().is_none());
        assert_eq!(index.differential(&slow, &fast, Widths::Reference), Some("w-c-slow-against-fast.svg"));
        assert_eq!(index.differential(&slow, &fast, Widths::Candidate), None);
        assert_eq!(index.differential(&fast, &slow, Widths::Reference), None);
        let again = FlameIndex::parse(&serde_json::to_string(&index).unwrap()).unwrap();
        assert_eq!(again, index);
    }

    #[test]
    fn graphs_of_another_run_are_left_out() {
        let mut of_two = index();
        of_two["benchmarks"][0]["run"] = "the-run".into();
        let index = FlameIndex::parse(&of_two.to_string()).unwrap();
        let slow = "w/c/slow".parse().unwrap();
        let ours = index.clone().of_run("the-run");
        assert!(ours.flame_graph(&slow).is_some() && ours.differences.len() == 1);
        let others = index.of_run("another");
        assert!(others.flame_graph(&slow).is_none() && others.differences.is_empty());
        // A profile without a run stays.
        assert_eq!(others.benchmarks.len(), 1);
    }

    #[test]
    fn what_is_no_index_of_this_version_is_refused() {
        assert!(matches!(FlameIndex::parse("[]"), Err(IndexError::Parse { .. })));
        assert!(matches!(FlameIndex::parse("{\"format\": 2}"), Err(IndexError::Version { found: 2, .. })));
        for name in ["../x.svg", "a/b", "c:d", "..", ""] {
            let mut index = index();
            index["differences"][0]["file"] = name.into();
            assert!(
                matches!(FlameIndex::parse(&index.to_string()), Err(IndexError::Outside { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn a_folder_without_an_index_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(FlameIndex::read(folder.path()), Ok(None)));
        std::fs::write(folder.path().join(INDEX_FILE), index().to_string()).unwrap();
        assert_eq!(FlameIndex::read(folder.path()).unwrap().unwrap().benchmarks.len(), 2);
    }
}
