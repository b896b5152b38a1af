//! Ceilings of this machine.
//!
//! A process of its own measures them, like everything that needs a driver. They hardly change, so they are kept for a
//! week for each machine class and version of the program.

mod cache;
mod host;
mod measure;

pub use cache::{ceilings, kept_ceilings};
pub use measure::measure;
