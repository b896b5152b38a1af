//! How a benchmark ended and what it has for a speed-up, in words, for the terminal and for the page alike.

use perfharness_contract::{OutcomeKind, WorkloadDef, standard};
use perfharness_verdict::Interval;

use perfharness_record::{BenchmarkRecord, RunRecord};

/// The outcome in a word, and whether that was to be so: `ok`, `skipped`, `out-of-memory (expected)`.
pub(super) fn word(benchmark: &BenchmarkRecord) -> String {
    let kind = benchmark.outcome.kind;
    let expected = benchmark.succeeded() && kind != OutcomeKind::Ok;
    if expected { format!("{} (expected)", kind.as_str()) } else { kind.as_str().to_owned() }
}

/// What a benchmark has for a speed-up.
pub(super) enum SpeedUp<'a> {
    /// It is so many times as fast as another variant.
    Over {
        /// So many times.
        factor: f64,
        /// The interval of that.
        interval: Option<Interval>,
        /// The other variant.
        variant: &'a str,
    },
    /// It is what others are held against.
    Reference,
    /// It has none, for this reason.
    Missing(String),
    /// It has none, and its outcome says why.
    Ended,
}

impl<'a> SpeedUp<'a> {
    /// Finds it in the record.
    pub(super) fn of(
        record: &'a RunRecord,
        workload: &'a WorkloadDef,
        benchmark: &'a BenchmarkRecord,
    ) -> Self {
        if let Some(comparison) = record.comparison(&benchmark.id, standard::WALL_TIME) {
            let (factor, interval) = comparison.speed_up();
            return Self::Over { factor, interval, variant: comparison.reference.variant.as_str() };
        }
        if benchmark.outcome.kind != OutcomeKind::Ok {
            return Self::Ended;
        }
        let variant = workload.variants.iter().find(|v| v.id == benchmark.id.variant);
        match variant.and_then(|v| workload.reference_of(v)) {
            None => Self::Reference,
            Some(_) if record.base.is_some() => Self::Missing("measured against the base".into()),
            Some(reference) => Self::Missing(format!("no figures of {reference}")),
        }
    }
}
