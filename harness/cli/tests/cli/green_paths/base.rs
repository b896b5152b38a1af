//! Benchmarks in the plan of the base that could not be compared are open: ways to lose the base.

use super::table::{GATED, ROW, Repo, Row, WORKER};

/// A fix of the base that accompanies the planted slowdown.
fn mend(repo: &Repo, broken: &str) {
    repo.code(broken, "");
    repo.plant();
}

/// A base that is broken in the code that a benchmark runs.
fn broken_in_work(repo: &Repo, python: &str) {
    repo.configure(GATED);
    repo.code("    for _ in range(COPIES):", &format!("{python}    for _ in range(COPIES):"));
}

/// A base that is broken when it starts.
fn broken_at_start(repo: &Repo, python: &str) {
    repo.configure(GATED);
    repo.code("PAGE = bytes(4096)\n", &format!("{python}PAGE = bytes(4096)\n"));
}

const CRASH: &str = "    sys.exit(7)\n";
const HANG: &str = "time.sleep(600)\n";
const GARBAGE: &str = "print('{\\\"perfharness\\\":oops'); sys.exit(0)\n";

const OPEN: Row = Row { expect: &[4], ..ROW };

rows! {
    a_base_that_crashes_in_the_only_benchmark: Row {
        base: |repo| broken_in_work(repo, CRASH),
        arrange: |repo| { repo.code(CRASH, ""); repo.plant(); },
        ..OPEN
    };
    a_base_that_gives_a_wrong_result: Row {
        base: |repo| { repo.configure(GATED); repo.code("OFFSET = 0", "OFFSET = 1"); },
        arrange: |repo| { repo.code("OFFSET = 1", "OFFSET = 0"); repo.plant(); },
        ..OPEN
    };
    a_base_that_ends_when_it_is_prepared: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        raise SystemExit(1)\n");
        },
        arrange: |repo| { repo.code("        raise SystemExit(1)\n", ""); repo.plant(); },
        ..OPEN
    };
    a_base_whose_only_worker_ends_at_once: Row {
        base: |repo| broken_at_start(repo, "sys.exit(0)\n"),
        arrange: |repo| mend(repo, "sys.exit(0)\n"),
        expect: &[4, 5],
        ..OPEN
    };
    a_base_whose_only_worker_prints_garbage: Row {
        base: |repo| broken_at_start(repo, GARBAGE),
        arrange: |repo| mend(repo, GARBAGE),
        expect: &[4, 5],
        ..OPEN
    };
    a_base_whose_only_worker_hangs: Row {
        base: |repo| broken_at_start(repo, HANG),
        arrange: |repo| mend(repo, HANG),
        line: "gate --base main gated/n1/work --timeout 1s",
        expect: &[4, 5],
        ..OPEN
    };
    a_base_worker_that_is_not_there: Row {
        line: "gate gated/n1/work --base-worker 'python3 old/worker.py' --worker 'python3 bench/my_worker.py'",
        expect: &[2, 4, 5],
        ..ROW
    };
    a_base_that_skips_the_only_benchmark: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}]");
        },
        arrange: |repo| {
            repo.code("{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}", "");
            repo.plant();
        },
        ..OPEN
    };
    a_base_without_any_worker: Row {
        base: |repo| repo.remove("perfharness.toml"),
        arrange: |repo| { repo.configure(GATED); repo.plant(); },
        expect: &[2, 3, 4],
        ..ROW
    };
    a_base_that_crashes_in_one_of_the_benchmarks: Row {
        base: |repo| apart(repo, "        sys.exit(7)\n"),
        arrange: |repo| { repo.code("        sys.exit(7)\n", "        pass\n"); repo.plant(); },
        says: &["gated/n1/work", "base"],
        ..ALL
    };
    a_base_that_crashes_in_its_second_launch: Row {
        base: |repo| apart(repo, "        sys.exit(7) if launch() > 1 else None\n"),
        arrange: |repo| { repo.code("        sys.exit(7) if launch() > 1 else None\n", "        pass\n"); repo.plant(); },
        line: "gate --base main --launches 2",
        expect: &[3, 4],
        says: &["gated/n1/work", "base"],
        ..ALL
    };
    a_second_worker_that_fails_on_the_side_of_the_base: Row {
        base: |repo| second_worker(repo, "sys.exit(7)\n"),
        arrange: |repo| mend_second(repo, "sys.exit(7)\n"),
        line: "gate --base main gated/n1/before second/n1/work",
        says: &["second"],
        ..ALL
    };
    a_second_worker_that_only_the_head_has: Row {
        base: |repo| { second_worker(repo, ""); repo.rename("bench/second.py", "elsewhere.py"); },
        arrange: |repo| { repo.rename("elsewhere.py", "bench/second.py"); mend_second(repo, ""); },
        line: "gate --base main gated/n1/before second/n1/work",
        expect: &[2, 4],
        says: &["second"],
        ..ALL
    };
    a_base_without_the_worker: Row {
        base: |repo| { repo.configure(GATED); repo.rename(WORKER, "elsewhere.py"); },
        arrange: |repo| { repo.rename("elsewhere.py", WORKER); repo.plant(); },
        expect: &[2, 4],
        ..OPEN
    };
}

/// A worker whose benchmark `work` is its own affair.
fn apart(repo: &Repo, python: &str) {
    repo.configure(GATED);
    repo.code(
        "    for _ in range(COPIES):",
        &format!("    if working:\n{python}    for _ in range(COPIES if working else 1):"),
    );
    repo.code("copied = 0\n", "copied, working = 0, False\n");
    repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        global working\n        working = request[\"benchmark\"].endswith(\"work\")\n");
}

fn second_worker(repo: &Repo, broken: &str) {
    repo.configure("[[worker]]\ncommand = [\"python3\", \"bench/my_worker.py\"]\n[[worker]]\ncommand = [\"python3\", \"bench/second.py\"]\n");
    repo.copy(WORKER, "bench/second.py");
    repo.edit("bench/second.py", "\"id\": \"gated\"", "\"id\": \"second\"");
    repo.edit("bench/second.py", "PAGE = bytes(4096)\n", &format!("{broken}PAGE = bytes(4096)\n"));
}

fn mend_second(repo: &Repo, broken: &str) {
    if !broken.is_empty() {
        repo.edit("bench/second.py", broken, "");
    }
    repo.edit("bench/second.py", "STEPS = 10_000", "STEPS = 13_000");
    repo.edit("bench/second.py", "COPIES = 1", "COPIES = 2");
}

const ALL: Row = Row { line: "gate --base main", expect: &[4], ..ROW };
