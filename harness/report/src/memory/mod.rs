//! The memory of a benchmark over many iterations: its verdict in words, as a pure function, and the folder for the
//! stories. The engine measures it.

mod folder;
mod index;
mod plot;
mod story;

pub use folder::{Course, write};
pub use index::{FollowedBenchmark, INDEX_FILE, INDEX_FORMAT, MemoryFacts, MemoryIndex, MemoryState};
pub use story::sentence;
pub(crate) use story::word;
