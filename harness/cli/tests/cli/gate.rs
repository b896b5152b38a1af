//! Accepted figures, and the gate against them, with workers that do right. Two real builds are in `two_builds`.

use std::fs;

use serde_json::Value;

use crate::fixture::{Done, Harness, require_tool};

/// The one baseline of the folder.
fn baseline(harness: &Harness) -> String {
    let mut names: Vec<_> =
        fs::read_dir(harness.path("baselines")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0).file_name().unwrap().to_str().unwrap().to_owned()
}

/// A folder with figures of two short runs of `spin/short`.
fn accepted() -> Harness {
    let harness = Harness::new();
    let call =
        harness.call("baseline accept --runs 2 --only spin/short --launches 2").args(["--reason", "first"]);
    call.worker("good").done().code(0).says(&["2 of the 5 runs"]);
    harness
}

fn rows(done: &Done) -> Vec<Value> {
    done.json()["rows"].as_array().unwrap().clone()
}

#[test]
fn what_was_accepted_is_shown_checked_and_gated() {
    let harness = accepted();
    let text = harness.read(&format!("baselines/{}", baseline(&harness)));
    assert!(text.contains("\"reason\":\"first\""), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("\"id\":\"spin/short/")).count(), 4);
    // The effort that a gate uses by default.
    let run: Value = serde_json::from_str(&harness.read("reports/no-commit/baseline/run-1.json")).unwrap();
    assert_eq!(run["run"]["effort"], "standard");
    let shown = harness.call("baseline show").done().code(0).stdout;
    assert!(shown.contains("spin/short/plus10") && shown.contains("first"), "{shown}");
    assert!(harness.call("baseline check").done().code(0).stdout.contains("4 benchmarks, whole"));

    let gate = |line: &str| {
        harness.call(&format!("gate spin/short --launches 2 --format json {line}")).worker("good")
    };
    let done = gate("--junit junit.xml --markdown gate.md --output gated/run.json").done().code(0);
    let found = rows(&done);
    // Times of two runs are shown and prove nothing; counts do.
    assert!(
        found
            .iter()
            .any(|row| row["metric"] == "heap-allocations" && row["judgement"]["verdict"] == "unchanged")
    );
    let walls = found.iter().filter(|row| row["metric"] == "wall-time");
    assert!(walls.clone().all(|row| !row["judgement"]["advisory"].as_array().unwrap().is_empty()));
    assert_eq!(walls.count(), 4);
    assert!(!harness.read("junit.xml").is_empty() && !harness.read("gate.md").is_empty());
    let kept: Value = serde_json::from_str(&harness.read("gated/gate.json")).unwrap();
    assert_eq!(kept, done.json());
    // The record can be judged again.
    assert_eq!(
        harness.call("gate gated/run.json --format json").done().code(0).json()["rows"],
        done.json()["rows"]
    );
}

#[test]
fn a_benchmark_that_is_not_measured_any_more_is_no_pass() {
    let harness = Harness::new();
    let call = harness.call("baseline accept --runs 1 --only misbehave/c/good --launches 2 --reason first");
    call.worker("bad").done().code(0);
    // A worker that has no such workload.
    let done =
        harness.call("gate all --launches 2 --effort quick --format json").worker("good").done().code(5);
    let is_gone = |row: &&Value| row["judgement"]["reason"]["because"] == "missing";
    let gone: Vec<Value> = rows(&done).iter().filter(is_gone).map(|row| row["benchmark"].clone()).collect();
    assert_eq!(gone, ["misbehave/c/good"]);
}

#[test]
fn there_is_no_green_without_figures() {
    let harness = Harness::new();
    let done = harness.call("gate spin/short --launches 2").worker("good").done().code(2);
    done.says(&["no accepted figures", "baseline accept --runs 5", "--base"]);
    assert!(!harness.path("reports").exists(), "it says so before it measures");
    harness.call("baseline show").done().code(2).says(&["baseline accept"]);
    harness.call("baseline check nowhere").done().code(2).says(&["nowhere.json"]);
}

#[test]
fn a_damaged_baseline_stops_everything_and_stays_as_it_is() {
    let harness = accepted();
    let path = format!("baselines/{}", baseline(&harness));
    let text = harness.read(&path);
    let damaged = text.replacen("\"values\":[", "\"values\":[1", 1);
    assert_ne!(damaged, text);
    harness.write(&path, &damaged);
    let refused = |line: &str| {
        harness.call(line).worker("good").done().code(2).says(&["is damaged", "restore it from git"]);
        assert_eq!(harness.read(&path), damaged, "{line}");
    };
    refused("gate spin/short --launches 2");
    let accept =
        harness.call("baseline accept --runs 1 --only spin/short --launches 2 --reason again").worker("good");
    accept.done().code(2).says(&["is damaged"]);
    assert_eq!(harness.read(&path), damaged);
    for line in ["baseline show", "baseline check"] {
        harness.call(line).done().code(2).says(&["is damaged"]);
    }
    // Another class is not compared either.
    harness.write("perfharness.toml", "[machine]\nclass = \"elsewhere\"\n");
    refused("gate spin/short --launches 2");
    for end in (0..50).map(|n| text.len() * n / 50) {
        harness.write(&path, &text[..end]);
        harness.call("baseline check").done().code(2).says(&["damaged"]);
    }
}

#[test]
fn what_failed_or_was_measured_otherwise_is_not_accepted() {
    let harness = Harness::new();
    harness.measure("misbehave/c/{good,wrong} --launches 2").worker("bad").done().code(5);
    let refused = harness.call("baseline accept run.json --reason x").done().code(2);
    refused.says(&["misbehave/c/wrong", "wrong-result"]);
    let twice = harness.call("baseline accept run.json run.json --reason x").done().code(2);
    twice.says(&["given twice"]);
    harness.call("baseline accept run.json --reason").args([""]).done().code(2);
    harness.call("baseline accept --reason x").done().code(2);
    assert!(!harness.path("baselines").exists());

    let harness = accepted();
    harness.measure("spin/short --launches 2 --seed 7").worker("good").done().code(0);
    harness.call("gate run.json").done().code(2).says(&["another seed"]);
    harness.call("baseline accept run.json --reason x").done().code(2).says(&["another seed"]);
}

#[test]
fn runs_of_code_that_changes_meanwhile_are_not_accepted_and_not_lost() {
    if !(require_tool(&["git", "--version"]) && require_tool(&["sh", "-c", ":"])) {
        return;
    }
    let harness = Harness::new();
    harness.write("code.txt", "before");
    // Whoever starts the worker changes the code.
    harness.write("changing.sh", "echo after > code.txt\nexec \"$@\"\n");
    harness.write(".gitignore", "/reports\n/scratch\n");
    let git = |line: &str| {
        let mut git = harness.command("git".as_ref(), &line.split_whitespace().collect::<Vec<_>>());
        assert!(git.status().unwrap().success(), "git {line}");
    };
    git("init --quiet --initial-branch main");
    git("add --all");
    git("-c user.name=test -c user.email=test@localhost commit --quiet --message first");
    let call = harness.call("baseline accept --runs 2 --only spin/short --launches 2 --reason first");
    let done = call.worker_by_script("changing.sh", "good").done().code(2);
    done.says(&["has changed before run 2 of 2", "nothing was accepted", "run-1.json"]);
    assert!(!harness.path("baselines").exists());
    let folders = fs::read_dir(harness.path("reports")).unwrap();
    let kept = folders.map(|entry| entry.unwrap().path().join("baseline/run-1.json"));
    let kept: Vec<_> = kept.filter(|path| path.is_file()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    harness.call("baseline accept --reason first").args(&kept).done().code(0).says(&["1 of the 5 runs"]);
}

#[test]
fn no_file_of_a_gate_replaces_another() {
    let harness = Harness::new();
    harness.measure("spin/short/double --launches 2").worker("good").done().code(0);
    let before = harness.read("run.json");
    let refused = |line: &str, says: &[&str]| {
        harness.call(line).worker("good").done().code(2).says(says).says(&["name another file"]);
    };
    refused(
        "gate spin/short --output x/gate.json",
        &["gate.json", "both the record and what the gate finds"],
    );
    refused("gate spin/short --output x.json --markdown x.json", &["--markdown"]);
    refused("gate spin/short --base-worker x --markdown a --junit ./a", &["--markdown", "--junit"]);
    refused("gate run.json --json-report ./run.json", &["a record that is read", "--json-report"]);
    refused("gate run.json --junit scratch/../run.json", &["a record that is read", "--junit"]);
    refused("gate spin/short --output x.json --markdown x.samples.parquet", &["the samples", "--markdown"]);
    harness.call("compare run.json run.json --junit run.json").done().code(2).says(&["--junit"]);
    assert_eq!(harness.read("run.json"), before);
    assert_eq!(harness.files(), ["run.json", "run.samples.parquet"]);
    // The same JSON may be asked for where it goes anyway.
    let call = harness.call("gate spin/short --launches 2 --output x/run.json --json-report x/gate.json");
    call.base_worker("bad").worker("good").done().code(4);
}

#[test]
fn accepting_some_keeps_the_others_and_what_was_before() {
    let harness = accepted();
    let call = harness
        .call("baseline accept --runs 1 --only spin/short/double --launches 2")
        .args(["--reason", "again"]);
    call.worker("good").done().code(0);
    let text = harness.read(&format!("baselines/{}", baseline(&harness)));
    let line = |id: &str| text.lines().find(|line| line.contains(id)).unwrap();
    assert!(
        line("spin/short/double").contains("\"accepted\":2")
            && line("spin/short/double").contains("\"before\":{")
    );
    assert!(
        line("spin/short/plus10").contains("\"accepted\":1")
            && line("spin/short/plus10").contains("\"before\":null")
    );
    let shown = harness.call("baseline show").done().code(0).stdout;
    assert!(shown.contains("again"), "{shown}");
}

#[test]
fn two_records_are_compared_and_their_times_are_advisory() {
    let harness = Harness::new();
    harness.measure("spin/short --launches 2").worker("good").done().code(0);
    fs::rename(harness.path("run.json"), harness.path("a.json")).unwrap();
    harness.measure("spin/short --launches 2").worker("good").done().code(0);
    let done = harness.call("compare a.json run.json --format json").done().code(0);
    assert!(rows(&done).iter().any(|row| row["metric"] == "heap-bytes"));
    for format in ["text", "markdown", "junit", "github"] {
        let shown = harness.call(&format!("compare a.json run.json --format {format}")).done().code(0);
        assert!(!shown.stdout.is_empty(), "{format}");
    }
    let summary = harness.path("summary.md");
    let call = harness.call("compare a.json run.json --format github");
    call.env("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()).done().code(0);
    assert!(harness.read("summary.md").contains("<!-- perfharness -->"));
    harness.call("compare a.json nowhere.json").done().code(2).says(&["nowhere.json"]);
    harness.measure("spin/short --launches 2 --seed 7").worker("good").done().code(0);
    harness.call("compare a.json run.json").done().code(2).says(&["another seed"]);
}

#[test]
fn benchmarks_are_calibrated_against_themselves() {
    let harness = accepted();
    let call = harness.call("calibrate spin/short/plus10 --launches 8 --json").worker("good");
    let found = call.done().code(0).says(&["kept in"]).json();
    let row = &found["rows"][0];
    assert_eq!(row["benchmark"], "spin/short/plus10");
    let sees: Vec<f64> = row["sees"].as_array().unwrap().iter().map(|sees| sees.as_f64().unwrap()).collect();
    assert!(sees.len() == 3 && sees.is_sorted_by(|a, b| a >= b) && sees[2] > 0.0, "{found:#}");
    // A machine that sees less than thrice the time is given no slowdown to see.
    if let Some(planted) = row["planted"].as_object() {
        assert!(planted["share"].as_f64().unwrap() > 0.0 && planted["effect"].is_number(), "{found:#}");
    }
    let figures = format!("baselines/{}", baseline(&harness));
    let file = figures.replace(".json", ".calibration.json");
    assert!(harness.read(&file).contains("\"id\":\"spin/short/plus10\",\"definition\":1,\"launches\":8,"));
    harness.call("baseline check").done().code(0);
    // It is kept without accepted figures, too, and a damaged one is refused by name.
    fs::remove_file(harness.path(&figures)).unwrap();
    let gate = || harness.call("gate spin/short/plus10 --launches 2").base_worker("good").worker("good");
    gate().done().code(4);
    harness.write(&file, harness.read(&file).replace("\"launches\":8", "\"launches\":9"));
    gate().done().code(2).says(&["the calibration", ".calibration.json is damaged", "perfharness calibrate"]);
    fs::remove_file(harness.path(&file)).unwrap();
    let exhibit = harness.call("calibrate spin/short/a").worker("good");
    exhibit.done().code(2).says(&["nothing to calibrate", "slow on purpose"]);
}

#[test]
fn a_slowdown_is_planted_in_each_row_on_request() {
    let harness = Harness::new();
    let line = "gate spin/short/plus10 --launches 16 --plant --format json --output run.json";
    let done = harness.call(line).base_worker("good").worker("good").done();
    // Whether it is seen is up to the noise of the machine.
    let found = done.json();
    let planted = &found["planted"][0];
    assert_eq!(planted["benchmark"], "spin/short/plus10", "{found:#}");
    assert!(planted["share"].as_f64().unwrap() >= 0.05 && planted["effect"].is_number(), "{found:#}");
    let open = rows(&done).into_iter().filter(|row| row["against"] == "planted").count();
    assert_eq!(open, usize::from(planted["is_seen"] == false), "{found:#}");
    assert!(harness.record().planted.is_some());
}

#[test]
fn a_row_that_cannot_vary_fails_a_gate_by_name() {
    let harness = Harness::new();
    let call = harness.call("gate raw --launches 16 --plant --markdown gate.md --output run.json");
    let done = call.base_worker("same-time").worker("same-time").done().code(4);
    done.says(&["raw/c/v", "suspect", "its time does not follow its iterations", "it cannot vary: "]);
    let page = harness.read("gate.md");
    assert!(
        page.contains("its time does not follow its iterations") && page.contains("it cannot vary"),
        "{page}"
    );
}

#[test]
fn a_worker_that_is_built_already_is_a_base() {
    let harness = Harness::new();
    // The same file is measured all the same: nobody knows what it loads. Two launches decide no time.
    let same = harness.call("gate spin/short --launches 2 --format json").base_worker("good").worker("good");
    let walls = rows(&same.done().code(4)).into_iter().filter(|row| row["metric"] == "wall-time");
    assert_eq!(walls.count(), 4);
    // The same file started in another way is another program; what it has nothing of is new, and nothing is shown.
    let other = harness.call("gate spin/short --launches 2 --format json").base_worker("bad").worker("good");
    let found = rows(&other.done().code(4));
    assert!(
        found.len() == 4 && found.iter().all(|row| row["judgement"]["verdict"] == "no-baseline"),
        "{found:#?}"
    );
    // The effort of a gate is its own: that of a run says nothing of what was accepted.
    for (config, effort) in
        [("[run]\neffort = \"quick\"\n", "standard"), ("[gate]\neffort = \"thorough\"\n", "thorough")]
    {
        harness.write("perfharness.toml", config);
        let call = harness.call("gate spin/short --launches 2 --output effort/run.json");
        call.base_worker("bad").worker("good").done().code(4);
        let record: Value = serde_json::from_str(&harness.read("effort/run.json")).unwrap();
        assert_eq!(record["run"]["effort"], effort);
    }
    // Whoever measures again has to start the same programs.
    let again = found[0]["reproduce"].as_str().unwrap();
    assert!(again.contains(" --base-worker ") && again.contains(" --worker "), "{again}");
}

#[test]
fn a_gate_that_is_asked_for_wrongly_says_so() {
    let harness = Harness::new();
    let refused = |line: &str, says: &[&str]| drop(harness.call(line).done().code(2).says(says));
    refused("gate a.json spin", &["a.json is a record"]);
    refused("gate nowhere.json", &["nowhere.json"]);
    refused("gate a.json --resume", &["a.json is a record"]);
    refused("calibrate spin --resume", &["no unfinished run"]);
    refused("gate --base x --base-worker y", &["--base"]);
    refused("gate --fail-on nothing", &["nothing"]);
    refused("gate --trust-head", &["--base"]);
    harness.write("perfharness.toml", "[gate]\ntime = -1\n");
    refused("gate", &["perfharness.toml", "negative"]);
}
