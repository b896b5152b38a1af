//! What the machine did while it was measured: processor, memory, GPU and workers, read a few times a second.
//!
//! Drivers crash, hang and take their time, so a process of its own reads them: this same program, started as
//! `perfharness probe watch`. [`serve`] is its side, [`Watcher`] that of the program that measures. It reads beside the
//! measurement, and nothing that is judged rests on it, with one exception: a GPU that its own heat slows down
//! contaminates what is measured meanwhile.

mod gpus;
mod host;
mod nvml;
mod reading;
mod serve;
mod watched;
mod watcher;

pub(crate) use nvml::{open_nvml, why_not};
pub use reading::{DeviceState, News, ProcessReading, Tick, Watched};
pub use serve::{glance, serve};

pub use watched::watched;
pub use watcher::Watcher;
