//! Ceilings of this machine.
//!
//! Figures of the device come from a process of their own, like everything that needs a driver. They hardly change, so
//! they are kept for a week for each machine class and version of the program.

mod cache;
mod host;
mod measure;
mod measured;

pub use cache::{ceilings, kept_ceilings};
pub use measure::measure;
