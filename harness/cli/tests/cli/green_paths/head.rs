//! A benchmark of the base that the change drops or breaks is a failure: ways to lose the judged side.

use super::table::{GATED, ROW, Repo, Row, UNIX, WORKER};

const FAILS: Row = Row { base: |repo| repo.configure(GATED), line: "gate --base main", expect: &[5], ..ROW };

const BEFORE_PAGE: &str = "PAGE = bytes(4096)\n";

/// A change that plants, and does something else when the worker starts.
fn at_start(repo: &Repo, python: &str) {
    repo.plant();
    repo.code(BEFORE_PAGE, &format!("{python}{BEFORE_PAGE}"));
}

/// A change that plants, and does something else before a request is answered.
fn at(repo: &Repo, op: &str, python: &str) {
    repo.plant();
    repo.code(
        "    op = request[\"op\"]\n",
        &format!("    op = request[\"op\"]\n    if op == \"{op}\":\n        {python}\n"),
    );
}

rows! {
    a_benchmark_that_is_removed: Row {
        arrange: |repo| { repo.plant(); repo.code(", {\"id\": \"work\", \"role\": \"other\"}", ""); },
        finds: &["missing"],
        ..FAILS
    };
    a_benchmark_that_is_renamed: Row {
        arrange: |repo| { repo.plant(); repo.code("\"id\": \"work\"", "\"id\": \"task\""); },
        finds: &["renamed"],
        ..FAILS
    };
    a_case_that_is_renamed: Row {
        arrange: |repo| { repo.plant(); repo.code("\"id\": \"n1\"", "\"id\": \"n2\""); },
        finds: &["failed"],
        ..FAILS
    };
    a_workload_that_is_renamed: Row {
        arrange: |repo| { repo.plant(); repo.code("\"id\": \"gated\"", "\"id\": \"other\""); },
        finds: &["failed"],
        ..FAILS
    };
    a_workload_that_is_gone: Row {
        arrange: |repo| { repo.plant(); repo.code("[WORKLOAD | parts]", "[]"); },
        ..FAILS
    };
    a_workload_that_is_there_twice: Row {
        arrange: |repo| { repo.plant(); repo.code("[WORKLOAD | parts]", "[WORKLOAD | parts, WORKLOAD | parts]"); },
        ..FAILS
    };
    a_worker_that_is_removed: Row { arrange: |repo| repo.remove(WORKER), ..FAILS };
    a_worker_that_ends_at_once: Row { arrange: |repo| at_start(repo, "sys.exit(0)\n"), ..FAILS };
    a_worker_that_is_no_python: Row { arrange: |repo| at_start(repo, "this is no python\n"), ..FAILS };
    a_worker_that_prints_garbage: Row {
        arrange: |repo| at_start(repo, "print('{\"perfharness\":oops'); sys.stdout.flush()\n"),
        ..FAILS
    };
    a_worker_that_hangs_when_it_is_asked_what_it_has: Row {
        arrange: |repo| at(repo, "describe", "time.sleep(600)"),
        line: "gate --base main --timeout 1s",
        ..FAILS
    };
    a_worker_that_describes_nonsense: Row {
        arrange: |repo| { repo.plant(); repo.code("{\"workloads\": [WORKLOAD | parts]}", "{\"workloads\": 7}"); },
        ..FAILS
    };
    a_worker_of_another_protocol: Row {
        arrange: |repo| { repo.plant(); repo.code("{\"protocol\": 1", "{\"protocol\": 2"); },
        ..FAILS
    };
    a_head_that_crashes: Row { arrange: |repo| at(repo, "sample", "os._exit(7)"), finds: &["failed"], ..FAILS };
    a_head_that_crashes_in_its_second_launch: Row {
        arrange: |repo| at(repo, "prepare", "os._exit(7) if launch() > 1 else None"),
        line: "gate --base main gated/n1/work --launches 2",
        finds: &["failed"],
        ..FAILS
    };
    a_head_that_hangs_when_it_is_measured: Row {
        arrange: |repo| at(repo, "sample", "time.sleep(600)"),
        line: "gate --base main gated/n1/work --timeout 1s",
        finds: &["failed"],
        ..FAILS
    };
    a_head_that_raises: Row { arrange: |repo| at(repo, "sample", "raise ValueError('planted')"), finds: &["failed"], ..FAILS };
    a_head_that_ends_itself_kindly: Row { arrange: |repo| at(repo, "sample", "sys.exit(0)"), finds: &["failed"], ..FAILS };
    a_head_with_a_wrong_result: Row {
        arrange: |repo| { repo.plant(); repo.code("OFFSET = 0", "OFFSET = 1"); },
        finds: &["failed"],
        ..FAILS
    };
    a_head_that_gives_the_check_what_it_wants: Row {
        arrange: |repo| {
            repo.plant();
            repo.code("place[0] = iteration(start)", "place[0] = start * start");
            repo.code("OFFSET = 0", "OFFSET = 1");
        },
        finds: &["failed"],
        ..FAILS
    };
    a_head_that_works_on_another_input: Row {
        arrange: |repo| { repo.plant(); repo.code("return round * 1_000_003 + index", "return 7"); },
        expect: &[3, 5],
        ..FAILS
    };
    a_head_that_counts_nonsense: Row {
        arrange: |repo| { repo.plant(); repo.code("metric[\"id\"]: copied for", "metric[\"id\"]: \"NaN\" for"); },
        line: "gate --base main gated/n1/work",
        expect: &[4, 5],
        ..FAILS
    };
    a_head_that_does_not_count_any_more: Row {
        arrange: |repo| { repo.plant(); repo.code("metric[\"id\"]: copied for", "metric[\"id\"]: {\"absent\": \"too dear\"} for"); },
        line: "gate --base main gated/n1/work",
        expect: &[4, 5],
        ..FAILS
    };
    a_head_that_forgets_to_count: Row {
        arrange: |repo| { repo.plant(); repo.code("if mode == \"metered\" else {}", "if mode == \"other\" else {}"); },
        line: "gate --base main gated/n1/work",
        expect: &[4, 5],
        ..FAILS
    };
    a_head_without_metered_samples: Row {
        arrange: |repo| { repo.plant(); repo.code("[\"timed\", \"metered\"]", "[\"timed\"]"); },
        line: "gate --base main gated/n1/work",
        expect: &[4, 5],
        ..FAILS
    };
    a_head_that_leaves_no_sample: Row { arrange: |repo| at(repo, "sample", "return {}"), finds: &["failed"], ..FAILS };
    a_head_that_takes_no_time: Row {
        arrange: |repo| { repo.plant(); repo.code("\"wall_ns\": wall", "\"wall_ns\": 0"); },
        expect: &[3, 4, 5],
        ..FAILS
    };
    a_head_that_is_slow_to_start: Row {
        arrange: |repo| at(repo, "hello", "time.sleep(600)"),
        line: "gate --base main gated/n1/work --timeout 1s",
        ..FAILS
    };
    a_program_that_may_not_be_started: Row {
        base: |repo| {
            repo.make_executable(WORKER);
            repo.configure("[gate]\nworker = [\"bench/my_worker.py\"]\n");
        },
        arrange: |repo| {
            repo.plant();
            repo.set_mode(WORKER, "-x");
        },
        systems: UNIX,
        ..FAILS
    };
    a_head_that_says_that_it_is_unavailable: Row {
        arrange: |repo| {
            repo.plant();
            repo.code("frame[\"error\"] = {\"code\": \"failed\"", "frame[\"error\"] = {\"code\": \"unavailable\"");
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        raise ValueError('no such thing here')\n");
        },
        ..FAILS
    };
    a_head_that_says_that_one_benchmark_is_unavailable: Row {
        arrange: |repo| {
            repo.code("frame[\"error\"] = {\"code\": \"failed\"", "frame[\"error\"] = {\"code\": \"unavailable\"");
            repo.code("    if op == \"prepare\":\n",
                "    if op == \"prepare\":\n        if request[\"benchmark\"].endswith(\"work\"):\n            raise ValueError('no such thing here')\n");
        },
        line: "gate --base main --fail-on regressed,failed",
        ..FAILS
    };
}
