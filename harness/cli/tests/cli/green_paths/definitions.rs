//! A figure is judged by the base's definition, and a changed definition is open until it is in the base: ways to have the
//! head define how it is judged.

use super::table::{GATED, ROW, Repo, Row};

const OWN: Row = Row { base: |repo| repo.configure(GATED), ..ROW };
/// A definition that the head changed, and a change that is found all the same.
const REDEFINED: Row = Row { expect: &[3], finds: &["redefined"], ..OWN };
/// The same if the figures of both mean different things and cannot be compared.
const APART: Row = Row { expect: &[3, 4], finds: &["redefined"], ..OWN };

const COPIES: &str = "{\"id\": \"copies\", \"unit\": \"count\", \"kind\": \"exact\"}";

/// A change that plants, and defines the copies in another way.
fn copies_as(repo: &Repo, definition: &str) {
    repo.plant();
    repo.code(COPIES, &format!("{{\"id\": \"copies\", {definition}}}"));
}

/// A change that plants, and defines the variant in another way.
fn variant_as(repo: &Repo, definition: &str) {
    repo.plant();
    repo.code("{\"id\": \"work\", \"role\": \"other\"}", &format!("{{\"id\": \"work\", {definition}}}"));
}

fn case_as(repo: &Repo, definition: &str) {
    repo.plant();
    repo.code("CASE = {\"id\": \"n1\"}", &format!("CASE = {{\"id\": \"n1\", {definition}}}"));
}

/// A change that plants, and says something special of the benchmark.
fn benchmark_as(repo: &Repo, definition: &str) {
    repo.plant();
    let special = format!("BENCHMARKS = [{{\"case\": \"n1\", \"variant\": \"work\", {definition}}}]");
    repo.code("BENCHMARKS = []", &special);
}

rows! {
    a_version_of_the_workload: Row {
        arrange: |repo| { repo.plant(); repo.code("\"version\": 1}", "\"version\": 2}"); },
        ..APART
    };
    a_workload_on_request: Row {
        arrange: |repo| { repo.plant(); repo.code("\"version\": 1}", "\"version\": 1, \"on_request\": True}"); },
        line: "gate --base main",
        expect: &[2, 3, 5],
        ..OWN
    };
    a_case_of_another_effort: Row {
        arrange: |repo| case_as(repo, "\"efforts\": [\"thorough\"]"),
        line: "gate --base main",
        expect: &[2, 3, 5],
        ..OWN
    };
    a_workload_on_request_beside_another: Row {
        base: |repo| { repo.configure(GATED); repo.code("[WORKLOAD | parts]", "[WORKLOAD | parts, {\"id\": \"other\", \"version\": 1} | parts]"); },
        arrange: |repo| { repo.plant(); repo.code("\"version\": 1}\n", "\"version\": 1, \"on_request\": True}\n"); },
        line: "gate --base main",
        expect: &[3, 5],
        ..OWN
    };
    a_case_of_another_effort_beside_another: Row {
        base: |repo| { repo.configure(GATED); repo.code("\"cases\": [CASE]", "\"cases\": [CASE, {\"id\": \"n2\"}]"); },
        arrange: |repo| case_as(repo, "\"efforts\": [\"thorough\"]"),
        line: "gate --base main",
        expect: &[3, 5],
        ..OWN
    };
    a_variant_of_another_effort: Row {
        arrange: |repo| variant_as(repo, "\"role\": \"other\", \"efforts\": [\"thorough\"]"),
        line: "gate --base main",
        expect: &[3, 5],
        ..OWN
    };
    a_need_of_the_variant: Row { arrange: |repo| variant_as(repo, "\"role\": \"other\", \"needs\": [\"gpu\"]"), ..OWN };
    a_metric_of_the_harness_that_is_taken_over: Row {
        arrange: |repo| { repo.plant(); repo.code("\"id\": \"copies\"", "\"id\": \"wall-time\""); },
        expect: &[4, 5],
        ..OWN
    };
    a_direction_that_is_none: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"direction\": \"sideways\""),
        expect: &[5],
        ..OWN
    };
    a_workload_that_another_worker_has_too: Row {
        arrange: |repo| { repo.plant(); repo.code("[WORKLOAD | parts]", "[WORKLOAD | parts, WORKLOAD | {\"id\": \"new\"} | parts]"); },
        line: "gate --base main gated",
        ..OWN
    };
    the_role_of_the_slow_variant: Row { arrange: |repo| variant_as(repo, "\"role\": \"slow\""), ..REDEFINED };
    the_role_of_the_documented_variant: Row { arrange: |repo| variant_as(repo, "\"role\": \"documented\""), ..REDEFINED };
    a_direction_that_is_neutral: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"direction\": \"neutral\""),
        ..REDEFINED
    };
    a_direction_that_is_turned_round: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"direction\": \"higher\""),
        ..REDEFINED
    };
    a_kind_that_is_derived: Row { arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"derived\""), ..REDEFINED };
    a_kind_that_is_a_time: Row { arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"time\""), ..REDEFINED };
    a_kind_that_is_a_size: Row { arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"size\""), ..REDEFINED };
    a_metric_that_becomes_a_work_counter: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"work\": True"),
        expect: &[3, 5],
        ..REDEFINED
    };
    a_unit: Row { arrange: |repo| copies_as(repo, "\"unit\": \"bytes\", \"kind\": \"exact\""), ..APART };
    a_scope: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"scope\": \"sample\""),
        ..APART
    };
    a_version_of_a_metric: Row {
        arrange: |repo| copies_as(repo, "\"unit\": \"count\", \"kind\": \"exact\", \"version\": 2"),
        ..APART
    };
    an_expectation_of_a_crash: Row {
        arrange: |repo| {
            benchmark_as(repo, "\"expect\": \"crashed\"");
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        os._exit(7)\n");
        },
        expect: &[5],
        finds: &["redefined"],
        ..OWN
    };
    an_expectation_of_a_wrong_result: Row {
        arrange: |repo| {
            benchmark_as(repo, "\"expect\": \"wrong-result\"");
            repo.code("OFFSET = 0", "OFFSET = 1");
        },
        expect: &[5],
        ..OWN
    };
    a_benchmark_that_is_skipped: Row { arrange: |repo| benchmark_as(repo, "\"skip\": \"not today\""), expect: &[5], ..OWN };
    a_benchmark_that_is_skipped_where_undecided_passes: Row {
        arrange: |repo| {
            repo.code("STEPS = 10_000", "STEPS = 13_000");
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}]");
        },
        line: "gate --base main --fail-on regressed,failed",
        expect: &[5],
        ..OWN
    };
    all_benchmarks_that_are_skipped: Row {
        arrange: |repo| {
            benchmark_as(repo, "\"skip\": \"not today\"");
            repo.code("BENCHMARKS = [", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"before\", \"skip\": \"nor this\"}, ");
        },
        line: "gate --base main",
        expect: &[5],
        ..OWN
    };
    the_parameters_of_a_case: Row { arrange: |repo| case_as(repo, "\"params\": {\"n\": 7}"), ..APART };
    the_efforts_of_a_case_that_is_named: Row {
        arrange: |repo| case_as(repo, "\"efforts\": [\"thorough\"]"),
        expect: &[3, 5],
        ..REDEFINED
    };
    a_reference: Row { arrange: |repo| variant_as(repo, "\"role\": \"other\", \"reference\": \"work\""), expect: &[3, 5], ..REDEFINED };
    a_metric_that_is_dropped: Row {
        arrange: |repo| { repo.plant(); repo.code(COPIES, ""); },
        expect: &[4, 5],
        ..OWN
    };
    a_metric_that_is_renamed: Row {
        arrange: |repo| { repo.plant(); repo.code("\"id\": \"copies\"", "\"id\": \"duplicates\""); },
        expect: &[4, 5],
        ..OWN
    };
}
