//! The record: its published schema, its samples, and what `show` makes of it.

use std::fs;
use std::path::Path;

use perfharness_contract::{Digest, OutcomeKind};
use perfharness_platform::env;
use rstest::rstest;
use serde_json::Value;

use crate::fixture::Harness;
use crate::samples;

const SCHEMA: &str = "schemas/run-1.schema.json";
const GATE_SCHEMA: &str = "schemas/gate-3.schema.json";
const BASELINE_SCHEMA: &str = "schemas/baseline-3.schema.json";
const JOURNAL_SCHEMA: &str = "schemas/journal-2.schema.json";

/// With this variable set, the published schema is written instead of compared.
const UPDATE: &str = "PERFHARNESS_UPDATE_SCHEMAS";

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Fails where a value does not keep to a published schema.
fn assert_keeps_to(schema: &str, values: &[Value]) {
    let validator = jsonschema::validator_for(&json(&read(schema))).unwrap();
    let errors = values.iter().flat_map(|value| validator.iter_errors(value));
    let errors: Vec<String> = errors.map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{schema}: {}", errors.join("\n"));
}

/// Fails where a value that is wrong keeps to a published schema all the same.
fn assert_refused(schema: &str, value: &Value) {
    let validator = jsonschema::validator_for(&json(&read(schema))).unwrap();
    assert!(!validator.is_valid(value), "{schema}: {value}");
}

/// A record with every kind of outcome, comparisons, and absent readings.
fn measured() -> Harness {
    let harness = Harness::new();
    let call = harness.measure("misbehave/c/{good,wrong,panic,unavailable} raw --launches 2");
    call.worker("bad").worker("garbage").done().code(5);
    harness
}

#[test]
fn what_was_set_is_in_the_record_and_flags_come_before_the_configuration() {
    let harness = Harness::new();
    let config = "[settings]\nimages = \"configured\"\nother = \"kept\"\n";
    fs::write(harness.path("perfharness.toml"), config).unwrap();
    let call = harness.measure("spin/short --launches 1 --set one=a=b --images photos --json");
    let done = call.worker("good").done().code(0);
    // The note is shown once before anything is timed, and again with the results.
    let lines: Vec<&str> = done.stderr.lines().collect();
    let at = |line: &str| {
        lines.iter().position(|known| *known == line).unwrap_or_else(|| panic!("{line}: {lines:?}"))
    };
    assert!(at("spin/short: one is a=b") < at("spin/short: 1 launches"));
    assert_eq!(done.stderr.matches("one is a=b").count(), 1, "{}", done.stderr);
    let record = done.json();
    let settings = serde_json::json!({"images": "photos", "one": "a=b", "other": "kept"});
    assert_eq!(record["run"]["settings"], settings);
    // The record has the note once, however many placements sent it.
    let notes: Vec<&Value> = record["benchmarks"].as_array().unwrap().iter().map(|b| &b["notes"]).collect();
    assert!(
        notes.len() > 1 && notes.iter().all(|told| **told == serde_json::json!(["one is a=b"])),
        "{notes:?}"
    );
    let shown = harness.call("show run.json").done().code(0).stdout;
    assert_eq!(shown.matches("one is a=b").count(), 1, "{shown}");
    // A name that no workload declares would silently have no effect.
    let refused =
        harness.measure("spin/short --launches 1 --set imagse=photos").worker("good").done().code(2);
    refused.says(&["`imagse`", "there are: images, one"]);
    let call = harness.call("list").worker("good").done().code(0);
    assert!(call.stdout.contains("setting  images"), "{}", call.stdout);
}

#[test]
fn a_path_belongs_to_the_folder_of_the_configuration_or_to_where_a_flag_is_given() {
    let harness = Harness::new();
    harness.write("project/perfharness.toml", "[settings]\nimages = \"photos\"\none = \"text\"\n");
    let set = |line: &str| {
        let call = harness.measure(&format!("spin/short/a --launches 1 --json {line}"));
        call.worker("good").done().code(0).json()["run"]["settings"].clone()
    };
    let inside = Path::new("project").join("photos");
    let configured = set("--config project/perfharness.toml");
    assert_eq!(configured, serde_json::json!({"images": inside.to_str(), "one": "text"}));
    let flagged = set("--config project/perfharness.toml --images photos");
    assert_eq!(flagged, serde_json::json!({"images": "photos", "one": "text"}));
    let set_by_name = set("--config project/perfharness.toml --set images=other");
    assert_eq!(set_by_name["images"], "other");
}

#[rstest]
#[case::of_a_record("schema", SCHEMA)]
#[case::of_a_gate("schema gate", GATE_SCHEMA)]
#[case::of_a_baseline("schema baseline", BASELINE_SCHEMA)]
#[case::of_a_journal("schema journal", JOURNAL_SCHEMA)]
fn the_published_schema_is_that_of_the_program(#[case] command: &str, #[case] file: &str) {
    let printed = Harness::new().call(command).done().code(0).stdout;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::is_set_nonempty(UPDATE) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &printed).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    // A checkout on Windows may have other line ends.
    let same = published.lines().eq(printed.lines());
    assert!(
        same,
        "{} is not what `perfharness {command}` prints; set {UPDATE}=1 to write it",
        path.display()
    );
}

#[test]
fn records_keep_to_the_published_schema() {
    let record = json(&measured().read("run.json"));
    assert_keeps_to(SCHEMA, std::slice::from_ref(&record));
    // The schema rejects other documents.
    let mut broken = record;
    broken["run"]["seed"] = "one".into();
    assert_refused(SCHEMA, &broken);
    assert_refused(SCHEMA, &Value::from(1));
}

#[test]
fn baselines_keep_to_the_published_schema() {
    let baseline = json(&read("../fuzz/corpus/baseline/class.json"));
    assert_keeps_to(BASELINE_SCHEMA, std::slice::from_ref(&baseline));
    let broken = |edit: fn(&mut Value)| {
        let mut broken = baseline.clone();
        edit(&mut broken);
        assert_refused(BASELINE_SCHEMA, &broken);
    };
    broken(|baseline| baseline["benchmarks"][0]["role"] = "fastest".into());
    broken(|baseline| baseline["benchmarks"][0]["more"] = 1.into());
    broken(|baseline| baseline["more"] = 1.into());
    broken(|baseline| drop(baseline["benchmarks"][0].as_object_mut().unwrap().remove("digest")));
}

#[test]
fn the_header_and_the_events_of_a_journal_keep_to_the_published_schema() {
    let journal = read("../fuzz/corpus/journal/run.jsonl");
    let lines: Vec<Value> = journal.lines().map(json).collect();
    assert_keeps_to(JOURNAL_SCHEMA, &lines);
    let broken = |line: &Value, edit: fn(&mut Value)| {
        let mut broken = line.clone();
        edit(&mut broken["entry"]);
        assert_refused(JOURNAL_SCHEMA, &broken);
    };
    broken(&lines[0], |header| header["plan"]["seed"] = "one".into());
    broken(&lines[1], |event| event["case"] = "first".into());
    broken(&lines[1], |event| event["event"] = "guessed".into());
}

#[test]
fn record_and_samples_belong_together() {
    let harness = measured();
    let record = harness.record();
    let reference = record.samples.as_ref().unwrap();
    let content = fs::read(harness.path(&reference.file)).unwrap();
    assert_eq!(Digest::of(&content), reference.digest);
    let rows = samples::read(&harness.path(&reference.file));
    assert_eq!(rows.len() as u64, reference.rows);

    for benchmark in record.benchmarks.iter().filter(|b| b.outcome.kind == OutcomeKind::Ok) {
        let wall = &benchmark.metrics["wall-time"];
        let of_benchmark = rows.iter().filter(|row| {
            let key = &row.key;
            *key.variant == *benchmark.id.variant.as_str() && key.metric == "wall-time" && key.mode == "timed"
        });
        let values: Vec<f64> = of_benchmark.map(|row| row.value).collect();
        assert!(values.len() >= wall.samples, "{}: {} rows", benchmark.id, values.len());
        let within = |value: f64| values.iter().any(|v| *v >= value) && values.iter().any(|v| *v <= value);
        assert!(within(wall.value.value().unwrap()), "{}", benchmark.id);
    }
}

#[test]
fn show_prints_what_run_printed() {
    let harness = Harness::new();
    let call = harness.measure("misbehave/c/{good,wrong,panic,unavailable,print} raw --launches 2");
    let run = call.worker("bad").worker("garbage").done().code(5);
    let show = harness.call("show run.json").done().code(0);
    assert_eq!(show.stdout, run.stdout);
    assert!(run.stdout.contains("misbehave/c") && run.stdout.contains("raw/c"), "{}", run.stdout);
}

#[test]
fn json_is_the_record_itself() {
    let harness = Harness::new();
    let run = harness.measure("spin/short --launches 1 --json").worker("good").done().code(0);
    let file: Value = serde_json::from_str(&harness.read("run.json")).unwrap();
    assert_eq!(run.json(), file);
    assert_eq!(harness.call("show run.json --json").done().code(0).json(), file);
}

#[test]
fn show_check_finds_samples_that_are_missing_or_not_its_own() {
    let harness = Harness::new();
    harness.measure("spin/short --launches 1").worker("good").done().code(0);
    let passed = harness.call("show run.json --check").done().code(0);
    passed.says(&["4 benchmarks, all accounted for"]);

    let samples = harness.path("run.samples.parquet");
    let mut content = fs::read(&samples).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&samples, content).unwrap();
    harness.call("show run.json --check").done().code(1).says(&["run.samples.parquet", "of another run"]);

    fs::remove_file(&samples).unwrap();
    harness
        .call("show run.json --check")
        .done()
        .code(1)
        .says(&["cannot read its samples", "run.samples.parquet"]);
    harness.call("show run.json").done().code(0);
}

#[test]
fn show_check_finds_benchmarks_that_are_not_accounted_for() {
    let harness = Harness::new();
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
    let whole: Value = serde_json::from_str(&harness.read("run.json")).unwrap();

    let mut without_time = whole.clone();
    without_time["benchmarks"][0]["metrics"] = serde_json::json!({});
    harness.write("run.json", without_time.to_string());
    harness.call("show run.json --check").done().code(1).says(&["spin/short/a is ok but has no wall time"]);

    let mut without_benchmarks = whole;
    without_benchmarks["benchmarks"] = serde_json::json!([]);
    harness.write("run.json", without_benchmarks.to_string());
    harness.call("show run.json --check").done().code(1).says(&["case spin/short has no benchmark"]);
}

#[rstest]
#[case::of_a_later_format("{\"format\": 99, \"new\": true}", &["format 99", "update perfharness"])]
#[case::that_is_broken("{\"format\": 1,", &["broken.json", "is not a run record"])]
#[case::that_is_something_else("[1, 2]", &["broken.json", "is not a run record"])]
#[case::with_a_field_of_the_wrong_kind("{\"format\": 1, \"run\": 5}", &["broken.json", "is not a run record"])]
fn a_record_that_cannot_be_read_is_named(#[case] text: &str, #[case] words: &[&str]) {
    let harness = Harness::new();
    harness.write("broken.json", text);
    harness.call("show broken.json").done().code(2).says(words);
}

#[test]
fn a_record_that_is_not_there_is_named() {
    Harness::new().call("show nothing.json").done().code(2).says(&["nothing.json"]);
}

#[test]
fn processes_of_one_worker_ran_under_one_environment() {
    let harness = Harness::new();
    harness.measure("spin/short spin/long --launches 2 --time-budget 1s").worker("good").done().code(0);
    let record = harness.record();
    assert_eq!(record.environments.len(), 1, "{:#?}", record.environments);
    assert!(record.benchmarks.iter().all(|benchmark| benchmark.environment == Some(0)));
}

#[test]
fn the_record_says_how_it_was_made() {
    let harness = Harness::new();
    let line = "spin/short/a --launches 1 --seed 7 --device none --effort standard --time-budget 1s";
    harness.measure(line).worker("good").done().code(0);
    let run = harness.record().run;
    assert_eq!((run.seed, run.device.as_str(), run.budget_s), (7, "none", 1.0));
    let arguments: Vec<&str> = run.arguments.iter().map(String::as_str).collect();
    assert_eq!(arguments[..3], ["run", "--output", "run.json"]);
    assert!(line.split(' ').all(|word| arguments.contains(&word)), "{arguments:?}");
}

#[test]
fn a_run_without_a_gpu_names_none() {
    let harness = Harness::new();
    harness.measure("spin/short/a --launches 1 --device none").worker("good").done().code(0);
    let facts = harness.record().machine.facts;
    assert!(facts.keys().all(|key| !key.starts_with("gpu")), "{facts:?}");
}
