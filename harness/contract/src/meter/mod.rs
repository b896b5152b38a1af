//! Meters, which count during metered samples. In timed samples all of them are off.

mod counter;
mod heap;
mod points;

use std::collections::BTreeMap;

pub use counter::Counter;
pub(crate) use counter::Counters;
pub use heap::CountingAllocator;
pub(crate) use heap::HeapMeter;
pub use points::PointLog;

use crate::protocol::{Kernels, Trace};
use crate::{MetricDef, Name, Number, Portability, Reading};

/// Name and metrics of a meter; see [`WorkloadBuilder::meter`](crate::WorkloadBuilder::meter).
#[derive(Clone, Debug, PartialEq)]
pub struct MeterDef {
    /// Name, e.g. `gpu`.
    pub name: Name,
    /// Version of the way it measures; figures of different versions are never compared.
    pub version: u32,
    /// Metrics that it reports in each metered sample.
    pub metrics: Vec<MetricDef>,
}

impl MeterDef {
    /// Creates the definition of a meter.
    ///
    /// # Panics
    /// Panics if `name` is not a valid name.
    pub fn new(name: &str, version: u32, metrics: Vec<MetricDef>) -> Self {
        Self { name: Name::literal(name), version, metrics }
    }

    /// Restricts metrics to comparisons within a machine class, because the limits of the machine influence how much
    /// the workload does. The meter itself would be the same everywhere.
    ///
    /// # Panics
    /// Panics if the meter does not measure one of them.
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

/// An instrument that measures a stretch of iterations, such as a GPU device that counts its copies.
pub trait Meter {
    /// Starts to count.
    fn start(&mut self);
    /// Marks the point from which growth counts, because the data that iterations keep is then in place. The growth is
    /// the difference at the end, times `scale`, which compensates for the iterations before this call. Not called if
    /// the point cannot be determined.
    fn settle(&mut self, _scale: f64) {}
    /// Stops, and adds a reading for each of its metrics: sums over the stretch, or peaks.
    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>);
    /// Returns the kernels that a device executed in the stretch that [`stop`](Self::stop) ended, or `None` if it is not a
    /// meter of a device.
    fn kernels(&mut self) -> Option<Kernels> {
        None
    }
    /// Starts a traced stretch, in which the times of events matter. Meters without times keep the defaults of this
    /// method and [`stop_trace`](Self::stop_trace). An implementation should not allocate until the end, because the
    /// heap of the stretch is traced, too.
    fn start_trace(&mut self) {}
    /// Stops a traced stretch, and adds its events, with times of `perfharness_platform::clock::monotonic_ns`.
    fn stop_trace(&mut self, _trace: &mut Trace) {}
}

/// Growth of the live data from the point where the iterations had settled to the end of a stretch; for meters that
/// know what is live.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Growth {
    settled: Option<(i64, f64)>,
}

impl Growth {
    /// Records the live data when [`Meter::settle`] was called, and its argument.
    pub fn settle(&mut self, live: i64, scale: f64) {
        self.settled = Some((live, scale));
    }

    /// Returns the growth up to the present live data, summed over the iterations of the stretch.
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
