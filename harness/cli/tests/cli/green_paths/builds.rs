//! Each side measures what was built from it, completely: ways to confuse two builds.

use super::table::{BUILD, OF_BUILD, ROW, Repo, Row, UNIX, WORKER};

/// A build that makes a data file beside the program.
const WITH_DATA: &str = "cp bench/factor.txt \"$CARGO_TARGET_DIR/factor.txt\"\n";

fn reads_data_of_target(repo: &Repo, script: &str) {
    repo.build_by(script);
    repo.work_from("int(open(os.path.join(os.path.dirname(__file__), 'factor.txt')).read())");
    repo.write("bench/factor.txt", "1");
}

/// A Cargo package whose program is the Python worker, with what it does more by a flag of the compiler.
fn cargo_package(repo: &Repo, manifest: &str) {
    repo.write(
        "Cargo.toml",
        &format!("[package]\nname = \"gated\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{manifest}"),
    );
    repo.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"gated\"\nversion = \"0.1.0\"\n");
    repo.write("src/main.rs", MAIN);
    repo.work_from("int(sys.argv[1])");
    repo.configure("[gate]\nworker = [\"{target}/release/gated\"]\n");
}

const MAIN: &str = "\
#![allow(unexpected_cfgs)]
use std::process::Command;
fn main() {
    let factor = if cfg!(planted) { \"2\" } else { \"1\" };
    let worker = Command::new(\"python3\").args([\"-c\", include_str!(\"../bench/my_worker.py\"), factor]).status();
    std::process::exit(worker.ok().and_then(|status| status.code()).unwrap_or(1));
}
";

const CARGO: &[&[&str]] = &[&["cargo", "--version"]];

const LIBRARY: Row = Row {
    base: |repo| {
        repo.work_from("int(os.environ['FACTOR'])");
        repo.write("factor.c", "const char *factor(void) { return \"1\"; }\n");
        repo.write("main.c", MAIN_OF_C);
        repo.build_by(BUILD_OF_C);
    },
    arrange: |repo| repo.edit("factor.c", "\"1\"", "\"2\""),
    systems: UNIX,
    tools: &[&["cc", "--version"], &["sh", "-c", ":"]],
    ..ROW
};

const MAIN_OF_C: &str = "\
#include <stdlib.h>
#include <unistd.h>
const char *factor(void);
int main(void) {
    setenv(\"FACTOR\", factor(), 1);
    return execlp(\"python3\", \"python3\", \"bench/my_worker.py\", (char *)0);
}
";

const BUILD_OF_C: &str = "\
set -e
mkdir -p \"$CARGO_TARGET_DIR\"
cc -shared -fPIC -o \"$CARGO_TARGET_DIR/libfactor.so\" factor.c
cc -o \"$CARGO_TARGET_DIR/my_worker\" main.c -L\"$CARGO_TARGET_DIR\" -lfactor -Wl,-rpath,\"$CARGO_TARGET_DIR\"
";

/// Two folders with a worker each, that differ in what lies beside the workers.
fn two_folders(repo: &Repo, file: &str, content: [&str; 2], python: &str) {
    repo.work_from(python);
    for (folder, content) in ["old", "new"].into_iter().zip(content) {
        repo.copy(WORKER, &format!("{folder}/worker.py"));
        repo.write(&format!("{folder}/{file}"), content);
    }
}

const TWO_WORKERS: &str =
    "gate gated/n1/work --base-worker 'python3 old/worker.py' --worker 'python3 new/worker.py'";

rows! {
    no_build_and_a_script: Row {
        base: |repo| repo.configure("[gate]\nbuild = []\nworker = [\"python3\", \"bench/my_worker.py\"]\n"),
        ..ROW
    };
    no_build_and_a_program_that_a_build_should_make: Row {
        base: |repo| repo.configure("[gate]\nbuild = []\nworker = [\"{target}/my_worker\"]\n"),
        expect: &[1],
        says: &["my_worker"],
        ..ROW
    };
    a_head_that_does_not_build: Row {
        arrange: |repo| { repo.plant(); repo.write("build.sh", "echo no such header; exit 7\n"); },
        expect: &[1],
        says: &["head does not build", "no such header"],
        ..OF_BUILD
    };
    a_base_that_does_not_build: Row {
        base: |repo| repo.build_by("echo no such header; exit 7\n"),
        arrange: |repo| { repo.plant(); repo.write("build.sh", BUILD); },
        expect: &[1],
        says: &["base does not build", "no such header"],
        ..OF_BUILD
    };
    a_build_command_that_is_not_there: Row {
        base: |repo| repo.configure("[gate]\nbuild = [\"no-such-program\"]\nworker = [\"{target}/my_worker\"]\n"),
        expect: &[1],
        says: &["no-such-program"],
        ..ROW
    };
    two_workers_with_other_arguments: Row {
        base: |repo| repo.work_from("int(sys.argv[1])"),
        arrange: |_| {},
        line: "gate gated/n1/work --base-worker 'python3 bench/my_worker.py 1' --worker 'python3 bench/my_worker.py 2'",
        ..ROW
    };
    two_workers_with_folders_as_arguments: Row {
        base: |repo| two_folders(repo, "factor.txt", ["1", "2"], "int(open(sys.argv[1] + '/factor.txt').read())"),
        arrange: |_| {},
        line: "gate gated/n1/work --base-worker 'python3 bench/my_worker.py old' --worker 'python3 bench/my_worker.py new'",
        ..ROW
    };
    a_build_that_makes_nothing: Row {
        arrange: |repo| { repo.plant(); repo.write("build.sh", "exit 0\n"); },
        expect: &[1],
        says: &["my_worker"],
        ..OF_BUILD
    };
    a_build_that_makes_only_what_is_not_there: Row {
        base: |repo| repo.build_by(&format!("if [ -e \"$CARGO_TARGET_DIR/my_worker\" ]; then exit 0; fi\n{BUILD}")),
        ..OF_BUILD
    };
    a_build_that_makes_only_the_data_that_is_not_there: Row {
        base: |repo| reads_data_of_target(
            repo, &format!("{BUILD}[ -e \"$CARGO_TARGET_DIR/factor.txt\" ] || {WITH_DATA}")
        ),
        arrange: |repo| repo.write("bench/factor.txt", "2"),
        ..OF_BUILD
    };
    a_program_that_cargo_skips: Row {
        base: |repo| cargo_package(repo, ""),
        arrange: |repo| {
            repo.edit("src/main.rs", "{ \"1\" }", "{ \"2\" }");
            repo.edit("Cargo.toml", "edition = \"2021\"\n",
                "edition = \"2021\"\n[features]\nfull = []\n[[bin]]\nname = \"gated\"\npath = \"src/main.rs\"\nrequired-features = [\"full\"]\n");
        },
        tools: CARGO,
        expect: &[1],
        says: &["gated"],
        ..ROW
    };
    a_setting_of_cargo_that_is_the_heads_alone: Row {
        base: |repo| cargo_package(repo, ""),
        arrange: |repo| repo.write(".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"planted\"]\n"),
        tools: CARGO,
        ..ROW
    };
    a_setting_in_a_folder_above_the_tree: Row {
        base: |repo| { repo.build_by(LOOK_ABOVE); repo.work_from("1"); },
        arrange: |repo| repo.write("factor.txt", "2"),
        ..OF_BUILD
    };
    a_program_with_a_library_of_its_own: LIBRARY;
    a_program_with_a_data_file_of_its_own: Row {
        base: |repo| reads_data_of_target(repo, &format!("{BUILD}{WITH_DATA}")),
        arrange: |repo| repo.write("bench/factor.txt", "2"),
        ..OF_BUILD
    };
    a_data_file_that_the_build_makes_and_an_argument_names: Row {
        base: |repo| {
            reads_data_of_target(repo, &format!("{BUILD}{WITH_DATA}"));
            repo.code("os.path.dirname(__file__), 'factor.txt'", "sys.argv[1], 'factor.txt'");
            repo.configure("[gate]\nbuild = [\"sh\", \"build.sh\"]\nworker = [\"{target}/my_worker\", \"{target}\"]\n");
        },
        arrange: |repo| repo.write("bench/factor.txt", "2"),
        ..OF_BUILD
    };
    two_workers_with_other_data_beside_them: Row {
        base: |repo| two_folders(repo, "factor.txt", ["1", "2"], "int(open(os.path.dirname(__file__) + '/factor.txt').read())"),
        arrange: |_| {},
        line: TWO_WORKERS,
        ..ROW
    };
    two_workers_with_other_modules_beside_them: Row {
        base: |repo| two_folders(repo, "amount.py", ["FACTOR = 1\n", "FACTOR = 2\n"], "__import__('amount').FACTOR"),
        arrange: |_| {},
        line: TWO_WORKERS,
        ..ROW
    };
    two_programs_with_other_data_beside_them: Row {
        base: |repo| {
            two_folders(repo, "factor.txt", ["1", "2"], "int(open(os.path.dirname(__file__) + '/factor.txt').read())");
            repo.make_executable("old/worker.py");
            repo.make_executable("new/worker.py");
        },
        arrange: |_| {},
        line: "gate gated/n1/work --base-worker old/worker.py --worker new/worker.py",
        systems: UNIX,
        ..ROW
    };
}

/// Takes a file from the nearest folder that has it, as tools take their settings.
const LOOK_ABOVE: &str = "\
set -e
top=$PWD
while [ \"$PWD\" != / ] && ! [ -e factor.txt ]; do cd ..; done
mkdir -p \"$CARGO_TARGET_DIR\"
sed \"s/FACTOR = 1/FACTOR = $(cat factor.txt 2>/dev/null || echo 1)/\" \"$top/bench/my_worker.py\" > \"$CARGO_TARGET_DIR/my_worker\"
chmod +x \"$CARGO_TARGET_DIR/my_worker\"
";
