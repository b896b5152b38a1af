//! Accepted figures that are not there, are of other things or say nothing: ways to be judged by nothing.

use super::table::{ROW, Repo, Row, WORKER};

/// A gate against accepted figures.
const STORED: Row = Row { base: Repo::accept, line: "gate gated/n1", ..ROW };

fn baseline_edit(repo: &Repo, from: &str, to: &str) {
    repo.plant();
    let name = repo.baseline();
    repo.edit(&name, from, to);
}

rows! {
    no_accepted_figures: Row { base: |_| {}, expect: &[2], says: &["baseline accept"], ..STORED };
    accepted_figures_in_an_empty_file: Row {
        arrange: |repo| { repo.plant(); repo.write(&repo.baseline(), ""); },
        expect: &[2],
        says: &["damaged"],
        ..STORED
    };
    accepted_figures_without_a_benchmark: Row {
        arrange: |repo| {
            repo.plant();
            let name = repo.baseline();
            let lines: Vec<String> = repo.read(&name).lines().filter(|l| !l.contains("gated/n1")).map(str::to_owned).collect();
            repo.write(&name, &lines.join("\n"));
        },
        expect: &[2],
        says: &["damaged"],
        ..STORED
    };
    accepted_figures_that_somebody_edited: Row {
        arrange: |repo| baseline_edit(repo, "\"values\":[1", "\"values\":[2"),
        expect: &[2],
        says: &["damaged"],
        ..STORED
    };
    accepted_figures_of_another_class: Row {
        arrange: |repo| { repo.plant(); repo.configure_also("[machine]\nclass = \"elsewhere\"\n"); },
        expect: &[3, 4],
        ..STORED
    };
    accepted_figures_of_another_seed: Row { line: "gate gated/n1 --seed 7", expect: &[2], says: &["another seed"], ..STORED };
    accepted_figures_in_another_folder: Row { line: "gate gated/n1 --baselines elsewhere", expect: &[2], says: &["elsewhere"], ..STORED };
    accepted_figures_in_a_file_with_another_name: Row {
        arrange: |repo| { repo.plant(); repo.rename(&repo.baseline(), "baselines/other.json"); },
        expect: &[2, 3],
        ..STORED
    };
    accepted_figures_and_a_benchmark_that_is_removed: Row {
        arrange: |repo| { repo.plant(); repo.code(", {\"id\": \"work\", \"role\": \"other\"}", ""); },
        expect: &[5],
        finds: &["missing"],
        ..STORED
    };
    accepted_figures_and_a_benchmark_that_fails: Row {
        arrange: |repo| { repo.plant(); repo.code("OFFSET = 0", "OFFSET = 1"); },
        expect: &[5],
        ..STORED
    };
    accepted_figures_and_a_worker_that_is_removed: Row { arrange: |repo| repo.remove(WORKER), expect: &[5], ..STORED };
    accepted_figures_and_a_metric_that_is_dropped: Row {
        arrange: |repo| { repo.plant(); repo.code("{\"id\": \"copies\", \"unit\": \"count\", \"kind\": \"exact\"}", ""); },
        expect: &[4, 5],
        ..STORED
    };
    accepted_figures_and_another_version: Row {
        arrange: |repo| { repo.plant(); repo.code("\"version\": 1}", "\"version\": 2}"); },
        expect: &[3, 4],
        ..STORED
    };
    no_worker_here: Row { arrange: |repo| { repo.plant(); repo.remove("perfharness.toml"); }, expect: &[2, 5], ..STORED };
    a_record_that_is_judged_again: Row {
        base: |_| {},
        arrange: |repo| {
            repo.configure("[gate]\nworker = [\"python3\", \"bench/my_worker.py\"]\n");
            repo.commit("the base's own");
            repo.git(&["branch", "--force", "main"]);
            repo.plant();
            repo.commit("the change");
            repo.call(&Row { line: "gate --base main gated/n1/work", ..ROW }).done().code(3);
        },
        line: "gate {above}/out/run.json",
        ..STORED
    };
    a_record_that_is_cut_off: Row {
        arrange: |repo| {
            let accepted = repo.harness.path("accepted.json");
            let text = std::fs::read_to_string(&accepted).unwrap();
            std::fs::write(&accepted, &text[..text.len() / 2]).unwrap();
        },
        line: "gate {above}/accepted.json",
        expect: &[2],
        says: &["accepted.json"],
        ..STORED
    };
    a_record_that_is_not_there: Row { line: "gate nowhere.json", expect: &[2], says: &["nowhere.json"], ..STORED };
    a_record_against_no_figures: Row {
        arrange: |repo| repo.remove(&repo.baseline()),
        line: "gate {above}/accepted.json",
        expect: &[2],
        says: &["baseline accept"],
        ..STORED
    };
    two_records_that_differ: Row {
        arrange: |repo| {
            repo.plant();
            repo.call(&Row { line: "run gated --launches 1 --no-telemetry --output {above}/planted.json", ..ROW }).done().code(0);
        },
        line: "compare {above}/accepted.json {above}/planted.json",
        ..STORED
    };
    accepted_figures_and_an_expectation_of_a_crash: Row {
        arrange: |repo| {
            repo.plant();
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"expect\": \"crashed\"}]");
            repo.code("    if op == \"prepare\":\n", "    if op == \"prepare\":\n        if request[\"benchmark\"].endswith(\"work\"):\n            os._exit(7)\n");
            repo.code("COPIES = 2", "COPIES = 1");
        },
        expect: &[4, 5],
        ..STORED
    };
    accepted_figures_and_a_kind_that_is_derived: Row {
        arrange: |repo| { repo.plant(); repo.code("\"kind\": \"exact\"", "\"kind\": \"derived\""); },
        expect: &[3, 4],
        ..STORED
    };
}

rows! {
    /// The definition of the judged side applies to figures, although they were accepted with another one.
    accepted_figures_and_a_direction_that_is_neutral: Row {
        arrange: |repo| { repo.plant(); repo.code("\"kind\": \"exact\"}", "\"kind\": \"exact\", \"direction\": \"neutral\"}"); },
        expect: &[3, 4],
        ..STORED
    };
    /// The same.
    accepted_figures_and_a_direction_that_is_turned_round: Row {
        arrange: |repo| { repo.plant(); repo.code("\"kind\": \"exact\"}", "\"kind\": \"exact\", \"direction\": \"higher\"}"); },
        expect: &[3, 4],
        ..STORED
    };
    /// A benchmark that has figures is skipped.
    accepted_figures_and_a_benchmark_that_is_skipped: Row {
        arrange: |repo| {
            repo.code("STEPS = 10_000", "STEPS = 13_000");
            repo.code("BENCHMARKS = []", "BENCHMARKS = [{\"case\": \"n1\", \"variant\": \"work\", \"skip\": \"not today\"}]");
        },
        line: "gate gated/n1 --fail-on regressed,failed",
        expect: &[4, 5],
        ..STORED
    };
}
