//! Bencher Metric Format: benchmarks with their measures, a number with bounds for each. It has no units, so that a
//! measure has to have one unit for ever, and no word for what failed.

use std::collections::BTreeMap;

use perfharness_contract::{Digest, Number, standard};
use perfharness_record::RunRecord;
use serde::Serialize;

use super::{figures, finite};

/// The measure that Bencher has for times in ns.
const LATENCY: &str = "latency";

/// Digits of a digest that tell names apart.
const DIGITS: usize = 12;

/// How long the names of benchmarks and measures may be. Bencher counts bytes.
const LONGEST_BENCHMARK: usize = 1024;
const LONGEST_MEASURE: usize = 64;

/// Ends of a benchmark's name by which Bencher is told to raise no alerts for it, and which it takes off the name.
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

/// Benchmarks to measures to figures. A benchmark without any figure is not there.
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
        // Another metric of that name is no wall time in ns.
        LATENCY => renamed(metric, LONGEST_MEASURE),
        _ => fitted(metric, LONGEST_MEASURE),
    }
}

fn fitted(name: &str, longest: usize) -> String {
    if name.len() <= longest { name.to_owned() } else { renamed(name, longest) }
}

/// Another name: the beginning, a slash, and what tells it apart from others with the same beginning. It is the name of
/// nothing else, because an id has no slash there, and it is the same in every run, which a history depends on.
fn renamed(name: &str, longest: usize) -> String {
    let kept = &name[..name.floor_char_boundary(longest - DIGITS - 1)];
    format!("{kept}/{}", &Digest::of(name.as_bytes()).0[..DIGITS])
}
