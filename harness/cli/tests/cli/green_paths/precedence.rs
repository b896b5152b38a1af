//! The first of 2, 1, 5, 3, 4 and 0 that applies: a row for each two of them.

use super::table::{GATED, OF_BUILD, ROW, Repo, Row, is_found_to_be, rows_of};

const OWN: Row = Row { base: |repo| repo.configure(GATED), line: "gate --base main", ..ROW };

/// Lets one of the two benchmarks crash.
fn crash_before(repo: &Repo) {
    repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        if request[\"benchmark\"].endswith(\"before\"):\n            os._exit(7)\n");
}

rows! {
    usage_comes_before_a_harness_that_fails: Row {
        arrange: |repo| { repo.plant(); repo.write("build.sh", "exit 7\n"); },
        line: "gate --base main --fail-on nothing",
        expect: &[2],
        ..OF_BUILD
    };
    usage_comes_before_a_failure: Row {
        arrange: |repo| { repo.plant(); crash_before(repo); },
        line: "gate --base main gated nothing",
        expect: &[2],
        ..OWN
    };
    usage_comes_before_a_regression: Row {
        line: "gate --base main --output {above}/out/gate.json",
        expect: &[2],
        says: &["name another file"],
        ..OWN
    };
    a_harness_that_fails_comes_before_a_failure: Row {
        arrange: |repo| { repo.plant(); crash_before(repo); },
        line: "gate --base main --markdown perfharness.toml/gate.md",
        expect: &[1],
        says: &["gate.md"],
        ..OWN
    };
    a_harness_that_fails_comes_before_a_regression: Row {
        line: "gate --base main --markdown perfharness.toml/gate.md",
        expect: &[1],
        says: &["gate.md"],
        ..OWN
    };
    a_failure_comes_before_a_regression: Row {
        arrange: |repo| { repo.plant(); crash_before(repo); },
        expect: &[5],
        finds: &["failed", "regressed"],
        ..OWN
    };
    a_failure_comes_before_what_is_open: Row {
        arrange: crash_before,
        expect: &[5],
        finds: &["failed", "inconclusive"],
        ..OWN
    };
    a_regression_comes_before_what_is_open: Row { finds: &["regressed", "inconclusive"], ..OWN };
}

#[test]
fn what_is_open_comes_before_what_is_not() {
    let row =
        Row { arrange: |repo| repo.code("a loop that nobody needs", "a loop that somebody may need"), ..OWN };
    let Some(repo) = row.arranged() else { return };
    // The time of one launch is open, whatever it is.
    repo.call(&row).done().code(4);
    let found = repo.found();
    for word in ["inconclusive", "unchanged"] {
        assert!(rows_of(&found).any(|row| is_found_to_be(row, word)), "no row is {word}: {found:#}");
    }
}
