//! The memory of a benchmark over many iterations: what follows from it, a pure function, and the folder that it is
//! written to. How it is watched is in [`measure`](crate::measure).

mod folder;
mod index;
mod story;

pub use folder::{Course, write};
pub use index::{FollowedBenchmark, INDEX_FILE, INDEX_FORMAT, MemoryFacts, MemoryIndex, MemoryState};
pub use story::{Finding, MemoryPoint, MemoryStory, Series, findings, sentence, verdict};
