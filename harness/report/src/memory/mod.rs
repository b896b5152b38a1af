//! The memory of a benchmark over many iterations: what follows from it, a pure function, and the folder that it is
//! written to. The engine watches it.

mod folder;
mod index;
mod plot;
mod story;

pub use folder::{Course, write};
pub use index::{FollowedBenchmark, INDEX_FILE, INDEX_FORMAT, MemoryFacts, MemoryIndex, MemoryState};
pub use story::sentence;
