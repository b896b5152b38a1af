//! Requests for nothing, or for too little.

use super::table::{BOTH, GATED, ROW, Repo, Row};

const OWN: Row = Row { base: |repo| repo.configure(GATED), ..ROW };

rows! {
    one_launch: Row { line: "gate --base main gated/n1/work --launches 1", ..OWN };
    two_launches: Row { line: "gate --base main gated/n1/work --launches 2", ..OWN };
    no_launches: Row { line: "gate --base main gated/n1/work --launches 0", expect: &[2], ..OWN };
    an_empty_pattern: Row { line: "gate --base main ''", expect: &[2], says: &["pattern"], ..OWN };
    a_pattern_that_selects_nothing: Row { line: "gate --base main nothing", expect: &[2], says: &["nothing"], ..OWN };
    a_pattern_that_selects_nothing_beside_one_that_does: Row { line: "gate --base main gated nothing", expect: &[2], ..OWN };
    a_time_budget_that_is_used_up_at_once: Row {
        line: "gate --base main gated/n1/work --time-budget 1ms --launches 3",
        expect: &[3, 4],
        ..OWN
    };
    no_time_at_all: Row { line: "gate --base main gated/n1/work --time-budget 0s", expect: &[2, 3, 4], ..OWN };
    no_time_to_answer: Row { line: "gate --base main gated/n1/work --timeout 0s", expect: &[2, 5], ..OWN };
    a_timeout_that_no_worker_keeps: Row { line: "gate --base main gated/n1/work --timeout 1ms", expect: &[4, 5], ..OWN };
    a_regression_that_fails: Row { line: "gate --base main gated/n1/work --fail-on regressed", ..OWN };
    a_regression_and_a_failure_that_fail: Row { line: "gate --base main gated/n1/work --fail-on regressed,failed", ..OWN };
    nothing_that_fails: Row { line: "gate --base main gated/n1/work --fail-on ''", expect: &[2], ..OWN };
    something_unknown_that_fails: Row { line: "gate --base main gated/n1/work --fail-on regression", expect: &[2], ..OWN };
    nothing_compared_and_undecided_passes: Row {
        arrange: |repo| { repo.plant(); repo.code("\"version\": 1}", "\"version\": 2}"); },
        line: "gate --base main gated/n1/work --fail-on regressed,failed",
        expect: &[3, 4],
        ..OWN
    };
    a_base_and_a_base_worker: Row { line: "gate --base main --base-worker x", expect: &[2], ..OWN };
    a_base_without_a_name: Row { line: "gate --base ''", expect: &[2], ..OWN };
    a_worker_without_a_name: Row { line: "gate gated --base-worker '' --worker ''", expect: &[2], ..OWN };
    a_worker_with_an_open_quote: Row { line: "gate gated --base-worker \"python3 'x\" --worker x", expect: &[2], says: &["quotes"], ..OWN };
    workers_that_are_not_there: Row { line: "gate gated --base-worker ./no-base --worker ./no-head", expect: &[4, 5], ..OWN };
    a_head_worker_that_is_not_there: Row {
        line: "gate gated --base-worker 'python3 bench/my_worker.py' --worker ./no-head",
        expect: &[5],
        ..OWN
    };
    a_configuration_that_is_not_there: Row { line: "gate --base main --config nowhere.toml", expect: &[2], says: &["nowhere.toml"], ..OWN };
    a_configuration_that_is_empty: Row {
        base: |repo| repo.configure(""),
        expect: &[2],
        says: &["[gate]", "[[worker]]"],
        ..OWN
    };
    a_worker_without_a_command: Row { base: |repo| repo.configure("[[worker]]\ncommand = []\n"), expect: &[2], says: &["empty command"], ..OWN };
    a_worker_of_gate_without_a_command: Row { base: |repo| repo.configure("[gate]\nworker = []\n"), expect: &[2], ..OWN };
    a_worker_that_neither_side_has: Row {
        base: |repo| { repo.configure(GATED); repo.rename("bench", "elsewhere"); },
        arrange: |_| {},
        expect: &[4, 5],
        ..ROW
    };
    a_worker_that_has_nothing: Row {
        base: |repo| { repo.configure(GATED); repo.code("[WORKLOAD | parts]", "[]"); },
        arrange: Repo::plant,
        expect: &[2, 4, 5],
        ..ROW
    };
    benchmarks_that_both_sides_skip: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}]");
        },
        expect: &[4, 5],
        ..ROW
    };
    benchmarks_that_fail_on_both_sides: Row {
        base: |repo| { repo.configure(GATED); repo.code("OFFSET = 0", "OFFSET = 1"); },
        expect: &[4, 5],
        ..ROW
    };
    a_count_that_varies: Row {
        arrange: |repo| {
            repo.plant();
            repo.code("copied = 0\n", "copied = 0\nFIRST = []\n");
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        global COPIES\n        COPIES = 50 + launch()\n");
        },
        line: "gate --base main gated/n1/work --launches 2",
        ..OWN
    };
    a_worker_on_the_command_line: Row {
        base: |repo| repo.configure(BOTH),
        line: "gate --base main gated/n1/work --worker 'python3 bench/my_worker.py'",
        expect: &[2, 3],
        ..ROW
    };
    a_count_that_varies_on_one_side_only: Row {
        base: |repo| { repo.configure(GATED); repo.code("COPIES = 1", "COPIES = 2"); },
        arrange: |repo| {
            repo.code("STEPS = 10_000", "STEPS = 13_000");
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        global COPIES\n        COPIES = 2 if launch() == 1 else 50\n");
        },
        line: "gate --base main gated/n1/work --launches 2",
        expect: &[3, 4],
        ..ROW
    };
    a_benchmark_that_is_skipped_and_undecided_passes: Row {
        arrange: |repo| {
            repo.plant();
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}]");
        },
        line: "gate --base main gated/n1/work --fail-on regressed,failed",
        expect: &[5],
        ..OWN
    };
}
