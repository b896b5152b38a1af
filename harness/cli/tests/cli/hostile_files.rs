//! Files that are not what they should be: no regular files, with names that are paths, with figures beyond arithmetic, with
//! a key twice.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::{Harness, require_system, require_tool};

const RECORD: &str = include_str!("../fixtures/record.json");

/// The record with something else in a place.
fn record_with(pointer: &str, value: Value) -> String {
    let mut record: Value = serde_json::from_str(RECORD).unwrap();
    *record.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
    serde_json::to_string_pretty(&record).unwrap()
}

fn tool(harness: &Harness, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let status = harness.command(words[0].as_ref(), &words[1..]).status().unwrap();
    assert!(status.success(), "{line}");
}

#[rstest]
#[case::a_device("ln -s /dev/zero", "not a regular file")]
#[case::a_pipe("mkfifo", "not a regular file")]
#[case::a_folder("mkdir", "it is a folder")]
fn what_is_no_regular_file_is_refused_at_once(#[case] make: &str, #[case] why: &str) {
    if !require_system(&["linux", "macos"]) || !require_tool(&["mkfifo", "--help"]) {
        return;
    }
    let harness = Harness::new();
    fs::create_dir(harness.path("baselines")).unwrap();
    harness.write("run.json", RECORD);
    for name in
        ["x.json", "baselines/a.json", "run.journal.jsonl", "record.samples.parquet", "perfharness.toml"]
    {
        tool(&harness, &format!("{make} {name}"));
    }
    let refused = |line: &str, file: &str| {
        let done = harness.call(line).done();
        assert!(!done.status.success(), "{line}");
        done.says(&[why, file]);
    };
    refused("list --config x.json", "x.json");
    // One that is there is not passed over, either: what it says would be missing without a word.
    refused("list", "perfharness.toml");
    tool(&harness, "rm -rf perfharness.toml");
    refused("show x.json", "x.json");
    refused("gate x.json", "x.json");
    refused("report x.json", "x.json");
    refused("gate run.json --baselines baselines", "a.json");
    refused("run all --resume --output run.json", "run.journal.jsonl");
    refused("show run.json --check", "record.samples.parquet");
}

#[rstest]
#[case::of_a_run("/run/id", json!("../../elsewhere"))]
#[case::of_a_run_from_the_root("/run/id", json!("/tmp/elsewhere"))]
#[case::of_a_machine("/machine/class", json!("../../elsewhere"))]
#[case::of_a_commit("/source/commit", json!("../elsewhere"))]
#[case::of_samples("/samples/file", json!("../run.samples.parquet"))]
fn a_record_whose_names_are_paths_is_refused_and_stays_where_it_is(#[case] place: &str, #[case] name: Value) {
    let harness = Harness::new();
    fs::create_dir_all(harness.path("a/b/c")).unwrap();
    let text = record_with(place, name);
    harness.write("a/b/c/run.json", &text);
    let before = harness.files();
    for line in [
        "show a/b/c/run.json",
        "baseline accept a/b/c/run.json --reason why --baselines a/b/c/baselines",
        "report a/b/c/run.json a/b/c/run.json --out a/b/c/pages",
    ] {
        harness.call(line).done().code(2).says(&["a/b/c/run.json", "is not a run record"]);
    }
    harness.measure("spin/short/a --launches 1 --output a/b/c/run.json").worker("good").done().code(2);
    assert_eq!(harness.files(), before);
    assert_eq!(harness.read("a/b/c/run.json"), text);
}

#[rstest]
#[case("..")]
#[case("###")]
#[case("nul")]
fn a_machine_class_that_can_be_no_file_is_refused(#[case] class: &str) {
    let harness = Harness::new();
    harness.write("perfharness.toml", format!("[machine]\nclass = \"{class}\"\n"));
    harness.call("list").done().code(2).says(&["perfharness.toml", "class"]);
}

#[test]
fn a_page_over_figures_beyond_arithmetic_is_made() {
    let harness = Harness::new();
    let mut record: Value = serde_json::from_str(RECORD).unwrap();
    let extreme = ["1e308", "5e-324", "-1e308", "0", "9007199254740993"]
        .map(|text| serde_json::from_str::<Value>(text).unwrap());
    let mut next = extreme.iter().cycle();
    for benchmark in record["benchmarks"].as_array_mut().unwrap() {
        for metric in benchmark["metrics"].as_object_mut().unwrap().values_mut() {
            if metric["value"].is_number() {
                metric["value"] = next.next().unwrap().clone();
            }
            for launch in metric.get_mut("launches").and_then(Value::as_array_mut).into_iter().flatten() {
                *launch = next.next().unwrap().clone();
            }
        }
    }
    harness.write("run.json", record.to_string());
    harness.call("report run.json").done().code(0);
    harness.call("show run.json").done().code(0);
    assert!(harness.read("index.html").contains("<svg"));
}

#[test]
fn a_record_with_a_key_twice_is_refused() {
    let harness = Harness::new();
    for key in ["\"metrics\": {", "\"facts\": {"] {
        assert!(RECORD.contains(key));
        let again = format!("{key}\"twice\": \"a\", \"twice\": \"b\", ");
        harness.write("run.json", RECORD.replacen(key, &again, 1));
        harness.call("gate run.json").done().code(2).says(&["\"twice\"", "is there twice"]);
    }
}
