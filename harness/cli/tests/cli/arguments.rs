//! Arguments, configuration and colours.

use rstest::rstest;

use crate::fixture::{Harness, PROGRAM, require_system};

#[rstest]
#[case::in_a_workload("spni", "did you mean `spin`")]
#[case::in_a_variant("spin/short/a-agian", "did you mean `spin/short/a-again`")]
#[case::beyond_recognition("qqq", "`perfharness list` shows all")]
fn a_pattern_that_matches_nothing_gets_a_suggestion(#[case] pattern: &str, #[case] words: &str) {
    let harness = Harness::new();
    for command in ["run", "list"] {
        harness.call(&format!("{command} {pattern}")).worker("good").done().code(2).says(&[pattern, words]);
    }
    assert_eq!(harness.files(), Vec::<String>::new());
}

#[rstest]
#[case::nothing_to_measure("run", "say what to measure")]
#[case::no_command("", "Usage")]
#[case::an_unknown_command("rnu", "rnu")]
#[case::an_unknown_flag("run all --fast", "--fast")]
#[case::a_time_without_a_unit("run all --time-budget 30", "30s or 5m")]
#[case::a_time_of_nothing("run all --time-budget 0s", "more than 0")]
#[case::no_time("run all --time-budget soon", "30s or 5m")]
#[case::no_launches("run all --launches 0", "1..=1000")]
#[case::no_size("run all --memory-limit much", "512MiB")]
#[case::a_pattern_of_four_parts("run a/b/c/d", "workload/case/variant")]
#[case::a_broken_pattern("run a[", "a[")]
#[case::a_broken_pattern_to_list("list a//b", "workload/case/variant")]
#[case::open_quotes("run all --worker 'x", "check its quotes")]
#[case::no_such_configuration("list --config nowhere.toml", "nowhere.toml")]
#[case::no_such_shell("completions tcsh", "tcsh")]
fn wrong_arguments_are_refused_in_words(#[case] line: &str, #[case] words: &str) {
    let harness = Harness::new();
    // A worker that would fail, if it were asked in vain.
    harness.write("perfharness.toml", "[[worker]]\ncommand = [\"./none\"]\n");
    harness.call(line).done().code(2).says(&[words]);
    assert_eq!(harness.files(), ["perfharness.toml"]);
}

#[test]
fn the_name_of_a_device_is_handed_on() {
    let harness = Harness::new();
    harness.measure("spin/short/a --launches 1 --device xyz").worker("good").done().code(0);
    assert_eq!(harness.record().run.device, "xyz");
}

#[test]
fn a_dry_run_measures_and_writes_nothing() {
    let harness = Harness::new();
    let done = harness.measure("spin misbehave/c/good --dry-run").worker("good").worker("bad").done().code(0);
    for id in ["spin/short/a\n", "spin/long/double\n", "misbehave/c/good\n", "9 benchmarks in 3 cases"] {
        assert!(done.stdout.contains(id), "{}", done.stdout);
    }
    assert_eq!(harness.files(), Vec::<String>::new());
}

#[test]
fn list_shows_what_there_is_to_measure() {
    let harness = Harness::new();
    let all = harness.call("list").worker("good").done().code(0).stdout;
    for name in ["spin", "gather", "sweep", "kib512", "plus10"] {
        assert!(all.contains(name), "{all}");
    }
    let one = harness.call("list gather").worker("good").done().code(0).stdout;
    assert!(one.contains("gather") && !one.contains("sweep"), "{one}");
}

#[test]
fn list_prints_json_as_well() {
    let harness = Harness::new();
    let list = harness.call("list --json").worker("good").done().code(0).json();
    let ids: Vec<&str> =
        list["workloads"].as_array().unwrap().iter().map(|w| w["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["spin", "gather", "sweep"]);
    assert_eq!(list["workers"][0]["outcome"]["kind"], "ok");
}

#[test]
fn the_built_in_workloads_are_there_without_a_worker() {
    let list = Harness::new().call("list").done().code(0).stdout;
    assert!(list.contains("json-logging"), "{list}");
}

#[rstest]
fn completions_are_made(#[values("bash", "zsh", "fish", "powershell")] shell: &str) {
    let script = Harness::new().call(&format!("completions {shell}")).done().code(0).stdout;
    assert!(script.contains("perfharness") && script.contains("time-budget"), "{script}");
}

#[test]
fn init_writes_a_configuration_that_works_and_never_overwrites_one() {
    let harness = Harness::new();
    harness.call("init").done().code(0).says(&["perfharness.toml"]);
    harness.call("list spin").worker("good").done().code(0);
    let changed = harness.read("perfharness.toml") + "# mine\n";
    harness.write("perfharness.toml", &changed);
    harness.call("init").done().code(2).says(&["perfharness.toml is there already"]);
    assert_eq!(harness.read("perfharness.toml"), changed);
}

#[test]
fn a_worker_in_the_configuration_is_found_from_a_folder_below() {
    let harness = Harness::new();
    harness.copy_worker("tools/mine");
    let program = format!("./tools/mine{}", std::env::consts::EXE_SUFFIX);
    harness.write(
        "perfharness.toml",
        format!("[[worker]]\nname = \"my own\"\ncommand = [\"{program}\", \"good\"]\n"),
    );
    let line = "run spin/short/a --launches 1 --output run.json";
    harness.call(line).within("src/deep").done().code(0);
    harness.call("show src/deep/run.json").done().code(0);
    let record = harness.read("src/deep/run.json");
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["workers"][0]["name"], "my own");
    assert_eq!(record["workers"].as_array().unwrap().len(), 1, "the built-in one is left out");
}

#[test]
fn the_configuration_gives_defaults_that_flags_override() {
    let harness = Harness::new();
    harness.write("perfharness.toml", "[run]\nseed = 5\ndevice = \"none\"\n[machine]\nclass = \"My Rack\"\n");
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
    let record = harness.record();
    assert_eq!((record.run.seed, record.run.device.as_str()), (5, "none"));
    assert_eq!((record.machine.class.as_str(), record.machine.class_is_set), ("my-rack", true));
    harness.measure("spin/short/a --launches 1 --seed 6").worker("good").done().code(0);
    assert_eq!(harness.record().run.seed, 6);
}

#[rstest]
#[case::a_misspelt_key("[run]\neffrot = \"quick\"\n", "effrot")]
#[case::a_misspelt_table("[machin]\nclass = \"x\"\n", "machin")]
#[case::an_unknown_effort("[run]\neffort = \"long\"\n", "long")]
#[case::a_worker_without_a_command("[[worker]]\nname = \"x\"\n", "command")]
#[case::a_worker_with_an_empty_command("[[worker]]\ncommand = []\n", "number 1 has an empty command")]
fn a_wrong_configuration_is_refused_and_its_fault_named(#[case] text: &str, #[case] words: &str) {
    let harness = Harness::new();
    harness.write("perfharness.toml", text);
    harness.call("run all").worker("good").done().code(2).says(&["perfharness.toml", words]);
}

#[test]
fn quiet_says_nothing_beside_the_result() {
    let harness = Harness::new();
    let loud = harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
    assert!(
        loud.stderr.contains("measuring 1 benchmark") && loud.stderr.contains("run.json"),
        "{}",
        loud.stderr
    );
    let quiet = harness.measure("spin/short/a --launches 1 --quiet").worker("good").done().code(0);
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.contains("spin/short"), "{}", quiet.stdout);
}

#[test]
fn colours_are_for_terminals_and_those_who_insist() {
    let harness = Harness::new();
    harness
        .measure("spin/short misbehave/c/{good,wrong} --launches 1")
        .worker("good")
        .worker("bad")
        .done()
        .code(5);
    let styled = |line: &str, variable: Option<(&str, &str)>| {
        let mut call = harness.call(line);
        if let Some((name, value)) = variable {
            call = call.env(name, value);
        }
        let done = call.done().code(0);
        done.stdout.contains('\u{1b}') || done.stderr.contains('\u{1b}')
    };
    assert!(!styled("show run.json", None), "a pipe is no terminal");
    assert!(!styled("show run.json --color never", None));
    assert!(!styled("show run.json --color never", Some(("CLICOLOR_FORCE", "1"))));
    assert!(!styled("show run.json", Some(("NO_COLOR", "1"))));
    assert!(styled("show run.json --color always", None));
    assert!(styled("show run.json --color always", Some(("NO_COLOR", "1"))));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    if !require_system(&["linux", "macos"]) {
        return;
    }
    let harness = Harness::new();
    let script = "{ \"$0\" schema; echo \"code $?\" >&2; } | head -n 1";
    let command = harness.command("sh".as_ref(), &["-c", script, PROGRAM]);
    let done = harness.call_of(command).done().code(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("{\n", "code 0\n"));
}

#[test]
fn version_and_help_are_results() {
    let harness = Harness::new();
    let version = harness.call("--version").done().code(0);
    assert_eq!(version.stdout, concat!("perfharness ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = harness.call("run --help").done().code(0).stdout;
    assert!(help.contains("--resume") && help.contains("--memory-limit"), "{help}");
}
