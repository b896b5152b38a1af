//! A record and samples with everything that can break an export.

use std::borrow::Cow;

use perfharness_contract::protocol::Mode;
use perfharness_contract::standard;
use perfharness_record::samples::{SampleReading, Samples};
use perfharness_record::{Origin, RunRecord};
use perfharness_verdict::Interval;
use serde_json::{Value, json};

/// Names with a meaning in HTML, spreadsheets, tables and Bencher. A name contains neither a line break nor a slash.
pub(super) const SCRIPT: &str = "\"><script>alert(1)";
pub(super) const FORMULA: &str = "=cmd|'-C calc'A0";

fn benchmark(id: &str, outcome: &Value, metrics: &Value) -> Value {
    json!({
        "id": id, "definition": 1, "role": "other", "outcome": outcome, "expected": "ok", "environment": null,
        "sample": null, "warm_up": null, "check": null, "metrics": metrics,
    })
}

fn metric(unit: &str, kind: &str, value: &Value) -> Value {
    let launches = if value.is_object() { vec![] } else { vec![value.clone(); 8] };
    json!({"unit": unit, "kind": kind, "value": value, "launches": launches, "samples": 16})
}

fn bounded(unit: &str, value: f64, lower: f64, upper: f64) -> Value {
    let mut metric = metric(unit, "time", &json!(value));
    metric["interval"] = json!({"lower": lower, "upper": upper});
    metric
}

fn wall() -> Value {
    json!({standard::WALL_TIME: bounded("ns", 1000.0, 990.0, 1020.5)})
}

/// Every kind of result of a metric.
fn everything() -> Value {
    let mut demoted = metric("bytes", "size", &json!(8_100_000));
    demoted["demoted"] = json!(true);
    demoted["launches"] = json!([8_100_000]);
    json!({
        standard::WALL_TIME: bounded("ns", 1000.0, 990.0, 1020.5),
        standard::CPU_TIME: metric("ns", "time", &json!({"absent": "the worker does not report it"})),
        standard::PEAK_RSS: demoted,
        standard::RATE: bounded("records/s", 1e9, 9.8e8, 1.01e9),
        "syncs": metric("count", "exact", &json!(0)),
        "steps": metric("count", "exact", &json!(7)),
        "quality": metric("dB", "derived", &json!(31.25)),
        "overflow": metric("ns", "time", &json!("Infinity")),
        "spread": metric("ns", "time", &json!("NaN")),
        "latency": metric("bytes", "size", &json!(5)),
        "undefined": metric("`@team` www.evil.example", "size", &json!(6)),
        "a|`b`\nc": metric("[x](//evil.example)", "size", &json!(1.5)),
        "x".repeat(100): metric("count", "exact", &json!(2)),
    })
}

/// A record of these benchmarks.
fn record(benchmarks: &[Value]) -> RunRecord {
    let defined = |id: &str, unit: &str, direction: &str| json!({"id": id, "unit": unit, "kind": "exact", "direction": direction});
    let x = "x".repeat(100);
    let metrics = [
        defined("syncs", "count", "lower"),
        defined("steps", "count", "neutral"),
        defined("quality", "dB", "higher"),
        defined("overflow", "ns", "lower"),
        defined("spread", "ns", "higher"),
        defined("latency", "bytes", "lower"),
        defined(&x, "count", "lower"),
        defined("=1+1", "@sum", "lower"),
    ];
    serde_json::from_value(json!({
        "format": 1,
        "run": {
            "id": "20260301-120000-a", "started": "2026-03-01T12:00:00Z", "finished": "2026-03-01T12:01:00Z",
            "harness": "perfharness 0", "arguments": [], "seed": 1, "effort": "quick", "device": "auto", "budget_s": 1.0,
            "design": {
                "looks": {"kind": "fixed", "launches": 8}, "half_width": 0.05, "confidence": 0.99, "sample_ns": 1
            },
            "shard": {"index": 1, "count": 1}, "ended": "complete", "resumed": 0,
            "time": {
                "launches_s": 1.0, "placements_s": 1.0, "blocks_s": 1.0, "samples_s": 1.0, "outside_share": 0.5
            }
        },
        "source": {"commit": "abc", "dirty": false},
        "machine": {"class": "linux-x86_64-2cores", "class_is_set": false, "facts": {"os": "linux"}},
        "environments": [], "workers": [],
        "workloads": [{
            "id": "w", "version": 1, "cases": [{"id": "c"}], "variants": [{"id": "ok", "summary": "all"}],
            "metrics": metrics,
        }],
        "metrics": standard::harness_metrics(), "cases": [], "benchmarks": benchmarks, "comparisons": [], "claims": [],
        "samples": {"file": "run.samples.parquet", "rows": 5, "digest": "00"},
    }))
    .unwrap()
}

/// A record with every outcome, every kind of value and hostile names.
pub(super) fn full() -> RunRecord {
    let ended = |kind: &str| json!({"kind": kind, "reason": "why"});
    let ok = json!({"kind": "ok"});
    let mut surprising = benchmark("w/c/surprising", &ok, &wall());
    surprising["expected"] = json!("out-of-memory");
    let mut benchmarks = vec![
        benchmark("w/c/ok", &ok, &everything()),
        surprising,
        benchmark(
            "w/c/absent",
            &ok,
            &json!({"syncs": metric("count", "exact", &json!({"absent": "no meters"}))}),
        ),
        // A record written by hand may have figures for an outcome that allows none.
        benchmark("w/c/wrong", &ended("wrong-result"), &wall()),
        benchmark("w/c/memory", &ended("out-of-memory"), &wall()),
        benchmark("w/c/crashed", &ended("crashed"), &wall()),
        benchmark("w/c/late", &ended("timed-out"), &wall()),
        benchmark("w/c/skipped", &ended("skipped"), &json!({})),
        benchmark("w/c/waiting", &ended("not-run"), &json!({})),
        benchmark(&format!("w/{SCRIPT}/{FORMULA}"), &ok, &wall()),
    ];
    let ignored = ["x-bencher-ignore", "xBencherIgnore", "x_bencher_ignore", "bencher-ignore-x", "x"];
    benchmarks.extend(ignored.iter().map(|variant| benchmark(&format!("w/c/{variant}"), &ok, &wall())));
    let mut record = record(&benchmarks);
    // Arithmetic can yield this value, JSON cannot express it.
    let wall = record.benchmarks[1].metrics.get_mut(standard::WALL_TIME).unwrap();
    wall.interval = Some(Interval { lower: 990.0, upper: f64::INFINITY });
    record
}

/// A record without benchmarks.
pub(super) fn empty() -> RunRecord {
    RunRecord { samples: None, workloads: Vec::new(), ..record(&[]) }
}

/// A timed reading of 1 µs.
pub(super) fn row() -> SampleReading<'static> {
    SampleReading {
        workload: "w",
        case: "c",
        variant: "ok",
        launch: 0,
        part: 0,
        placement: 1,
        block: 2,
        round: 3,
        position: 0,
        mode: Mode::Timed,
        metric: standard::WALL_TIME,
        value: 1000.25,
        iterations: 3000,
        start: Some(4_000_000_000),
        flags: Cow::Borrowed(""),
        dropped: false,
        origin: Origin::Head,
    }
}

/// Samples with names and values of all kinds.
pub(super) fn samples() -> Samples {
    let metered = SampleReading { mode: Mode::Metered, start: None, iterations: 1, ..row() };
    perfharness_record::testing::samples(&[
        row(),
        SampleReading {
            dropped: true,
            flags: "preempted:2,waited:0.50,steal".into(),
            value: f64::NAN,
            ..row()
        },
        SampleReading { metric: "syncs", value: 0.0, ..metered.clone() },
        SampleReading {
            case: SCRIPT,
            variant: FORMULA,
            metric: "=1+1",
            value: f64::INFINITY,
            ..metered.clone()
        },
        SampleReading {
            variant: "a, \"b\"\nc",
            metric: "@undefined",
            value: f64::NEG_INFINITY,
            ..metered.clone()
        },
        SampleReading { workload: "elsewhere", variant: "+a", metric: "syncs", value: -1e300, ..metered },
    ])
}
