//! Peak of the bytes of rotated inputs that are alive at one time.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use perfharness_contract::{Meter, MeterDef, MetricDef, Reading, Setup};

pub(super) const ROTATED_PEAK: &str = "rotated-peak";

/// Bytes that are alive now, and the most since a sample began.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    live: Rc<Cell<u64>>,
    peak: Rc<Cell<u64>>,
}

/// Bytes that are alive for as long as this is.
#[derive(Debug)]
pub(super) struct Hold {
    held: Held,
    bytes: u64,
}

impl Held {
    pub(super) fn hold(&self, bytes: u64) -> Hold {
        self.live.set(self.live.get() + bytes);
        self.peak.set(self.peak.get().max(self.live.get()));
        Hold { held: self.clone(), bytes }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.live.set(self.held.live.get() - self.bytes);
    }
}

impl Meter for Held {
    fn start(&mut self) {
        self.peak.set(self.live.get());
    }

    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>) {
        readings.insert(ROTATED_PEAK.into(), self.peak.get().into());
    }
}

pub(super) fn definition() -> MeterDef {
    MeterDef::new("rotated", 1, vec![MetricDef::peak_bytes(ROTATED_PEAK, "peak of rotated inputs")])
}

/// Attaches the meter to a placement, and returns what it reads.
pub(super) fn attach(setup: &Setup) -> Held {
    let held = Held::default();
    setup.attach(Box::new(held.clone()));
    held
}
