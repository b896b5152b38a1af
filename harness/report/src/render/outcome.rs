//! The outcome of a benchmark and its speed-up in words, for the terminal and the page.

use perfharness_contract::{OutcomeKind, WorkloadDef, standard};
use perfharness_record::{BenchmarkRecord, RunRecord};
use perfharness_verdict::Interval;

/// Returns the outcome in a word, and whether it was expected: `ok`, `skipped`, `out-of-memory (expected)`.
pub(super) fn word(benchmark: &BenchmarkRecord) -> String {
    let kind = benchmark.outcome.kind;
    let expected = benchmark.succeeded() && kind != OutcomeKind::Ok;
    if expected { format!("{} (expected)", kind.as_str()) } else { kind.as_str().to_owned() }
}

/// The speed-up of a benchmark, or the reason for its absence.
pub(super) enum SpeedUp<'a> {
    /// The benchmark is faster or slower than another variant.
    Over {
        /// Time of the other variant over the time of this one.
        factor: f64,
        /// Interval of the factor.
        interval: Option<Interval>,
        /// The other variant.
        variant: &'a str,
    },
    /// The benchmark is the reference of others.
    Reference,
    /// There is none, for this reason.
    Missing(String),
    /// There is none, and the outcome says why.
    Ended,
}

impl<'a> SpeedUp<'a> {
    /// Finds the speed-up in the record.
    pub(super) fn of(
        record: &'a RunRecord,
        workload: &'a WorkloadDef,
        benchmark: &'a BenchmarkRecord,
    ) -> Self {
        if let Some(comparison) = record.section().comparison(&benchmark.id, standard::WALL_TIME) {
            let (factor, interval) = comparison.speed_up();
            return Self::Over { factor, interval, variant: comparison.reference.variant.as_str() };
        }
        if benchmark.outcome.kind != OutcomeKind::Ok {
            return Self::Ended;
        }
        let variant = workload.variant(&benchmark.id.variant);
        match variant.and_then(|v| workload.reference_of(v)) {
            None => Self::Reference,
            Some(_) if record.base.is_some() => Self::Missing("measured against the base".into()),
            Some(reference) => Self::Missing(format!("no figures of {reference}")),
        }
    }
}
