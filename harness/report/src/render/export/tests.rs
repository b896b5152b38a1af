//! Tests of each export with a complete record and with hostile names.

use std::collections::BTreeSet;

use clap::ValueEnum as _;
use perfharness_record::RunRecord;
use perfharness_record::samples::{SampleReading, Samples};
use perfharness_record::schema::run_schema;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::sample::{FORMULA, SCRIPT, empty, full, row, samples};
use super::{ExportFormat, bmf, export};

fn exported(record: &RunRecord, format: ExportFormat) -> String {
    export(record, None, format).unwrap()
}

fn value(record: &RunRecord, format: ExportFormat) -> Value {
    serde_json::from_str(&exported(record, format)).unwrap()
}

#[test]
fn formats_are_called_as_the_manual_calls_them() {
    let names: Vec<String> = ExportFormat::value_variants()
        .iter()
        .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
        .collect();
    let called =
        ["json", "csv", "bencher", "github-action-benchmark-smaller", "github-action-benchmark-bigger"];
    assert_eq!(names, called);
}

#[test]
fn json_is_the_record_itself_and_fits_the_published_schema() {
    // JSON cannot express these values.
    let mut record = full();
    record.benchmarks.remove(1);
    // NaN does not even equal itself.
    record.benchmarks[0].metrics.remove("spread");
    let text = exported(&record, ExportFormat::Json);
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record);
    let schema = jsonschema::validator_for(&run_schema()).unwrap();
    assert!(schema.is_valid(&serde_json::from_str(&text).unwrap()));
    assert!(text.starts_with("{\n") && text.ends_with("}\n"));
}

#[test]
fn csv_has_a_line_for_each_reading_and_no_formula() {
    insta::assert_snapshot!(export(&full(), Some(&samples()), ExportFormat::Csv).unwrap());
}

#[test]
fn csv_of_no_samples_is_its_head() {
    let text = export(&empty(), Some(&Samples::default()), ExportFormat::Csv).unwrap();
    assert!(
        text.starts_with("workload,case,variant,launch,") && text.ends_with(",flags,dropped,origin\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[rstest]
#[case::not_read(full(), &["run.samples.parquet", "20260301-120000-a"])]
#[case::not_named(empty(), &["has no raw samples", "20260301-120000-a"])]
fn csv_without_samples_says_what_is_missing(#[case] record: RunRecord, #[case] words: &[&str]) {
    let error = export(&record, None, ExportFormat::Csv).unwrap_err().to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn bencher_gets_what_was_measured_and_nothing_else() {
    insta::assert_snapshot!(exported(&full(), ExportFormat::Bmf));
}

#[test]
fn a_wall_time_is_a_latency_and_nothing_else_is() {
    let all = value(&full(), ExportFormat::Bmf);
    assert_eq!(all["w/c/ok"]["latency"], json!({"value": 1000, "lower_value": 990, "upper_value": 1020.5}));
    let other = all["w/c/ok"].as_object().unwrap().iter().find(|(name, _)| name.starts_with("latency/"));
    assert_eq!(other.unwrap().1, &json!({"value": 5}));
}

#[test]
fn smaller_is_better_for_what_is_better_when_lower() {
    insta::assert_snapshot!(exported(&full(), ExportFormat::SmallerIsBetter));
}

#[test]
fn bigger_is_better_for_what_is_better_when_higher() {
    insta::assert_snapshot!(exported(&full(), ExportFormat::BiggerIsBetter));
}

#[test]
fn what_is_neutral_or_undefined_is_better_in_no_direction() {
    for format in [ExportFormat::SmallerIsBetter, ExportFormat::BiggerIsBetter] {
        let text = exported(&full(), format);
        assert!(!text.contains("/steps\"") && !text.contains("/undefined\""), "{text}");
    }
}

#[test]
fn what_did_not_end_well_is_in_no_export_of_figures() {
    for format in [ExportFormat::Bmf, ExportFormat::SmallerIsBetter, ExportFormat::BiggerIsBetter] {
        let text = exported(&full(), format);
        for variant in ["wrong", "memory", "crashed", "late", "skipped", "waiting", "absent"] {
            assert!(!text.contains(&format!("w/c/{variant}")), "{variant} in {text}");
        }
        for metric in ["cpu-time", "overflow", "spread"] {
            assert!(!text.contains(metric), "{metric} in {text}");
        }
        assert!(!text.contains("null"), "{text}");
    }
}

#[rstest]
#[case::bencher(ExportFormat::Bmf, json!({}))]
#[case::smaller(ExportFormat::SmallerIsBetter, json!([]))]
#[case::bigger(ExportFormat::BiggerIsBetter, json!([]))]
fn a_record_of_nothing_has_no_figures(#[case] format: ExportFormat, #[case] nothing: Value) {
    assert_eq!(value(&empty(), format), nothing);
}

#[test]
fn names_survive_json_as_they_are() {
    let id = format!("w/{SCRIPT}/{FORMULA}");
    assert_eq!(value(&full(), ExportFormat::Bmf)[&id]["latency"]["value"], 1000);
    let name = format!("{id}/wall-time").replace('|', "¦");
    let smaller = value(&full(), ExportFormat::SmallerIsBetter);
    assert!(smaller.as_array().unwrap().iter().any(|entry| entry["name"] == name), "{smaller:#}");
}

/// A record with one benchmark for each variant, each with all these metrics.
fn named(variants: &[String], metrics: &[String]) -> RunRecord {
    let record = full();
    let (benchmark, metric) = (&record.benchmarks[0], &record.benchmarks[0].metrics["syncs"]);
    let benchmarks = variants.iter().map(|variant| {
        let mut benchmark = benchmark.clone();
        benchmark.id.variant = variant.parse().unwrap();
        benchmark.metrics = metrics.iter().map(|id| (id.clone(), metric.clone())).collect();
        benchmark
    });
    RunRecord { benchmarks: benchmarks.collect(), ..record.clone() }
}

#[test]
fn bencher_names_are_short_enough_and_never_tell_it_to_ignore_one() {
    let ends = ["-bencher-ignore", "BencherIgnore", "_bencher_ignore", "-bencher-ignore-bencher-ignore", ""];
    let mut variants: Vec<String> = ends.iter().map(|end| format!("x{end}")).collect();
    variants.extend(["😀", "x"].map(|c| c.repeat(100)));
    let metrics = ["latency", "wall-time", "syncs", &"x".repeat(64), &"x".repeat(65), &"ü".repeat(100)];
    let mut record = named(&variants, &metrics.map(str::to_owned));
    for benchmark in &mut record.benchmarks {
        // Three names of 100 characters with four bytes each exceed Bencher's limit.
        benchmark.id.workload = "😀".repeat(100).parse().unwrap();
        benchmark.id.case = "😀".repeat(100).parse().unwrap();
    }
    let benchmarks = bmf::benchmarks(&record);
    // No benchmark replaced another.
    assert_eq!(benchmarks.len(), variants.len());
    for (name, measures) in &benchmarks {
        assert!(name.len() <= 1024, "{name}");
        assert!(ends[..4].iter().all(|end| !name.ends_with(end)), "{name}");
        assert_eq!(measures.len(), metrics.len(), "{:?}", measures.keys());
        assert!(measures.keys().all(|measure| measure.len() <= 64), "{:?}", measures.keys());
        assert!(measures.contains_key("latency") && measures.contains_key("syncs"));
    }
}

/// Text with a meaning in CSV, spreadsheets or Markdown, and arbitrary text.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("=HYPERLINK(\"http://evil.example\")".to_owned()),
        Just("+1".to_owned()),
        Just("-1".to_owned()),
        Just("@SUM(A1)".to_owned()),
        Just("＝1".to_owned()),
        Just("\t=1".to_owned()),
        Just("\r\n=1".to_owned()),
        Just("\",\"=1".to_owned()),
        Just("'".to_owned()),
        Just("|`@team` <b>\\".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// Returns the cells of a CSV file, line by line, as a reader sees them.
fn cells(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|line| line.unwrap().iter().map(str::to_owned).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_name_makes_a_cell_of_csv_or_a_formula(workload in hostile(), metric in hostile(), flags in hostile()) {
        let rows = [SampleReading { workload: &workload, metric: &metric, flags: flags.as_str().into(), ..row() }];
        let samples = perfharness_record::testing::samples(&rows);
        let lines = cells(&export(&full(), Some(&samples), ExportFormat::Csv).unwrap());
        prop_assert_eq!(lines.len(), 2);
        let kept = samples.rows().next().unwrap();
        for (column, text) in [(0, kept.workload), (10, kept.metric), (15, &*kept.flags)] {
            let cell = &lines[1][column];
            prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝']), "{cell:?}");
            prop_assert!(*cell == text || *cell == format!("'{text}"), "{cell:?} for {text:?}");
        }
    }

    #[test]
    fn no_name_ends_a_code_span_or_a_row_of_a_table(variant in hostile(), unit in hostile()) {
        // Characters that a name may contain.
        let may_hold = |c: &char| !c.is_control() && !"/*?[]{}!\\".contains(*c);
        let variant = format!("x{}x", variant.chars().filter(may_hold).take(90).collect::<String>());
        let mut record = named(&[variant], &["syncs".into()]);
        record.benchmarks[0].metrics.get_mut("syncs").unwrap().unit = unit;
        let entries = value(&record, ExportFormat::SmallerIsBetter);
        let (name, unit) = (entries[0]["name"].as_str().unwrap(), entries[0]["unit"].as_str().unwrap());
        prop_assert!(!name.contains(['`', '|', '\n', '\r']), "{name:?}");
        prop_assert!(!unit.contains(|c: char| "`|<>@[]()*_~#&:.\\".contains(c) || c.is_control()), "{unit:?}");
    }
}

#[test]
fn no_figure_is_in_both_directions() {
    let names = |format| -> BTreeSet<String> {
        let entries = value(&full(), format);
        entries.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    let (smaller, bigger) = (names(ExportFormat::SmallerIsBetter), names(ExportFormat::BiggerIsBetter));
    assert!(smaller.is_disjoint(&bigger));
    assert!(
        smaller.contains("w/c/ok/syncs")
            && bigger.contains("w/c/ok/rate")
            && bigger.contains("w/c/ok/quality")
    );
}
