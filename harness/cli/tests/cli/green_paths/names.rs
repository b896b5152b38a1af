//! Other names of the working copy, by which both versions would be it, and of the base, by which the change would be it.

use super::table::{GATED, OF_BUILD, ROW, Repo, Row, UNIX, WORKER};

/// The work comes from a module in a folder that only a search path names.
fn with_library(repo: &Repo) {
    repo.work_from("__import__('amount').FACTOR");
    repo.write("lib/amount.py", "FACTOR = 1\n");
}

fn change_library(repo: &Repo) {
    repo.write("lib/amount.py", "FACTOR = 2\n");
}

/// The work comes from a file in a folder that an environment variable names.
fn with_variable(repo: &Repo) {
    repo.work_from("int(open(os.environ['PROJECT'] + '/factor.txt').read())");
    repo.write("factor.txt", "1");
}

const IN_LIBRARY: Row = Row { base: with_library, arrange: change_library, ..ROW };

rows! {
    a_search_path_by_a_link_to_the_checkout: Row {
        base: |repo| { with_library(repo); repo.link("{repo}", "../other-name"); },
        env: &[("PYTHONPATH", "{above}/other-name/lib")],
        systems: UNIX,
        ..IN_LIBRARY
    };
    a_search_path_with_a_slash_too_many: Row { env: &[("PYTHONPATH", "{above}//repo/lib")], systems: UNIX, ..IN_LIBRARY };
    a_search_path_by_way_of_another_folder: Row { env: &[("PYTHONPATH", "{repo}/bench/../lib")], ..IN_LIBRARY };
    a_word_by_a_link_to_the_checkout: Row {
        base: |repo| {
            repo.link("{repo}", "../other-name");
            repo.configure("[[worker]]\ncommand = [\"sh\", \"-c\", \"exec python3 {above}/other-name/bench/my_worker.py\"]\n");
        },
        systems: UNIX,
        ..ROW
    };
    a_variable_that_names_the_checkout: Row {
        base: with_variable,
        arrange: |repo| repo.write("factor.txt", "2"),
        env: &[("PROJECT", "{repo}")],
        ..ROW
    };
    the_variable_of_the_folder_that_the_gate_is_started_in: Row {
        base: |repo| {
            repo.work_from("int(open(os.environ['PWD'] + '/factor.txt').read())");
            repo.write("factor.txt", "1");
        },
        arrange: |repo| repo.write("factor.txt", "2"),
        env: &[("PWD", "{repo}")],
        ..ROW
    };
    a_program_that_the_path_finds_in_the_checkout: Row {
        base: |repo| {
            repo.rename(WORKER, "bin/gated-worker");
            repo.make_executable("bin/gated-worker");
            repo.configure("[[worker]]\ncommand = [\"gated-worker\"]\n");
        },
        arrange: |repo| {
            repo.edit("bin/gated-worker", "STEPS = 10_000", "STEPS = 13_000");
            repo.edit("bin/gated-worker", "COPIES = 1", "COPIES = 2");
        },
        env: &[("PATH", "{repo}/bin:/usr/local/bin:/usr/bin:/bin")],
        systems: UNIX,
        ..ROW
    };
    a_committed_link_to_the_checkout: Row {
        base: |repo| {
            repo.work_from("(sys.path.insert(0, os.path.dirname(__file__) + '/lib'), __import__('amount').FACTOR)[1]");
            repo.write("lib/amount.py", "FACTOR = 1\n");
            repo.link("{repo}/lib", "bench/lib");
        },
        arrange: change_library,
        systems: UNIX,
        expect: &[2],
        says: &["bench/lib is a link"],
        ..ROW
    };
    a_link_to_the_program_of_the_base: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| {
            repo.remove(WORKER);
            repo.link("../../../base/tree/bench/my_worker.py", WORKER);
        },
        systems: UNIX,
        expect: &[2],
        says: &["is a link"],
        ..ROW
    };
    a_link_to_the_folder_of_the_base: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| {
            repo.remove(WORKER);
            repo.remove_folder("bench");
            repo.link("../../base/tree/bench", "bench");
        },
        systems: UNIX,
        expect: &[2],
        ..ROW
    };
    a_build_that_a_variable_leads_to_the_checkout: Row {
        base: |repo| repo.build_by("mkdir -p \"$CARGO_TARGET_DIR\"\ncp \"$PROJECT/bench/my_worker.py\" \"$CARGO_TARGET_DIR/my_worker\"\nchmod +x \"$CARGO_TARGET_DIR/my_worker\"\n"),
        env: &[("PROJECT", "{repo}")],
        ..OF_BUILD
    };
    a_build_from_the_repository_that_a_hook_names: Row {
        base: |repo| repo.build_by("mkdir -p \"$CARGO_TARGET_DIR\"\ngit show HEAD:bench/my_worker.py > \"$CARGO_TARGET_DIR/my_worker\"\nchmod +x \"$CARGO_TARGET_DIR/my_worker\"\n"),
        env: &[("GIT_DIR", "{repo}/.git")],
        ..OF_BUILD
    };
    a_hidden_change_of_a_file_with_an_umlaut: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.work_from("int(open(os.path.dirname(__file__) + '/bür.txt').read())");
            repo.write("bench/bür.txt", "1");
        },
        arrange: |repo| {
            repo.git(&["update-index", "--assume-unchanged", "bench/bür.txt"]);
            repo.write("bench/bür.txt", "2");
        },
        is_committed: false,
        expect: &[2],
        says: &["bür.txt"],
        ..ROW
    };
    a_nearer_configuration_than_that_above_the_repository: Row {
        base: |repo| {
            repo.remove("perfharness.toml");
            repo.write("../perfharness.toml", "[[worker]]\ncommand = [\"python3\", \"repo/bench/my_worker.py\"]\n");
        },
        arrange: |repo| {
            repo.plant();
            repo.configure("[[worker]]\ncommand = [\"python3\", \"bench/my_worker.py\"]\n[gate]\ntime = 10.0\n[[gate.limit]]\nbenchmark = \"*\"\nslack = 5\n");
        },
        expect: &[2, 4, 5],
        ..ROW
    };
    a_base_without_a_configuration: Row {
        base: |repo| repo.remove("perfharness.toml"),
        arrange: |repo| {
            repo.plant();
            repo.configure("[[worker]]\ncommand = [\"python3\", \"bench/my_worker.py\"]\n[gate]\ntime = 10.0\n[[gate.limit]]\nbenchmark = \"*\"\nslack = 5\n");
        },
        says: &["policy is the default"],
        ..ROW
    };
    a_metric_that_would_make_the_others_milder: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| {
            repo.plant();
            repo.code(
                "METRICS = [",
                "METRICS = [{\"id\": \"gpu-busy\", \"unit\": \"ns\", \"kind\": \"time\"}, ",
            );
        },
        ..ROW
    };
}
