//! What the table stands on: the planted change is found where nothing hides it, and nothing is found where nothing was
//! planted. A time of one launch stays open, so that 4 is as good as 0 there.

use super::table::{OF_BUILD, ROW, Repo, Row, WORKER};

/// Another program that does the same.
fn reword(repo: &Repo) {
    repo.code("of a loop that nobody needs", "of a loop that somebody may need");
}

const UNCHANGED: Row = Row { arrange: reword, expect: &[0, 4], finds: &["unchanged"], ..ROW };

rows! {
    a_planted_change_of_a_built_worker_is_found: OF_BUILD;
    a_planted_change_against_another_worker_is_found: Row {
        arrange: |repo| { repo.copy(WORKER, "old/worker.py"); repo.plant(); },
        line: "gate gated/n1/work --base-worker 'python3 old/worker.py' --worker 'python3 bench/my_worker.py'",
        ..ROW
    };
    a_planted_change_against_accepted_figures_is_found: Row {
        base: Repo::accept,
        line: "gate gated/n1",
        ..ROW
    };
    nothing_is_found_in_another_wording: UNCHANGED;
    nothing_is_found_in_another_wording_of_a_built_worker: Row { base: OF_BUILD.base, systems: OF_BUILD.systems, ..UNCHANGED };
    nothing_is_found_in_another_wording_against_another_worker: Row {
        arrange: |repo| { repo.copy(WORKER, "old/worker.py"); reword(repo); },
        line: "gate gated/n1/work --base-worker 'python3 old/worker.py' --worker 'python3 bench/my_worker.py'",
        ..UNCHANGED
    };
    nothing_is_found_against_the_figures_accepted_before: Row {
        base: Repo::accept,
        line: "gate gated/n1",
        ..UNCHANGED
    };
    nothing_is_found_in_a_file_that_no_worker_loads: Row {
        arrange: |repo| repo.write("notes.txt", "nothing"),
        finds: &[],
        ..UNCHANGED
    };
    nothing_is_found_in_a_build_of_the_same: Row {
        base: OF_BUILD.base,
        systems: OF_BUILD.systems,
        arrange: |repo| repo.write("notes.txt", "nothing"),
        finds: &[],
        ..UNCHANGED
    };
    a_planted_change_in_the_configuration_of_the_readme_is_found: ROW;
    a_planted_change_is_found_among_all_benchmarks: Row { line: "gate --base main", ..ROW };
}
