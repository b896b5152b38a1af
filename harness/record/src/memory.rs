//! The memory of a benchmark over many iterations, and the judging of whether it leaks.

use std::collections::BTreeMap;

use perfharness_verdict::{GrowthPolicy, GrowthTest, GrowthVerdict, judge_growth};
use serde::{Deserialize, Serialize};

/// The least by which a resident set changes. Larger pages only make it coarser than it could be.
const PAGE_BYTES: f64 = 4096.0;
/// Bytes that a resident set may gain over half of the iterations without a leak: an allocator touches a page that it had set
/// aside, and the system counts pages in lots.
const RESIDENT_SLACK_BYTES: f64 = 256.0 * 1024.0;
/// A counted series that gains less than this in an iteration, and not steadily, is flat.
const COUNTED_SLACK_BYTES: f64 = 1.0;

/// Memory over the iterations of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryStory {
    /// Iterations that were asked for.
    pub asked: u64,
    /// Time of one, in ns.
    pub iteration_ns: f64,
    /// After so many iterations each, the first after none.
    pub points: Vec<MemoryPoint>,
    /// Metrics that were not told, and why.
    pub absent: BTreeMap<String, String>,
}

impl MemoryStory {
    /// Iterations that were watched.
    pub fn iterations(&self) -> u64 {
        self.points.last().map_or(0, |point| point.iterations)
    }
}

/// The memory of a process after some iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// Iterations so far.
    pub iterations: u64,
    /// Resident set, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<f64>,
    /// Growth of the heap since the first point, in bytes, as the allocator counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<f64>,
    /// Bytes of buffers that live on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<f64>,
    /// Bytes that the device's allocator holds of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<f64>,
    /// The share of them that no buffer uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation: Option<f64>,
}

/// A kind of memory that can grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Series {
    /// The live heap.
    Heap,
    /// The resident set.
    Resident,
    /// Buffers on the device.
    Device,
    /// Bytes that the device's allocator holds.
    Reserved,
}

impl Series {
    /// All, what tells most first.
    pub const ALL: [Self; 4] = [Self::Heap, Self::Device, Self::Reserved, Self::Resident];

    /// Its name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Resident => "resident set",
            Self::Device => "device memory in use",
            Self::Reserved => "device memory reserved",
        }
    }

    /// Its value at a point.
    pub fn of(self, point: &MemoryPoint) -> Option<f64> {
        match self {
            Self::Heap => point.heap,
            Self::Resident => point.resident,
            Self::Device => point.device,
            Self::Reserved => point.reserved,
        }
    }

    fn policy(self, iterations: f64) -> GrowthPolicy {
        match self {
            Self::Resident => GrowthPolicy { resolution: PAGE_BYTES, slack: RESIDENT_SLACK_BYTES },
            Self::Heap | Self::Device | Self::Reserved => {
                GrowthPolicy { resolution: 1.0, slack: COUNTED_SLACK_BYTES * iterations / 2.0 }
            }
        }
    }
}

/// Finding about one series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesFinding {
    /// Which.
    pub series: Series,
    /// The finding.
    #[serde(flatten)]
    pub test: GrowthTest,
}

/// Judges each series that every point has.
pub fn findings(story: &MemoryStory) -> Vec<SeriesFinding> {
    let finding = |series: Series| {
        let told = story.points.iter().map(|point| Some((point.iterations as f64, series.of(point)?)));
        let points: Vec<(f64, f64)> = told.collect::<Option<_>>()?;
        let test = judge_growth(&points, series.policy(story.iterations() as f64))?;
        Some(SeriesFinding { series, test })
    };
    Series::ALL.into_iter().filter_map(finding).collect()
}

/// Judges the benchmark: one series that grows is a leak, and one that is unclear leaves it open.
pub fn verdict(findings: &[SeriesFinding]) -> GrowthVerdict {
    let any = |verdict| findings.iter().any(|finding| finding.test.verdict == verdict);
    if any(GrowthVerdict::Grows) {
        GrowthVerdict::Grows
    } else if any(GrowthVerdict::Unclear) || findings.is_empty() {
        GrowthVerdict::Unclear
    } else {
        GrowthVerdict::Flat
    }
}
