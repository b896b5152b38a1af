//! Instructions on a simulated processor.

use std::path::Path;
use std::process::Command;

use perfharness_contract::standard::{CPU_TIME, INSTRUCTIONS, WALL_TIME};
use perfharness_record::{Counting, MetricRecord, Reach};
use rstest::rstest;
use serde_json::Value;

use crate::fixture::{Call, Harness, PROGRAM, VALGRIND, require_system, require_tool};
use crate::layouts::files;
use crate::two_builds::Gated;

const WORKER: &str = include_str!("../workers/python_worker.py");

fn can_count() -> bool {
    require_system(&["linux"]) && require_tool(&["valgrind", "--version"])
}

/// Lets a call count.
fn counting(call: Call<'_>) -> Call<'_> {
    call.env(VALGRIND, "valgrind")
}

fn instructions(harness: &Harness, benchmark: &str) -> MetricRecord {
    harness.benchmark(benchmark).metrics[INSTRUCTIONS].clone()
}

#[test]
fn instructions_follow_the_work_to_a_thousandth() {
    if !can_count() {
        return;
    }
    let harness = Harness::new();
    let done =
        counting(harness.measure("known-work/spin known-work/gather --effort quick --launches 2")).done();
    done.code(0).says(&["counting the instructions of"]);
    let count = |case: &str, variant: &str| {
        let counted = instructions(&harness, &format!("known-work/{case}/{variant}"));
        assert!(!counted.demoted && counted.launches.len() == 2, "{counted:?}");
        counted.value.value().unwrap()
    };
    for case in ["spin", "gather"] {
        for (variant, due) in [("w101", 1.01), ("w105", 1.05), ("w200", 2.0)] {
            let ratio = count(case, variant) / count(case, "w100");
            assert!((ratio / due - 1.0).abs() < 1e-3, "{case}: {ratio} for {due}");
        }
    }
    let Some(Counting::By { tool, seconds }) = harness.record().counting else { panic!("nothing counted") };
    assert!(tool.starts_with("valgrind ") && seconds > 0.0, "{tool}: {seconds}");
}

#[test]
fn a_python_program_that_knows_nothing_of_it_is_counted() {
    if !(can_count() && require_tool(&["python3", "--version"])) {
        return;
    }
    let harness = Harness::new();
    harness.write("worker.py", WORKER);
    // A wrapper becomes the worker.
    let call = harness.measure("word-count/w1000 --launches 2");
    counting(call).args(["--worker", "env MINE=1 python3 worker.py"]).done().code(0);
    let count = |variant: &str| instructions(&harness, &format!("word-count/w1000/{variant}"));
    for variant in ["loop", "counter"] {
        let counted = count(variant);
        assert!(counted.value.value().is_some_and(|count| count > 100_000.0), "{counted:?}");
    }
    // Its inputs are made anew for each sample, with the same cost for both.
    assert_ne!(count("loop").value, count("counter").value);
}

/// Compiles the worker in C into the folder of the harness.
fn c_worker(harness: &Harness, name: &str, more: u32) {
    harness.write("worker.c", include_str!("../workers/c_worker.c"));
    let output = harness.path(name);
    let done = Command::new("cc")
        .args(["-O2", "-g", &format!("-DMORE={more}"), "-o"])
        .args([&output, &harness.path("worker.c")])
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn a_tenth_of_a_percent_more_work_in_a_program_in_c_is_found_with_its_function() {
    if !(can_count() && require_tool(&["cc", "--version"])) {
        return;
    }
    let harness = Harness::new();
    harness.write(
        "perfharness.toml",
        "[[gate.limit]]\nbenchmark = \"churn\"\nmetric = \"instructions\"\nrelative = 0.0009\n",
    );
    c_worker(&harness, "before", 0);
    c_worker(&harness, "after", 100);
    let gate = |worker: &str| {
        let call = harness
            .call("gate churn --effort quick --launches 2 --format json --base-worker ./before --worker");
        counting(call.args([worker])).done().json()
    };
    let row = |report: &Value| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == INSTRUCTIONS).unwrap().clone()
    };
    let same = row(&gate("./before -"));
    assert_eq!(same["judgement"]["verdict"], "unchanged", "{same}");
    let more = row(&gate("./after"));
    assert_eq!(more["judgement"]["verdict"], "regressed", "{more}");
    assert_eq!(more["functions"][0]["name"], "churn", "{more}");
}

#[test]
fn a_profile_of_instructions_needs_nothing_of_the_worker() {
    if !(can_count() && require_tool(&["cc", "--version"])) {
        return;
    }
    let harness = Harness::new();
    c_worker(&harness, "worker", 0);
    let call = harness
        .call("profile churn --instructions --out graphs --format svg,folded,callgrind --worker ./worker");
    counting(call).done().code(0);
    // Its own functions alone: not the protocol, nor those that called it.
    let folded = harness.read("graphs/churn-c-plain.folded");
    let counts = |function: &str| {
        let line = folded
            .lines()
            .find(|line| line.contains(&format!("{function} ")))
            .unwrap_or_else(|| panic!("{folded}"));
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert!(folded.lines().all(|line| line.starts_with("churn/c/plain;")), "{folded}");
    assert!(counts("churn") > 100_000, "{folded}");
    assert!(harness.read("graphs/churn-c-plain.svg").contains("simulated misses: "));
    let index: Value = serde_json::from_str(&harness.read("graphs/index.json")).unwrap();
    let simulated = &index["benchmarks"][0]["profile"]["simulated"];
    assert!(simulated["branches"].is_number() && simulated["first_cache"].is_number(), "{index:#}");
    let graph = harness.read("graphs/churn-c-plain.callgrind");
    assert!(graph.starts_with("# callgrind format\n") && graph.contains(" churn\n"), "{graph}");
    // It comes with Valgrind.
    if require_tool(&["perl", "--version"]) {
        let told = Command::new("callgrind_annotate")
            .arg(harness.path("graphs/churn-c-plain.callgrind"))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.lines().any(|line| line.ends_with("???:churn")), "{told}");
    }
}

#[test]
fn a_profile_of_instructions_without_a_tool_says_what_is_missing() {
    let harness = Harness::new();
    let call = harness.call("profile spin --instructions");
    call.env(VALGRIND, "").worker("good").done().code(1).says(&["--instructions", "is empty", "doctor"]);
    let call = harness.call("profile spin --instructions --seconds 3");
    call.worker("good").done().code(2).says(&["--seconds"]);
}

#[rstest]
#[case::forks(
    "pid = os.fork()\n    if pid == 0:\n        os._exit(0)\n    os.waitpid(pid, 0)",
    "other processes of its worker"
)]
#[case::starts_another(
    "os.waitpid(os.posix_spawnp('true', ['true'], os.environ), 0)",
    "other processes of its worker"
)]
#[case::dies(
    "'vgpreload' in os.environ.get('LD_PRELOAD', '') and os._exit(7)",
    "counting it failed: it ended during `sample`"
)]
fn what_cannot_be_counted_says_why_and_is_timed_all_the_same(#[case] line: &str, #[case] says: &str) {
    if !(can_count() && require_tool(&["python3", "--version"])) {
        return;
    }
    let harness = Harness::new();
    let planted = format!("import os\ndef loop(words):\n    {line}\n");
    harness.write("worker.py", WORKER.replacen("def loop(words):\n", &planted, 1));
    let call = harness.measure("word-count/w1000 --launches 2");
    counting(call).args(["--worker", "python3 worker.py"]).done().code(0);
    let of = |variant: &str| harness.benchmark(&format!("word-count/w1000/{variant}"));
    let absence = of("loop").metrics[INSTRUCTIONS].value.absence().map(str::to_owned);
    assert!(absence.as_ref().is_some_and(|why| why.contains(says)), "{absence:?}");
    assert!(of("loop").metrics[WALL_TIME].value.value().is_some());
    // The worker of the other one is started anew where the first has ended.
    assert!(of("counter").metrics[CPU_TIME].value.value().is_some());
    let other = &of("counter").metrics[INSTRUCTIONS];
    assert!(other.value.value().is_some(), "{other:?}");
}

#[rstest]
#[case::no_such_program(&[], "nowhere", "there is no `nowhere`")]
#[case::another_program(&[], "true", "`true --version` says")]
#[case::none(&[], "", "is empty")]
#[case::by_flag(&["--no-instructions"], "valgrind", "not asked for")]
fn without_a_tool_nothing_is_counted(#[case] flags: &[&str], #[case] tool: &str, #[case] says: &str) {
    if !require_system(&["linux"]) {
        return;
    }
    let harness = Harness::new();
    let call = harness.measure("spin/short/a --launches 2").args(flags.iter().copied());
    call.env(VALGRIND, tool).worker("good").done().code(0);
    let absence = instructions(&harness, "spin/short/a").value.absence().map(str::to_owned);
    assert!(absence.as_ref().is_some_and(|why| why.contains(says)), "{absence:?}");
    assert!(matches!(harness.record().counting, Some(Counting::Absent { absent }) if absent.contains(says)));
}

#[test]
fn the_configuration_can_say_that_nothing_is_counted() {
    let harness = Harness::new();
    harness.write("perfharness.toml", "[meters]\ninstructions = \"off\"\n");
    counting(harness.measure("spin/short/a --launches 2")).worker("good").done().code(0);
    let absence = instructions(&harness, "spin/short/a").value.absence().map(str::to_owned);
    assert!(absence.is_some_and(|why| why.contains("not asked for")));
    harness.write("perfharness.toml", "[meters]\ninstructions = \"never\"\n");
    harness.measure("spin/short/a").worker("good").done().code(2).says(&["never", "auto"]);
}

/// Gates the built-in program with `factor` times the work against itself, with so few launches that times decide nothing.
fn gated(harness: &Harness, factor: &str) -> (i32, Value) {
    let worker = |factor: &str| format!("env PERFHARNESS_KNOWN_WORK=time={factor} {} worker", word(PROGRAM));
    let call = harness.call("gate known-work/spin/w101 --effort quick --launches 8 --format json");
    let call = call.args(["--base-worker", &worker("1.000"), "--worker", &worker(factor)]);
    let done = counting(call).done();
    (done.status.code().unwrap(), done.json())
}

fn word(path: &str) -> String {
    shlex::try_quote(Path::new(path).to_str().unwrap()).unwrap().into_owned()
}

#[rstest]
#[case::the_same("1.000", "unchanged")]
#[case::less_than_matters("1.005", "unchanged")]
#[case::more_than_matters("1.020", "regressed")]
fn a_gate_judges_instructions_by_a_hundredth(#[case] factor: &str, #[case] verdict: &str) {
    if !can_count() {
        return;
    }
    let (code, found) = gated(&Harness::new(), factor);
    let rows = found["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == INSTRUCTIONS).unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(row["judgement"]["verdict"], verdict, "{row:#}");
    let is_excused = row["judgement"]["advisory"].is_array();
    assert!(verdict != "regressed" || is_excused || code == 3, "exit {code}: {row:#}");
}

#[test]
fn a_gate_names_the_function_that_has_more_instructions() {
    if !(can_count() && require_tool(&["git", "--version"])) {
        return;
    }
    let gated = Gated { valgrind: "valgrind", ..Gated::new() };
    gated.change("WASTE: u64 = 40_000", "WASTE: u64 = 50_000");
    let (code, found, said) = gated.gate(&["gated/n1", "--launches", "8", "--time-budget", "30s"]);
    assert_eq!(code, 3, "{said}");
    let rows = found["rows"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["metric"] == INSTRUCTIONS).unwrap_or_else(|| panic!("{found:#}\n{said}"));
    assert_eq!(row["judgement"]["verdict"], "regressed", "{row:#}");
    let function = row["functions"][0]["name"].as_str().unwrap_or_else(|| panic!("{row:#}"));
    assert!(function.contains("gated"), "{function}");
    let (before, now) = (&row["functions"][0]["before"], &row["functions"][0]["now"]);
    let more = now.as_f64().unwrap() - before.as_f64().unwrap();
    // A compiler may make one instruction of two steps, or five of one.
    assert!((2_000.0..60_000.0).contains(&more), "{more}");
    let words = row["diagnosis"].as_str().unwrap();
    assert!(words.contains("by function: `") && words.contains("instructions more"), "{words}");
}

#[test]
fn a_benchmark_that_executes_no_changed_function_says_so_and_leaves_its_time_to_others() {
    if !(can_count() && require_tool(&["git", "--version"])) {
        return;
    }
    let gated = Gated { valgrind: "valgrind", ..Gated::new() };
    let line = ["gated/n1/work", "--time-budget", "20s"];
    let gate = |from: &str, to: &str| {
        gated.change(from, to);
        let (_, found, said) = gated.gate(&line);
        let reports = gated.harness.path("repo/reports");
        let record = perfharness_record::file::read(&files(&reports, "run.json")[0]).unwrap();
        std::fs::remove_dir_all(reports).unwrap();
        (found["remarks"].to_string(), record, said)
    };
    // Nothing calls it, and every address behind it differs.
    let uncalled =
        "fn idle(x: u64) -> u64 { black_box(x) + 7 }\n#[used]\nstatic IDLE: fn(u64) -> u64 = idle;\n";
    let (told, record, said) = gate("struct Chain {", &format!("{uncalled}\nstruct Chain {{"));
    assert!(told.contains("does not reach gated/n1/work"), "{told}\n{said}");
    let reach = record.benchmarks[0].reach.clone();
    assert!(matches!(reach, Some(Reach::Known { executed: 5.., changed: 0, .. })), "{reach:?}");
    assert_eq!(record.base.unwrap().comparisons[0].estimate.launches, 8);
    // The steps are part of the function that takes them.
    let (told, record, said) = gate("WASTE: u64 = 40_000", "WASTE: u64 = 40_001");
    assert!(!told.contains("does not reach"), "{told}\n{said}");
    let Some(Reach::Known { changed: 1, names, .. }) = &record.benchmarks[0].reach else {
        panic!("{:?}", record.benchmarks[0].reach)
    };
    assert!(names[0].contains("gated::"), "{names:?}");
}
