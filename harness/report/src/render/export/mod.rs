//! Exports of a record for other programs. Each is a pure function of the record or of its samples and judges
//! nothing.
//!
//! An export leaves out whatever its format cannot express, and never writes it as 0: unmeasured metrics, values that
//! are not finite, and benchmarks that did not end well. Names come from workers and records, so each export escapes
//! them by the rules of its format.

mod benchmark_action;
mod bmf;
mod csv;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use clap::ValueEnum;
use perfharness_contract::{Direction, MetricDef, Number, OutcomeKind, standard};
use perfharness_record::samples::Samples;
use perfharness_record::{BenchmarkRecord, MetricRecord, RunRecord, units};
use serde::Serialize;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The record itself; see the schema
    Json,
    /// The raw samples, one row for each reading
    Csv,
    /// Bencher Metric Format, for `bencher run --adapter json`
    #[value(name = "bencher")]
    Bmf,
    /// For github-action-benchmark, tool customSmallerIsBetter: metrics that are better when lower
    #[value(name = "github-action-benchmark-smaller")]
    SmallerIsBetter,
    /// For github-action-benchmark, tool customBiggerIsBetter: metrics that are better when higher
    #[value(name = "github-action-benchmark-bigger")]
    BiggerIsBetter,
}

impl ExportFormat {
    /// Whether the format needs the raw samples besides the record.
    pub fn needs_samples(self) -> bool {
        self == Self::Csv
    }
}

/// The reason that a record cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The record has no raw samples.
    #[error("cannot export csv: run {run} has no raw samples; choose another --format or measure again")]
    NoSamples {
        /// Id of the run.
        run: String,
    },
    /// The caller passed no samples although the record names some.
    #[error("cannot export csv without the raw samples: put {file} of run {run} beside its run.json")]
    SamplesNotRead {
        /// Name of the file with the samples.
        file: String,
        /// Id of the run.
        run: String,
    },
    /// Serializing to JSON failed, which would be a bug.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Serializing to CSV failed, which would be a bug.
    #[error("cannot write CSV: {0}")]
    Csv(#[from] ::csv::Error),
}

/// Exports a record, with a newline at the end. Only [`ExportFormat::Csv`] reads the samples.
///
/// # Errors
/// Returns an error if the format needs samples that are missing, or if serializing fails.
pub fn export(
    record: &RunRecord,
    samples: Option<&Samples>,
    format: ExportFormat,
) -> Result<String, ExportError> {
    match format {
        ExportFormat::Json => json(record),
        ExportFormat::Csv => csv::render(record, samples.ok_or_else(|| without_samples(record))?),
        ExportFormat::Bmf => json(&bmf::benchmarks(record)),
        ExportFormat::SmallerIsBetter => json(&benchmark_action::entries(record, Direction::Lower)),
        ExportFormat::BiggerIsBetter => json(&benchmark_action::entries(record, Direction::Higher)),
    }
}

fn json(value: &impl Serialize) -> Result<String, ExportError> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn without_samples(record: &RunRecord) -> ExportError {
    let run = record.run.id.clone();
    match &record.samples {
        None => ExportError::NoSamples { run },
        Some(samples) => ExportError::SamplesNotRead { file: samples.file.clone(), run },
    }
}

/// A finite value of a benchmark that ended well.
struct ExportedFigure<'r> {
    benchmark: &'r BenchmarkRecord,
    /// Id of the metric.
    metric: &'r str,
    record: &'r MetricRecord,
    value: f64,
}

impl<'r> ExportedFigure<'r> {
    fn workload(&self) -> &'r str {
        self.benchmark.id.workload.as_str()
    }
}

/// Returns all figures of the main run; those of a base and of confirmations are left out.
fn figures(record: &RunRecord) -> impl Iterator<Item = ExportedFigure<'_>> {
    let ok = record.benchmarks.iter().filter(|benchmark| benchmark.outcome.kind == OutcomeKind::Ok);
    ok.flat_map(|benchmark| {
        benchmark.metrics.iter().filter_map(move |(metric, record)| {
            let value = record.value.value().filter(|value| value.is_finite())?;
            Some(ExportedFigure { benchmark, metric, record, value })
        })
    })
}

/// Returns the definition of a metric. The rate and the harness's own metrics have none.
fn definition<'r>(record: &'r RunRecord, workload: &str, metric: &str) -> Option<&'r MetricDef> {
    let of_workload = record.workloads.iter().filter(|w| w.id == *workload).flat_map(|w| &w.metrics);
    record.metrics.iter().chain(of_workload).find(|definition| definition.id == *metric)
}

/// Returns the direction of a metric, if it is known.
fn direction(record: &RunRecord, workload: &str, metric: &str) -> Option<Direction> {
    match definition(record, workload, metric) {
        Some(definition) => Some(definition.direction),
        // More items per second are better, whatever the items are.
        None => (metric == standard::RATE).then_some(Direction::Higher),
    }
}

/// Returns a bound that JSON can express.
fn finite(bound: f64) -> Option<Number> {
    bound.is_finite().then_some(Number(bound))
}
