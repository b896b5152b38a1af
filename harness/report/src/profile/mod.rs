//! Flame graphs and other pictures of where a benchmark spends its time: pure functions of what a profiler saw, and the
//! folder that they are written to. The engine takes the profiles.

mod difference;
mod folder;
mod index;
mod pprof;
mod speedscope;
mod svg;

pub use difference::{Difference, Widths};
pub use folder::{Former, Occasion, Shot, write};
pub use index::{
    DifferenceGraph, FlameIndex, GraphFile, Hot, INDEX_FILE, INDEX_FORMAT, ProfileFacts, ProfileState,
    ProfiledBenchmark,
};

use serde::{Deserialize, Serialize};

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileFormat {
    /// A flame graph for a browser
    Svg,
    /// Protocol buffers for `pprof` and what reads its files
    Pprof,
    /// One line of text for each stack
    Folded,
    /// JSON for speedscope
    Speedscope,
}

impl ProfileFormat {
    /// The end of a file's name.
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pprof => "pb",
            Self::Folded => "folded",
            Self::Speedscope => "speedscope.json",
        }
    }
}
