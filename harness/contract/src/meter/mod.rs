//! Meters: what is counted while a metered sample runs. In timed samples all of them are off.

mod counter;
mod heap;
mod points;

use std::collections::BTreeMap;

pub use counter::Counter;
pub(crate) use counter::Counters;
pub use heap::CountingAllocator;
pub(crate) use heap::HeapMeter;
pub use points::PointLog;

use crate::protocol::Trace;
use crate::{MetricDef, Name, Number, Portability, Reading};

/// What a meter is called and what it measures; see [`WorkloadBuilder::meter`](crate::WorkloadBuilder::meter).
#[derive(Clone, Debug, PartialEq)]
pub struct MeterDef {
    /// Its name, e.g. `gpu`.
    pub name: Name,
    /// Version of its way of measuring; figures of different versions are never compared.
    pub version: u32,
    /// What it gives a reading of in each metered sample.
    pub metrics: Vec<MetricDef>,
}

impl MeterDef {
    /// A meter.
    ///
    /// # Panics
    /// When `name` is not a valid name.
    pub fn new(name: &str, version: u32, metrics: Vec<MetricDef>) -> Self {
        Self { name: Name::literal(name), version, metrics }
    }

    /// Says that what a workload does more of or less of because of limits of the machine is compared within a machine
    /// class only, where the meter by itself would be the same everywhere.
    ///
    /// # Panics
    /// When it does not measure one of them.
    #[must_use]
    pub fn within_machine_class(mut self, metrics: &[&str]) -> Self {
        for id in metrics {
            let at = self.metrics.iter().position(|metric| metric.id == **id);
            let Some(at) = at else { panic!("the meter `{}` does not measure `{id}`", self.name) };
            self.metrics[at].portability = Portability::MachineClass;
        }
        self
    }
}

/// Something that measures a stretch of iterations, such as a GPU device that counts its copies.
pub trait Meter {
    /// Begins: everything from here on counts.
    fn start(&mut self);
    /// What iterations keep from one to the next is in place: growth counts from here on. It is what is found at the end,
    /// times `scale`, which makes up for the iterations before this call. Not called where that cannot be told.
    fn settle(&mut self, _scale: f64) {}
    /// Ends, and adds a reading for each of its metrics: sums over the stretch, or peaks.
    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>);
    /// Begins a traced stretch: from here on it matters when things happen. Meters without a sense of time leave this
    /// and [`stop_trace`](Self::stop_trace) as they are. What is noted here should take no memory until the end, because
    /// the heap of the stretch is traced, too.
    fn start_trace(&mut self) {}
    /// Ends a traced stretch, and adds what happened, with moments of `perfharness_platform::clock::monotonic_ns`.
    fn stop_trace(&mut self, _trace: &mut Trace) {}
}

/// How much more lives at the end of a stretch than when its iterations had settled; for meters that know what lives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Growth {
    settled: Option<(i64, f64)>,
}

impl Growth {
    /// What lived when [`Meter::settle`] was called, and its argument.
    pub fn settle(&mut self, live: i64, scale: f64) {
        self.settled = Some((live, scale));
    }

    /// The growth to what lives now, summed over the iterations of the stretch.
    pub fn reading(self, live: i64) -> Reading {
        match self.settled {
            Some((before, scale)) => Reading::Value(Number((live - before) as f64 * scale)),
            None => Reading::Absent {
                absent:
                    "such a sample does not tell what iterations leak from what they keep or have in flight; \
                         `perfharness memory` does"
                        .into(),
            },
        }
    }
}
