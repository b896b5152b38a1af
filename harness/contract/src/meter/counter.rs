//! Counters that a workload increments itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Reading;

/// A counter of one metric: a handle that is cheap to clone and can be used from any thread. It counts only in metered
/// samples and fresh checks; in timed samples `add` is one load and a branch.
#[derive(Clone, Debug)]
pub struct Counter {
    // Relaxed is enough everywhere, because the totals are read after the iterations' own synchronisation.
    on: Arc<AtomicBool>,
    total: Arc<AtomicU64>,
}

impl Counter {
    /// Adds `amount` to the counter.
    #[inline]
    pub fn add(&self, amount: u64) {
        if self.on.load(Ordering::Relaxed) {
            self.total.fetch_add(amount, Ordering::Relaxed);
        }
    }
}

/// Counters of one placement.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    on: Arc<AtomicBool>,
    totals: BTreeMap<String, Arc<AtomicU64>>,
}

impl Counters {
    pub(crate) fn counter(&mut self, metric: &str) -> Counter {
        let total = self.totals.entry(metric.to_owned()).or_default();
        Counter { on: Arc::clone(&self.on), total: Arc::clone(total) }
    }

    pub(crate) fn start(&self) {
        for total in self.totals.values() {
            total.store(0, Ordering::Relaxed);
        }
        self.on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self, readings: &mut BTreeMap<String, Reading>) {
        self.on.store(false, Ordering::Relaxed);
        for (metric, total) in &self.totals {
            readings.insert(metric.clone(), total.load(Ordering::Relaxed).into());
        }
    }
}
