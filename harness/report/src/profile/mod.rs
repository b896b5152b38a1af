//! Flame graphs and other forms of a profile, as pure functions of its stacks, and the folder for them. The engine
//! takes the profiles.

mod callgrind;
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

/// File format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileFormat {
    /// A flame graph for a browser
    Svg,
    /// Protocol buffers for `pprof` and compatible tools
    Pprof,
    /// One line of text for each stack
    Folded,
    /// JSON for speedscope
    Speedscope,
    /// A call graph for `KCachegrind` and `callgrind_annotate`
    Callgrind,
}

impl ProfileFormat {
    /// Returns the file extension.
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pprof => "pb",
            Self::Folded => "folded",
            Self::Speedscope => "speedscope.json",
            Self::Callgrind => "callgrind",
        }
    }
}
