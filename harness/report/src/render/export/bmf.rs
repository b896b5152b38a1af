//! Bencher Metric Format: a map of benchmarks to measures, each a number with bounds. The format has no units, so
//! that a measure needs the same unit for ever, and cannot express failures.

use std::collections::BTreeMap;

use perfharness_contract::{Digest, Number, standard};
use perfharness_record::RunRecord;
use serde::Serialize;

use super::{figures, finite};

/// Bencher's measure for times in ns.
const LATENCY: &str = "latency";

/// Digits of a digest that distinguish names.
const DIGITS: usize = 12;

/// Largest lengths of the names of benchmarks and measures, in bytes.
const LONGEST_BENCHMARK: usize = 1024;
const LONGEST_MEASURE: usize = 64;

/// Suffixes of a benchmark's name that suppress Bencher's alerts for it; Bencher removes them from the name.
const IGNORE: [&str; 3] = ["-bencher-ignore", "BencherIgnore", "_bencher_ignore"];

/// One figure.
#[derive(Serialize)]
pub(super) struct Measure {
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<Number>,
}

/// Returns the figures by benchmark and measure. A benchmark without figures is left out.
pub(super) fn benchmarks(record: &RunRecord) -> BTreeMap<String, BTreeMap<String, Measure>> {
    let mut benchmarks = BTreeMap::<_, BTreeMap<_, _>>::new();
    for figure in figures(record) {
        let interval = figure.record.interval;
        let measure = Measure {
            value: Number(figure.value),
            lower_value: interval.and_then(|interval| finite(interval.lower)),
            upper_value: interval.and_then(|interval| finite(interval.upper)),
        };
        let benchmark = benchmark_name(&figure.benchmark.id.to_string());
        benchmarks.entry(benchmark).or_default().insert(measure_name(figure.metric), measure);
    }
    benchmarks
}

fn benchmark_name(id: &str) -> String {
    let means_more = IGNORE.iter().any(|end| id.ends_with(end));
    if means_more { renamed(id, LONGEST_BENCHMARK) } else { fitted(id, LONGEST_BENCHMARK) }
}

fn measure_name(metric: &str) -> String {
    match metric {
        standard::WALL_TIME => LATENCY.into(),
        // Another metric of that name would not be a wall time in ns.
        LATENCY => renamed(metric, LONGEST_MEASURE),
        _ => fitted(metric, LONGEST_MEASURE),
    }
}

fn fitted(name: &str, longest: usize) -> String {
    if name.len() <= longest { name.to_owned() } else { renamed(name, longest) }
}

/// Shortens a name to its beginning, a slash and a digest. No other name collides, because an id has no slash there,
/// and the result is the same in every run, as a history requires.
fn renamed(name: &str, longest: usize) -> String {
    let kept = &name[..name.floor_char_boundary(longest - DIGITS - 1)];
    format!("{kept}/{}", &Digest::of(name.as_bytes()).0[..DIGITS])
}
