//! The base is the commit that the change began from, and the head is what is here: ways to compare other code.

use super::table::{GATED, ROW, Repo, Row, UNIX, WORKER};

/// A worker that takes how much it does from a module, if that is there; started so that each side uses its own.
fn with_module(repo: &Repo) {
    repo.configure(GATED);
    repo.work_from(
        "__import__('amount').FACTOR if os.path.exists(os.path.dirname(__file__) + '/amount.py') else 1",
    );
}

const OWN: Row = Row { base: |repo| repo.configure(GATED), ..ROW };

rows! {
    a_change_that_is_not_committed: Row { is_committed: false, ..OWN };
    a_change_on_the_base_itself: Row { is_committed: false, line: "gate --base HEAD gated/n1/work", ..OWN };
    a_new_file_that_is_only_staged: Row {
        base: with_module,
        arrange: |repo| { repo.write("bench/amount.py", "FACTOR = 2\n"); repo.git(&["add", "--all"]); },
        is_committed: false,
        ..ROW
    };
    a_head_that_is_no_branch: Row {
        arrange: |repo| { repo.plant(); repo.commit("the change"); repo.git(&["checkout", "--quiet", "--detach"]); },
        ..OWN
    };
    a_base_that_went_on: Row {
        arrange: |repo| {
            repo.plant();
            repo.commit("the change");
            repo.git(&["checkout", "--quiet", "main"]);
            repo.write("notes.txt", "more");
            repo.commit("something else");
            repo.git(&["checkout", "--quiet", "change"]);
        },
        ..OWN
    };
    a_base_that_went_on_with_the_same_change: Row {
        arrange: |repo| {
            repo.plant();
            repo.commit("the change");
            repo.git(&["checkout", "--quiet", "main"]);
            repo.plant();
            repo.commit("the same by another");
            repo.git(&["checkout", "--quiet", "change"]);
        },
        ..OWN
    };
    a_base_with_another_history: Row {
        arrange: |repo| {
            repo.plant();
            repo.commit("the change");
            repo.git(&["checkout", "--quiet", "--orphan", "elsewhere"]);
            repo.commit("the first");
            repo.git(&["checkout", "--quiet", "change"]);
        },
        line: "gate --base elsewhere gated/n1/work",
        expect: &[2],
        says: &["no commit in common"],
        ..OWN
    };
    a_base_that_is_no_commit: Row { line: "gate --base nowhere gated/n1/work", expect: &[2], says: &["git fetch"], ..OWN };
    a_base_that_is_an_option_of_git: Row { line: "gate --base=--all gated/n1/work", expect: &[2], ..OWN };
    a_clone_without_history: Row {
        arrange: |repo| {
            repo.plant();
            repo.commit("the change");
            repo.git(&["clone", "--quiet", "--depth", "1", "--no-single-branch", "file://{repo}", "shallow"]);
            repo.write(".git/info/exclude", "shallow\n");
        },
        line: "gate --base origin/main gated/n1/work",
        within: "shallow",
        systems: UNIX,
        expect: &[2],
        says: &["fetch-depth: 0"],
        ..OWN
    };
    no_repository: Row {
        arrange: |repo| { repo.plant(); repo.rename(".git", "no-git"); },
        is_committed: false,
        expect: &[2],
        says: &["not in a git repository"],
        ..OWN
    };
    a_worker_that_is_ignored: Row {
        arrange: |repo| {
            repo.plant();
            repo.write(".gitignore", "/target\n__pycache__\n/bench\n");
            repo.git(&["rm", "--quiet", "-r", "--cached", "bench"]);
            repo.git(&["commit", "--quiet", "--all", "--message", "the change"]);
        },
        is_committed: false,
        expect: &[2, 3, 4, 5],
        ..OWN
    };
}

rows! {
    /// No commit contains the file, so that the base is measured against itself; only a warning says so.
    a_new_file_that_git_does_not_know: Row {
        base: with_module,
        arrange: |repo| repo.write("bench/amount.py", "FACTOR = 2\n"),
        is_committed: false,
        expect: &[2, 3, 4],
        says: &["untracked"],
        ..ROW
    };
    /// A tag comes before a branch of the same name, and this one stands for the change.
    a_tag_with_the_name_of_the_base: Row {
        arrange: |repo| { repo.plant(); repo.commit("the change"); repo.git(&["tag", "main"]); },
        expect: &[2, 3],
        ..OWN
    };
    /// Git is configured to ignore changes of the file.
    a_changed_file_that_git_is_told_to_ignore: Row {
        arrange: |repo| { repo.git(&["update-index", "--assume-unchanged", WORKER]); repo.plant(); },
        is_committed: false,
        expect: &[2, 3, 4],
        ..OWN
    };
}
