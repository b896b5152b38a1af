//! Meters: what is counted while a metered sample runs. In timed samples all of them are off.

mod counter;
mod heap;

use std::collections::BTreeMap;

pub use counter::Counter;
pub(crate) use counter::Counters;
pub use heap::CountingAllocator;
pub(crate) use heap::HeapMeter;

use crate::Reading;

/// Something that measures a stretch of iterations, such as a GPU device that counts its copies.
pub trait Meter {
    /// Name and version of the way of measuring; figures of different versions are never compared.
    fn version(&self) -> (&'static str, u32);
    /// Begins: everything from here on counts.
    fn start(&mut self);
    /// Ends, and adds a reading for each of its metrics: sums over the stretch, or peaks.
    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>);
}
