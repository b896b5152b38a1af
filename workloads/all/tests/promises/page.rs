//! The table of all hot paths in `docs/hot-paths.md`.

use std::collections::BTreeSet;

use perfharness_contract::{Workload, WorkloadDef};

use crate::sentence::Verdict;
use crate::sentences;

const PAGE: &str = include_str!("../../../../docs/hot-paths.md");
/// Rows of the table.
const ROWS: u8 = 38;
/// First words of the column of workloads in a row that has none.
const NOT_BUILT: &str = "not built: ";

/// Row of the table.
struct Row {
    number: u8,
    /// Workloads with their cases or variants, in backticks, or the reason why there are none.
    workloads: &'static str,
}

/// Returns the rows of the table, which alone begin with a number.
fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let cells: Vec<_> = line.strip_prefix("| ")?.split(" | ").collect();
        Some(Row { number: cells[0].parse().ok()?, workloads: cells[3] })
    };
    PAGE.lines().filter_map(row).collect()
}

/// Returns the words in backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_page_has_a_row_for_each_hot_path_of_the_documents() {
    let numbers: Vec<_> = rows().iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=ROWS).collect::<Vec<_>>());
}

#[test]
fn rows_name_workloads_and_their_cases_and_variants() {
    let workloads = perfharness_all::all();
    let definitions: Vec<&WorkloadDef> = workloads.iter().map(Workload::definition).collect();
    let mut named = BTreeSet::new();
    for row in rows().iter().filter(|row| !row.workloads.starts_with(NOT_BUILT)) {
        let mut current: Option<&WorkloadDef> = None;
        for name in names(row.workloads) {
            if let Some(workload) = definitions.iter().find(|workload| workload.id.as_str() == name) {
                named.insert(name);
                current = Some(workload);
                continue;
            }
            let part = current.is_some_and(|workload| {
                workload.cases.iter().any(|case| case.id.as_str() == name)
                    || workload.variants.iter().any(|variant| variant.id.as_str() == name)
            });
            assert!(
                part,
                "row {}: `{name}` is not a workload, nor a case or variant of the one before it",
                row.number
            );
        }
        assert!(current.is_some(), "row {} names no workload and is not marked as not built", row.number);
    }
    let paths = definitions.iter().filter(|workload| !workload.on_request);
    let missing: Vec<_> =
        paths.map(|workload| workload.id.as_str()).filter(|id| !named.contains(id)).collect();
    assert!(missing.is_empty(), "workloads without a row: {missing:?}");
}

#[test]
fn sentences_about_paths_that_are_not_built_name_rows_that_say_so() {
    let rows = rows();
    for (document, sentence) in sentences() {
        let Verdict::NotBuilt(numbers) = sentence.verdict else { continue };
        for number in numbers {
            let said = rows.iter().any(|row| row.number == *number && row.workloads.starts_with(NOT_BUILT));
            assert!(said, "document {document}, line {}: row {number} is built", sentence.line);
        }
    }
}
