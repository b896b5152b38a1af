//! Differences between two baselines, for people.

use std::collections::BTreeSet;

use perfharness_contract::BenchmarkId;

use super::{Baseline, Figures};

/// A difference of a benchmark, or of one of its metrics.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its definition has another version.
    Redefined {
        /// The version before.
        from: u32,
        /// The version now.
        to: u32,
    },
    /// A metric has another middle value, or appeared, or went.
    Figure {
        /// The metric.
        metric: String,
        /// Its unit.
        unit: String,
        /// The value before.
        from: Option<f64>,
        /// The value now.
        to: Option<f64>,
    },
}

/// All changes, sorted by benchmark and metric.
pub fn changes(from: &Baseline, to: &Baseline) -> Vec<(BenchmarkId, Change)> {
    let ids: BTreeSet<&BenchmarkId> =
        from.benchmarks.iter().chain(&to.benchmarks).map(|entry| &entry.id).collect();
    let mut changes = Vec::new();
    for id in ids {
        let mut add = |change| changes.push((id.clone(), change));
        let (before, after) = (from.entry(id), to.entry(id));
        let Some((before, after)) = before.zip(after) else {
            add(if before.is_none() { Change::Added } else { Change::Removed });
            continue;
        };
        if before.definition != after.definition {
            add(Change::Redefined { from: before.definition, to: after.definition });
        }
        let metrics: BTreeSet<&String> = before.metrics.keys().chain(after.metrics.keys()).collect();
        for metric in metrics {
            let (old, new) = (before.metrics.get(metric), after.metrics.get(metric));
            let (from, to) = (old.and_then(Figures::middle), new.and_then(Figures::middle));
            if from != to {
                let unit = new.or(old).map(|figures| figures.unit.clone()).unwrap_or_default();
                add(Change::Figure { metric: metric.clone(), unit, from, to });
            }
        }
    }
    changes
}
