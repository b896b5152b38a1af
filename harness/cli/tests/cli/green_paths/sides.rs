//! Each side runs in its own tree, with its own files: ways to measure one side twice.

use super::table::{BUILD, GATED, OF_BUILD, README, ROW, Repo, Row, UNIX, WORKER};

/// A worker that takes how much it does from a file, by a Python expression for the path of its folder.
fn work_from_file(repo: &Repo, folder: &str) {
    repo.work_from(&format!("int(open(os.path.join({folder}, 'factor.txt')).read())"));
    repo.write("bench/factor.txt", "1");
    repo.write("factor.txt", "1");
}

/// Plants the change in both of these files.
fn plant_in_file(repo: &Repo) {
    repo.write("bench/factor.txt", "2");
    repo.write("factor.txt", "2");
}

const IN_FILE: Row = Row { arrange: plant_in_file, ..ROW };

rows! {
    a_script_under_gate: Row {
        base: |repo| repo.configure(GATED),
        ..ROW
    };
    a_program_by_a_relative_path: Row {
        base: |repo| {
            repo.make_executable(WORKER);
            repo.configure("[[worker]]\ncommand = [\"bench/my_worker.py\"]\n");
        },
        systems: UNIX,
        ..ROW
    };
    a_program_by_a_relative_path_under_gate: Row {
        base: |repo| {
            repo.make_executable(WORKER);
            repo.configure("[gate]\nworker = [\"./bench/my_worker.py\"]\n");
        },
        systems: UNIX,
        ..ROW
    };
    a_module_beside_a_script_under_gate: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.work_from("__import__('amount').FACTOR");
            repo.write("bench/amount.py", "FACTOR = 1\n");
        },
        arrange: |repo| repo.write("bench/amount.py", "FACTOR = 2\n"),
        ..ROW
    };
    a_data_file_beside_a_script_under_gate: Row {
        base: |repo| {
            repo.configure(GATED);
            work_from_file(repo, "os.path.dirname(__file__)");
        },
        ..IN_FILE
    };
    a_data_file_that_git_does_not_export: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.work_from("int(open(IN + 'factor.txt').read()) if os.path.exists(IN + 'factor.txt') else 1");
            repo.code("FACTOR =", "IN = os.path.dirname(__file__) + '/'\nFACTOR =");
            repo.write(".gitattributes", "factor.txt export-ignore\n");
            repo.write("bench/factor.txt", "1");
        },
        arrange: |repo| repo.write("bench/factor.txt", "2"),
        ..ROW
    };
    a_gate_that_is_started_in_a_folder_below: Row { within: "deep/below", ..ROW };
    a_module_of_the_working_folder: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"python3\", \"-m\", \"bench.my_worker\"]\n"),
        ..ROW
    };
    a_module_of_the_working_folder_under_gate: Row {
        base: |repo| repo.configure("[gate]\nworker = [\"python3\", \"-m\", \"bench.my_worker\"]\n"),
        ..ROW
    };
    a_script_that_a_shell_is_told_of: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"sh\", \"-c\", \"exec python3 bench/my_worker.py\"]\n"),
        tools: &[&["sh", "-c", ":"]],
        ..ROW
    };
    a_module_path_that_another_program_sets: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"env\", \"PYTHONPATH=bench\", \"python3\", \"-m\", \"my_worker\"]\n"),
        systems: UNIX,
        ..ROW
    };
    a_relative_module_path_in_the_environment: Row {
        base: |repo| repo.configure(
            "[[worker]]\ncommand = [\"python3\", \"-m\", \"my_worker\"]\nenv = { PYTHONPATH = \"bench\" }\n"
        ),
        ..ROW
    };
    a_module_beside_a_script: Row {
        base: |repo| {
            repo.work_from("__import__('amount').FACTOR");
            repo.write("bench/amount.py", "FACTOR = 1\n");
        },
        arrange: |repo| repo.write("bench/amount.py", "FACTOR = 2\n"),
        ..ROW
    };
    a_data_file_beside_a_script: Row { base: |repo| work_from_file(repo, "os.path.dirname(__file__)"), ..IN_FILE };
    a_data_file_of_the_working_folder: Row { base: |repo| work_from_file(repo, "'.'"), ..IN_FILE };
    a_data_file_of_the_working_folder_under_gate: Row {
        base: |repo| {
            repo.configure(GATED);
            work_from_file(repo, "'.'");
        },
        ..IN_FILE
    };
    a_data_file_of_a_folder_above: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.write("bench/above.py", ABOVE);
            repo.work_from("__import__('above').factor(__file__)");
        },
        arrange: |repo| repo.write("factor.txt", "2"),
        ..ROW
    };
    a_data_file_of_a_folder_above_in_a_cache_of_the_repository: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.write("bench/above.py", ABOVE);
            repo.work_from("__import__('above').factor(__file__)");
        },
        arrange: |repo| repo.write("factor.txt", "2"),
        env: &[("PERFHARNESS_CACHE", "{repo}/target/cache")],
        expect: &[2, 3],
        ..ROW
    };
    a_configuration_of_the_folder_that_the_gate_is_started_in: Row {
        base: |repo| {
            repo.remove("perfharness.toml");
            repo.rename("bench", "part/bench");
            repo.write("part/perfharness.toml", README);
        },
        arrange: |repo| {
            repo.edit("part/bench/my_worker.py", "STEPS = 10_000", "STEPS = 13_000");
            repo.edit("part/bench/my_worker.py", "COPIES = 1", "COPIES = 2");
        },
        within: "part",
        ..ROW
    };
    the_absolute_path_of_the_checkout: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"python3\", \"{repo}/bench/my_worker.py\"]\n"),
        expect: &[2, 3],
        ..ROW
    };
    the_absolute_path_of_the_checkout_under_gate: Row {
        base: |repo| repo.configure("[gate]\nworker = [\"python3\", \"{repo}/bench/my_worker.py\"]\n"),
        expect: &[2, 3],
        ..ROW
    };
    the_absolute_path_of_the_checkout_within_a_word: Row {
        base: |repo| repo.configure(
            "[[worker]]\ncommand = [\"sh\", \"-c\", \"cd '{repo}' && exec python3 bench/my_worker.py\"]\n"
        ),
        expect: &[2, 3],
        tools: &[&["sh", "-c", ":"]],
        ..ROW
    };
    the_absolute_path_of_the_checkout_in_the_environment: Row {
        base: |repo| repo.configure(
            "[[worker]]\ncommand = [\"python3\", \"-m\", \"my_worker\"]\nenv = { PYTHONPATH = \"{repo}/bench\" }\n"
        ),
        expect: &[2, 3],
        ..ROW
    };
    the_absolute_path_of_the_checkout_in_the_callers_environment: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"python3\", \"-m\", \"my_worker\"]\n"),
        env: &[("PYTHONPATH", "{repo}/bench")],
        expect: &[2, 3, 4],
        ..ROW
    };
    a_path_of_the_checkout_through_a_link: Row {
        base: |repo| {
            repo.link("{repo}", "../other-name");
            repo.configure("[[worker]]\ncommand = [\"python3\", \"{above}/other-name/bench/my_worker.py\"]\n");
        },
        systems: UNIX,
        ..ROW
    };
    a_relative_path_by_the_name_of_the_checkout: Row {
        base: |repo| repo.configure("[[worker]]\ncommand = [\"python3\", \"../repo/bench/my_worker.py\"]\n"),
        expect: &[5],
        ..ROW
    };
    a_worker_that_is_a_link_into_the_checkout: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.rename(WORKER, "bench/real.py");
            repo.link("{repo}/bench/real.py", WORKER);
        },
        arrange: |repo| {
            repo.edit("bench/real.py", "STEPS = 10_000", "STEPS = 13_000");
            repo.edit("bench/real.py", "COPIES = 1", "COPIES = 2");
        },
        systems: UNIX,
        expect: &[2, 4],
        ..ROW
    };
    a_built_program_that_reads_a_file_of_its_tree: Row {
        base: |repo| { repo.build_by(BUILD); work_from_file(repo, "'.'"); },
        arrange: plant_in_file,
        ..OF_BUILD
    };
    a_configuration_of_a_folder_below: Row {
        base: |repo| {
            repo.remove("perfharness.toml");
            repo.rename("bench", "part/bench");
            repo.write("part/perfharness.toml", README);
        },
        arrange: |repo| {
            repo.edit("part/bench/my_worker.py", "STEPS = 10_000", "STEPS = 13_000");
            repo.edit("part/bench/my_worker.py", "COPIES = 1", "COPIES = 2");
        },
        line: "gate --base main gated/n1/work --config part/perfharness.toml",
        ..ROW
    };
}

/// A module that looks for a file from its own folder upwards, as tools look for their configuration.
const ABOVE: &str = "\
import pathlib
def factor(start):
    for folder in pathlib.Path(start).resolve().parents:
        if (folder / 'factor.txt').exists():
            return int((folder / 'factor.txt').read_text())
    return 1
";

rows! {
    /// The path of a setting starts in the folder of the configuration, which is that of the head for both.
    a_data_file_that_a_setting_names: Row {
        base: |repo| {
            repo.setting("path");
            repo.configure_also("[settings]\nfactor = \"factor.txt\"\n");
            repo.write("factor.txt", "1");
        },
        arrange: |repo| repo.write("factor.txt", "2"),
        ..ROW
    };
}
