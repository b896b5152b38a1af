//! Telemetry: processor, memory, GPU and workers, read a few times a second during a run.
//!
//! Drivers crash, hang and are slow, so a process of its own reads them: this same program, started as
//! `perfharness probe watch`. [`serve`] is its side, [`Watcher`] that of the program that measures. No verdict rests on
//! telemetry, with one exception: a GPU that is slowed down by its heat contaminates the samples that are taken meanwhile.

mod energy;
mod gpus;
mod host;
mod measured;
mod nvml;
mod reading;
mod serve;
mod watcher;

pub use measured::MeasuredGpu;
pub(crate) use nvml::{open_nvml, why_not};
pub use reading::{DeviceState, News, ProcessReading, Tick, Watched};
pub use serve::{glance, serve};
pub use watcher::{Watcher, watched};
