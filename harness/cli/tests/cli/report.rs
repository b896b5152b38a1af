//! Pages and exports of records, from the outside. What a page says is tested beside the code, and what a browser makes
//! of it in the test program `page`.

use std::path::Path;

use crate::fixture::Harness;

fn stored_record() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/record.json");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_leaves_a_page_of_its_own_and_one_over_all() {
    let harness = Harness::new();
    let done = harness.call("run spin/short --launches 2").worker("good").done().code(0);
    done.says(&["report: reports/no-commit/index.html"]);
    let page = harness.read("reports/no-commit/index.html");
    assert!(page.contains("spin/short/plus10") && page.contains("<svg"), "a page without its benchmarks");
    let index = harness.read("reports/index.html");
    assert!(index.contains("href=\"no-commit/index.html\""), "the index has no link to the page");
    // Samples are drawn, and not only launches.
    assert!(page.contains("Each dot is a sample"));
}

#[test]
fn a_run_to_a_place_of_its_own_leaves_its_record_only() {
    let harness = Harness::new();
    harness.measure("spin/short --launches 2").worker("good").done().code(0);
    assert_eq!(harness.files(), ["run.json", "run.samples.parquet"]);
}

#[test]
fn a_gate_leaves_what_it_found_in_the_page_of_the_commit() {
    let harness = Harness::new();
    let call = harness.call("baseline accept --runs 2 --only spin/short --launches 2 --reason first");
    call.worker("good").done().code(0);
    harness.call("gate spin/short --launches 2").worker("good").done().code(0);
    let page = harness.read("reports/no-commit/index.html");
    assert!(page.contains("id=\"comparison\"") && page.contains("no regression"), "no verdict in the page");
    // A run of the same commit beside it keeps what the gate found, and shows its own figures.
    harness.call("run spin/short --launches 2").worker("good").done().code(0);
    let page = harness.read("reports/no-commit/index.html");
    assert!(page.contains("id=\"comparison\""));
    assert!(
        page.contains("neither is of a commit"),
        "no word that verdict and figures may be of different code"
    );
}

#[test]
fn pages_are_made_again_from_records_alone() {
    let harness = Harness::new();
    harness.write("a/run.json", stored_record());
    harness.write("old.json", stored_record());
    harness.call("report a/run.json").done().code(0).says(&["report: a/index.html"]);
    harness.call("report old.json").done().code(0).says(&["report: old.html"]);
    assert!(harness.read("a/index.html").contains("plots show launches instead of samples"));
    harness.call("report a/run.json old.json --out site").done().code(0).says(&["site/index.html"]);
    let index = harness.read("site/index.html");
    // Two runs of one commit have a folder each.
    for folder in ["0123456789ab", "0123456789ab-2"] {
        assert!(index.contains(&format!("href=\"{folder}/index.html\"")), "{folder}");
        assert!(harness.path(&format!("site/{folder}/index.html")).is_file());
    }
    harness.write("reports/x/run.json", stored_record());
    harness.write("reports/y/run.json", "{");
    let done = harness.call("report").done().code(0);
    done.says(&["warning: reports/y/run.json", "report: reports/index.html"]);
    assert!(harness.read("reports/index.html").contains("Unreadable files"));
}

#[test]
fn mistakes_are_told_with_the_next_step() {
    let harness = Harness::new();
    harness.call("report").done().code(2).says(&["perfharness run all"]);
    harness.call("report none.json").done().code(2).says(&["none.json"]);
    harness.write("run.json", stored_record());
    harness.call("report --format csv").done().code(2);
    harness.call("report run.json --format csv").done().code(1).says(&["record.samples.parquet"]);
    harness.call("report run.json run.json --format json").done().code(2).says(&["one record"]);
}

#[test]
fn a_record_is_printed_for_other_programs() {
    let harness = Harness::new();
    harness.measure("spin/short --launches 2").worker("good").done().code(0);
    let printed = |format: &str| harness.call(&format!("report run.json --format {format}")).done().code(0);
    assert_eq!(printed("json").json()["format"], 1);
    let csv = printed("csv").stdout;
    assert!(csv.starts_with("workload,case,variant,") && csv.lines().count() > 10, "{csv}");
    assert!(printed("bencher").json()["spin/short/plus10"]["latency"]["value"].is_number());
    let smaller = printed("github-action-benchmark-smaller").json();
    assert!(smaller.as_array().unwrap().iter().any(|entry| entry["unit"] == "ns"));
}
