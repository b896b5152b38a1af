//! Tests the variants against each other, against the check, and against the figures of the documents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::protocol::{CheckReply, SampleReply};
use perfharness_contract::{Check, Measured, Setup, serve_on};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::logging::Variant;

const VARIANTS: [Variant; 4] = [slow::log, documented::log, shipped::log, optimized::log];

/// A placement outside a worker, loaded with round 5.
struct Bench {
    logging: Logging,
    _folder: TempDir,
}

impl Bench {
    fn new(variant: Variant, n: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut logging = Logging::new(variant, &Params { n }, &Setup::new(7, "none", folder.path()));
        logging.load(5).unwrap();
        Self { logging, _folder: folder }
    }

    fn run(&mut self, index: u64) -> Check {
        self.logging.run(index).unwrap();
        self.logging.check(index).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.logging.folder.last().unwrap().to_owned()
    }

    /// Runs index 3, changes the text of the log, and checks.
    fn after(&mut self, change: impl Fn(&str) -> String) -> Check {
        assert!(self.run(3).passed);
        let text = std::fs::read_to_string(self.path()).unwrap();
        let changed = change(&text);
        assert_ne!(text, changed);
        std::fs::write(self.path(), changed).unwrap();
        self.logging.check(3).unwrap()
    }
}

#[test]
fn all_variants_log_the_same_records_whatever_their_number() {
    for n in [1, 49, 50, 51, 100, 1000] {
        let mut benches = VARIANTS.map(|variant| Bench::new(variant, n));
        for (round, index) in [(0, 0), (0, 1), (1, 0), (9, 1_000_000)] {
            let checks = benches.each_mut().map(|bench| {
                bench.logging.load(round).unwrap();
                bench.run(index)
            });
            assert!(checks[0].passed, "{n} records: {:?}", checks[0]);
            assert!(checks[0].input.is_some() && checks[0].output.is_some());
            assert!(checks.iter().all(|check| *check == checks[0]), "{n} records: {checks:?}");
        }
    }
}

#[test]
fn an_index_may_be_run_again() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant, 120);
        assert!(bench.run(0).passed && bench.run(0).passed && bench.run(1).passed && bench.run(0).passed);
    }
}

#[test]
fn loading_a_round_removes_the_logs_of_the_round_before() {
    let mut bench = Bench::new(slow::log, 2);
    assert!(bench.run(0).passed);
    let path = bench.path();
    bench.logging.load(6).unwrap();
    assert!(!path.exists());
    assert!(bench.logging.check(0).is_err(), "there is nothing to check");
}

#[test]
fn the_check_finds_a_stale_log() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant, 60);
        assert!(bench.run(3).passed);
        let check = bench.logging.check(4).unwrap();
        assert!(!check.passed);
        assert!(check.message.unwrap().starts_with("record 0 is wrong"));
    }
}

#[test]
fn the_check_finds_a_log_that_is_missing_empty_or_cut_short() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant, 60);
        for keep in [0, 1, 2, 3, 4] {
            // Cuts the log at several lengths, from nothing to all but the last byte.
            let check = bench.after(|text| text[..(text.len() - 1) * keep / 4].to_owned());
            assert!(!check.passed, "{keep}/4 of the log is there: {check:?}");
        }
        std::fs::remove_file(bench.path()).unwrap();
        let check = bench.logging.check(3).unwrap();
        assert_eq!(check.message.as_deref(), Some("there is no log"));
        assert!(!check.passed && check.input.is_some());
    }
}

/// Returns the text of a log of any variant with changed records.
fn rewritten(text: &str, change: impl Fn(&mut Vec<Value>)) -> String {
    let array = text.starts_with('[');
    let mut records: Vec<Value> = if array {
        serde_json::from_str(text).unwrap()
    } else {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    change(&mut records);
    if array {
        serde_json::to_string(&records).unwrap()
    } else {
        records.iter().flat_map(|record| [record.to_string(), "\n".into()]).collect()
    }
}

type Change = fn(&mut Vec<Value>);

#[test]
fn the_check_finds_records_that_are_swapped_lost_repeated_or_changed() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant, 60);
        let changes: [(&str, Change); 9] = [
            ("swapped", |records| records.swap(17, 18)),
            ("lost", |records| drop(records.remove(30))),
            ("repeated", |records| records.insert(30, records[30].clone())),
            ("last lost", |records| drop(records.pop())),
            ("field lost", |records| drop(records[9].as_object_mut().unwrap().remove("loss"))),
            ("tensor lost", |records| drop(records[10].as_object_mut().unwrap().remove("expert_loads"))),
            ("tensor too many", |records| records[11]["expert_loads"] = records[10]["expert_loads"].clone()),
            ("field too many", |records| records[11]["extra"] = 0.into()),
            ("mode changed", |records| records[11]["mode"] = "standard".into()),
        ];
        for (what, change) in changes {
            assert!(!bench.after(|text| rewritten(text, change)).passed, "{what}");
        }
    }
}

#[test]
fn the_check_finds_a_changed_last_digit_of_any_field() {
    for variant in VARIANTS {
        for field in
            ["loss", "load_balance_loss", "grad_norm", "learning_rate", "tokens_per_second", "step_seconds"]
        {
            let mut bench = Bench::new(variant, 60);
            let check = bench.after(|text| {
                rewritten(text, |records| {
                    let value = records[42][field].as_f64().unwrap();
                    records[42][field] = value.next_up().into();
                })
            });
            assert!(!check.passed, "{field}");
            assert!(check.message.unwrap().starts_with("record 42 is wrong"));
        }
        let check = Bench::new(variant, 60).after(|text| {
            rewritten(text, |records| {
                let value = records[40]["ghost_activations"][3].as_f64().unwrap();
                records[40]["ghost_activations"][3] = value.next_down().into();
            })
        });
        assert!(!check.passed);
    }
}

#[test]
fn the_digits_of_an_unconverted_float32_are_found() {
    let check = Bench::new(optimized::log, 60).after(|text| {
        rewritten(text, |records| {
            let value = records[42]["loss"].as_f64().unwrap() as f32;
            records[42]["loss"] = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
        })
    });
    assert!(!check.passed);
}

/// Runs a worker in this process: sends it requests and returns its answers.
fn answers(n: u64, variant: &str, folder: &Path, requests: &[Value]) -> Vec<Value> {
    let workload = define(vec![Case::new("n", Params { n })], sizes()).build();
    let hello = json!({"op": "hello", "protocols": [1], "harness": "test", "seed": 7, "device": "none",
        "scratch_dir": folder});
    let prepare = json!({"op": "prepare", "benchmark": format!("json-logging/n/{variant}"), "placement": 0});
    let mut input = String::new();
    for (id, request) in [&hello, &prepare].into_iter().chain(requests).enumerate() {
        let mut frame = json!({"perfharness": 1, "id": id});
        frame.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        input += &frame.to_string();
        input.push('\n');
    }
    let mut output = Vec::new();
    serve_on(vec![workload], input.as_bytes(), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    let answers = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.skip(2).map(|answer| answer.get("ok").unwrap_or_else(|| panic!("{answer}")).clone()).collect()
}

fn sample(mode: &str, offset: u64, iterations: u64) -> Value {
    json!({"op": "sample", "handle": 1, "mode": mode, "round": 2, "offset": offset, "lead_in": 1,
        "iterations": iterations})
}

fn reply<T: DeserializeOwned>(answer: &Value) -> T {
    serde_json::from_value(answer.clone()).unwrap()
}

/// Counts of one iteration of `n` records.
fn counts(n: u64, variant: &str) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let answers = answers(n, variant, folder.path(), &[sample("metered", 0, 1)]);
    let readings = reply::<SampleReply>(&answers[0]).readings;
    readings.into_iter().map(|(metric, reading)| (metric, reading.value().unwrap() as u64)).collect()
}

fn expected(figures: [u64; 8]) -> BTreeMap<String, u64> {
    let metrics = [
        "file-opens",
        "file-reads",
        "file-read-bytes",
        "file-writes",
        "file-write-bytes",
        "file-syncs",
        "tensor-conversions",
        "records",
    ];
    metrics.map(str::to_owned).into_iter().zip(figures).collect()
}

#[test]
fn a_thousand_records_take_exactly_these_calls_and_bytes() {
    let sizes = sizes();
    let lines = sizes.lines(1000);
    let (written, read) = bytes_moved(&sizes, 1000);
    assert_eq!(counts(1000, SLOW), expected([1000, 0, 0, 1000, lines, 0, 2000, 1000]));
    assert_eq!(counts(1000, DOCUMENTED), expected([20, 0, 0, 20, lines, 0, 400, 1000]));
    // Each of the 20 rewrites opens the file to write, and each but the first opens it to read.
    assert_eq!(counts(1000, SHIPPED), expected([39, 19, read, 20, written, 0, 400, 1000]));
    assert_eq!(counts(1000, OPTIMIZED), expected([1, 0, 0, 20, lines, 0, 400, 1000]));
}

#[test]
fn a_last_batch_that_is_not_full_is_written_too() {
    let sizes = sizes();
    for (n, writes) in [(1, 1), (49, 1), (50, 1), (51, 2), (100, 2), (101, 3)] {
        let (written, read) = bytes_moved(&sizes, n);
        let wanted = 2 * n.div_ceil(5);
        let rewrites = expected([2 * writes - 1, writes - 1, read, writes, written, 0, wanted, n]);
        assert_eq!(counts(n, SHIPPED), rewrites, "{n} records");
        let appends = |opens| expected([opens, 0, 0, writes, sizes.lines(n), 0, wanted, n]);
        assert_eq!(counts(n, DOCUMENTED), appends(writes), "{n} records");
        assert_eq!(counts(n, OPTIMIZED), appends(1), "{n} records");
    }
}

#[test]
fn the_bytes_counted_are_the_bytes_in_the_file() {
    let size = |variant, n| {
        let mut bench = Bench::new(variant, n);
        assert!(bench.run(0).passed);
        std::fs::metadata(bench.path()).unwrap().len()
    };
    let sizes = sizes();
    for n in [1, 51, 1000] {
        assert_eq!(size(slow::log, n), sizes.lines(n));
        assert_eq!(size(documented::log, n), sizes.lines(n));
        assert_eq!(size(shipped::log, n), sizes.pretty(n));
        assert_eq!(size(optimized::log, n), sizes.lines(n));
    }
}

#[test]
fn counts_are_the_same_in_every_iteration_and_timed_samples_count_nothing() {
    for variant in [SLOW, DOCUMENTED, SHIPPED, OPTIMIZED] {
        let folder = tempfile::tempdir().unwrap();
        let fresh = json!({"op": "check", "handle": 1, "round": 4, "index": 77, "fresh": true});
        let left = json!({"op": "check", "handle": 1, "round": 2, "index": 14, "fresh": false});
        let requests =
            [sample("timed", 0, 3), sample("metered", 9, 1), fresh, sample("metered", 10, 4), left];
        let answers = answers(120, variant, folder.path(), &requests);
        let timed: SampleReply = reply(&answers[0]);
        assert!(timed.readings.is_empty());
        let one = reply::<SampleReply>(&answers[1]).readings;
        let check: CheckReply = reply(&answers[2]);
        assert!(check.check.passed, "{check:?}");
        assert_eq!(check.readings, one);
        for (metric, reading) in reply::<SampleReply>(&answers[3]).readings {
            assert_eq!(reading.value().unwrap(), 4.0 * one[&metric].value().unwrap(), "{variant}: {metric}");
        }
        assert!(reply::<CheckReply>(&answers[4]).check.passed);
    }
}

#[test]
fn the_document_is_right_about_calls_and_the_source_pays_for_them_in_bytes() {
    let counts = |variant| counts(1000, variant);
    let (slow, documented, shipped) = (counts(SLOW), counts(DOCUMENTED), counts(SHIPPED));
    let saved =
        |after: &BTreeMap<String, u64>, metric: &str| 1.0 - after[metric] as f64 / slow[metric] as f64;
    for after in [&documented, &shipped] {
        assert_eq!(saved(after, file::WRITES), 0.98);
        assert_eq!(saved(after, logging::CONVERSIONS), 0.8);
    }
    assert_eq!(saved(&documented, "file-write-bytes"), 0.0);
    assert!(saved(&shipped, "file-write-bytes") < -10.0, "{}", saved(&shipped, "file-write-bytes"));
    let calls = |counts: &BTreeMap<String, u64>| {
        ["file-opens", "file-reads", "file-writes"].iter().map(|metric| counts[*metric]).sum::<u64>() as f64
    };
    assert_eq!(calls(&documented) / calls(&slow), 0.02, "opens fall as writes do");
    assert_eq!(calls(&shipped) / calls(&slow), 0.039, "the 96.1 % of the claim's note");
}

#[test]
fn the_definition_says_what_it_leaves_out_and_what_a_crash_loses() {
    let workload = workload();
    let definition = workload.definition();
    let skipped: Vec<_> = definition.benchmarks.iter().filter(|b| b.skip.is_some()).collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0].case.as_str(), skipped[0].variant.as_str()), ("n100000", SHIPPED));
    assert!(definition.variants.iter().all(|variant| variant.caveat.is_some()));
    assert!(definition.benchmarks.iter().all(|b| b.memory_bytes.is_some()));
    assert_eq!(definition.benchmarks.len(), 12);
    let claim = |id: &str| definition.claims.iter().find(|claim| claim.id == *id).unwrap();
    let note = claim("fewer-file-operations-as-shipped").note.as_deref().unwrap();
    assert!(note.contains("96.1 %"), "{note}");
}
