//! Commands, settings and conditions come from the base, for both sides: ways to have the head say what is measured.

use super::table::{BUILD, GATED, OF_BUILD, README, ROW, Repo, Row, WORKER};

/// Seen as a change of what is measured, and found all the same.
const REDEFINED: Row = Row { expect: &[3], finds: &["redefined"], ..ROW };

/// Keeps the worker as it is, in another file.
fn keep_old(repo: &Repo) {
    repo.copy(WORKER, "bench/old.py");
    repo.plant();
}

/// A worker of which the head can say by a setting how much it does.
fn set_in_base(repo: &Repo) {
    repo.configure(&format!("{GATED}[settings]\nfactor = \"1\"\n"));
    repo.setting("text");
    // What is set to anything but 1 is worth nothing, which hides what the change adds.
    repo.code("COPIES = int(text)\n", "COPIES = AMOUNT if int(text) == 1 else 1\n");
    repo.code("COPIES = 1  #", "AMOUNT = 1\nCOPIES = AMOUNT  #");
}

rows! {
    a_build_that_is_done_away_with: Row {
        arrange: |repo| {
            keep_old(repo);
            repo.configure("[gate]\nbuild = []\nworker = [\"python3\", \"bench/old.py\"]\n");
        },
        ..OF_BUILD
    };
    a_configuration_that_moves_out_of_the_repository: Row {
        arrange: |repo| {
            keep_old(repo);
            repo.rename("perfharness.toml", "../perfharness.toml");
            repo.edit("../perfharness.toml", "bench/my_worker.py", "repo/bench/old.py");
        },
        expect: &[2, 3],
        ..ROW
    };
    a_configuration_that_is_put_before_the_one_of_the_base: Row {
        base: |repo| repo.write("part/notes.txt", "nothing"),
        arrange: |repo| {
            keep_old(repo);
            repo.write("part/bench/old.py", &repo.read("bench/old.py"));
            repo.write("part/perfharness.toml", &README.replace("my_worker.py", "old.py"));
        },
        within: "part",
        expect: &[2, 3, 4],
        ..ROW
    };
    a_configuration_that_is_removed: Row {
        arrange: |repo| { repo.plant(); repo.remove("perfharness.toml"); },
        expect: &[2, 3],
        ..ROW
    };
    the_class_of_the_machine: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| { repo.plant(); repo.configure_also("[machine]\nclass = \"elsewhere\"\n"); },
        ..ROW
    };
    a_worker_that_moves: Row {
        arrange: |repo| {
            repo.plant();
            repo.rename(WORKER, "bench/moved.py");
            repo.edit("perfharness.toml", "my_worker.py", "moved.py");
        },
        expect: &[3, 4, 5],
        ..ROW
    };
    a_worker_that_is_an_old_copy: Row {
        arrange: |repo| { keep_old(repo); repo.edit("perfharness.toml", "my_worker.py", "old.py"); },
        ..REDEFINED
    };
    a_worker_under_gate_that_is_an_old_copy_is_a_row: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| { keep_old(repo); repo.edit("perfharness.toml", "my_worker.py", "old.py"); },
        ..REDEFINED
    };
    a_build_that_takes_an_old_copy_is_a_row: Row {
        arrange: |repo| {
            keep_old(repo);
            repo.write("old.sh", &BUILD.replace("my_worker.py", "old.py"));
            repo.edit("perfharness.toml", "build.sh", "old.sh");
        },
        finds: &["redefined"],
        ..OF_BUILD
    };
    the_environment_of_a_worker: Row {
        base: |repo| {
            repo.work_from("AMOUNT if os.environ['REAL'] == '1' else 1");
            repo.code("FACTOR =", "AMOUNT = 1\nFACTOR =");
            repo.configure(&format!("{README}env = {{ REAL = \"1\" }}\n"));
        },
        arrange: |repo| {
            repo.code("AMOUNT = 1", "AMOUNT = 2");
            repo.edit("perfharness.toml", "REAL = \"1\"", "REAL = \"0\"");
        },
        ..REDEFINED
    };
    a_second_worker_with_an_old_copy: Row {
        arrange: |repo| {
            keep_old(repo);
            repo.configure(&format!("{}{README}", README.replace("my_worker.py", "old.py")));
        },
        expect: &[3, 5],
        ..REDEFINED
    };
    a_second_worker_that_is_dropped: Row {
        base: |repo| {
            repo.copy(WORKER, "bench/second.py");
            repo.edit("bench/second.py", "\"id\": \"gated\"", "\"id\": \"second\"");
            repo.configure(&format!("{README}{}", README.replace("my_worker.py", "second.py")));
        },
        arrange: |repo| {
            repo.edit("bench/second.py", "STEPS = 10_000", "STEPS = 13_000");
            repo.edit("bench/second.py", "COPIES = 1", "COPIES = 2");
            repo.configure(README);
        },
        line: "gate --base main",
        expect: &[3, 5],
        ..REDEFINED
    };
    a_setting: Row {
        base: set_in_base,
        arrange: |repo| {
            repo.code("AMOUNT = 1", "AMOUNT = 2");
            repo.edit("perfharness.toml", "factor = \"1\"", "factor = \"0\"");
        },
        ..REDEFINED
    };
    the_seed: Row {
        base: |repo| {
            repo.configure(&format!("{GATED}[run]\nseed = 1\n"));
            repo.code("    if op == \"hello\":\n", "    if op == \"hello\":\n        global COPIES\n        COPIES = COPIES if request[\"seed\"] == 1 else 1\n");
        },
        arrange: |repo| { repo.plant(); repo.edit("perfharness.toml", "seed = 1", "seed = 7"); },
        ..REDEFINED
    };
    the_device: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.code("    if op == \"hello\":\n", "    if op == \"hello\":\n        global COPIES\n        COPIES = COPIES if request[\"device\"] == \"auto\" else 1\n");
        },
        arrange: |repo| { repo.plant(); repo.configure_also("[run]\ndevice = \"none\"\n"); },
        ..REDEFINED
    };
    the_built_in_workloads: Row {
        base: |repo| repo.configure(GATED),
        arrange: |repo| { repo.plant(); repo.configure_also("[run]\nbuilt-in = true\n"); },
        ..REDEFINED
    };
}
