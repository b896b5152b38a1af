//! A record in the forms that other programs read. Nothing is judged here: each form is a pure function of the record
//! or of its samples.
//!
//! What cannot be told in a form is left out of it, and never written as 0: what was not measured, what is not a finite
//! number, and benchmarks that did not end well. Names come from workers and records, so each form escapes them by its
//! own rules.

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

/// The form in which a record is handed to another program.
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
    /// Whether it is made of the raw samples, and not of the record alone.
    pub fn needs_samples(self) -> bool {
        self == Self::Csv
    }
}

/// Why a record cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The record says that there are no raw samples.
    #[error("csv holds the raw samples, and the record of run {run} names none")]
    NoSamples {
        /// The run.
        run: String,
    },
    /// The record names raw samples, but they were not read.
    #[error("csv holds the raw samples: put {file} of run {run} beside its run.json")]
    SamplesNotRead {
        /// The file that the record names.
        file: String,
        /// The run.
        run: String,
    },
    /// A serializer of JSON failed, which it has no reason to.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A serializer of CSV failed, which it has no reason to.
    #[error("cannot write CSV: {0}")]
    Csv(#[from] ::csv::Error),
}

/// The record in this form, with a line end at its end. Only [`ExportFormat::Csv`] looks at the samples.
///
/// # Errors
/// When samples are asked for that are not there, or a serializer fails, which none has a reason to.
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

/// A finite figure of a benchmark that ended well.
struct Figure<'r> {
    benchmark: &'r BenchmarkRecord,
    /// Id of the metric.
    metric: &'r str,
    record: &'r MetricRecord,
    value: f64,
}

impl<'r> Figure<'r> {
    fn workload(&self) -> &'r str {
        self.benchmark.id.workload.as_str()
    }
}

/// All figures that a record has of what it measured. Those of a base and of confirmations are not among them.
fn figures(record: &RunRecord) -> impl Iterator<Item = Figure<'_>> {
    let ok = record.benchmarks.iter().filter(|benchmark| benchmark.outcome.kind == OutcomeKind::Ok);
    ok.flat_map(|benchmark| {
        benchmark.metrics.iter().filter_map(move |(metric, record)| {
            let value = record.value.value().filter(|value| value.is_finite())?;
            Some(Figure { benchmark, metric, record, value })
        })
    })
}

/// The definition of a metric. The rate has none, and neither has what a record holds of its own accord.
fn definition<'r>(record: &'r RunRecord, workload: &str, metric: &str) -> Option<&'r MetricDef> {
    let of_workload = record.workloads.iter().filter(|w| w.id == *workload).flat_map(|w| &w.metrics);
    record.metrics.iter().chain(of_workload).find(|definition| definition.id == *metric)
}

/// Which way a metric gets better, where that is known.
fn direction(record: &RunRecord, workload: &str, metric: &str) -> Option<Direction> {
    match definition(record, workload, metric) {
        Some(definition) => Some(definition.direction),
        // More items in a second are better, whatever the items are.
        None => (metric == standard::RATE).then_some(Direction::Higher),
    }
}

/// A bound that can be written as a number.
fn finite(bound: f64) -> Option<Number> {
    bound.is_finite().then_some(Number(bound))
}
