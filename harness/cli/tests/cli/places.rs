//! Places that records are written to, and places that are refused.

use std::fs;

use crate::fixture::{Done, Harness, PROGRAM, require_signals, require_system};

const QUICKLY: &str = "spin/short/a --launches 1 --time-budget 100ms";

#[test]
fn an_older_record_is_kept_with_its_samples() {
    let harness = Harness::new();
    harness.measure(QUICKLY).worker("good").done().code(0);
    let older = harness.record();
    let text = harness.read("run.json");
    harness.measure(QUICKLY).worker("good").done().code(0);
    assert_ne!(harness.record().run.id, older.run.id);
    let kept = format!("earlier/{}/run.json", older.run.id);
    assert_eq!(harness.read(&kept), text);
    harness.call(&format!("show {kept} --check")).done().code(0);
    harness.call("show run.json --check").done().code(0);
    assert_eq!(harness.files(), ["earlier", "run.json", "run.samples.parquet"]);
}

#[test]
fn folders_are_made_for_the_record() {
    let harness = Harness::new();
    harness.call("run spin/short/a --launches 1 --output a/b/x.json").worker("good").done().code(0);
    harness.call("show a/b/x.json --check").done().code(0);
}

#[test]
fn without_output_the_record_goes_below_reports() {
    let harness = Harness::new();
    harness.call("run").args(QUICKLY.split(' ')).worker("good").done().code(0);
    harness.call("show reports/no-commit/run.json --check").done().code(0);
}

#[test]
fn a_place_below_a_file_is_refused_before_anything_is_measured() {
    let harness = Harness::new();
    harness.write("file", "");
    let done = harness.call("run spin/short/a --output file/run.json").worker("good").done().code(1);
    let done = done.says(&["run.lock"]);
    assert!(!done.stderr.contains("measuring"), "{}", done.stderr);
    assert_eq!(harness.files(), ["file"]);
}

#[test]
fn a_folder_is_no_place_for_a_record() {
    let harness = Harness::new();
    harness.write("reports/other", "");
    let done = harness.call("run spin/short/a --output reports").worker("good").done().code(2);
    done.says(&["reports", "it is a folder", "--output"]);
    assert_eq!(harness.files(), ["reports"]);
}

#[test]
fn what_is_no_record_is_not_overwritten() {
    let harness = Harness::new();
    for text in ["{\"name\": \"a package\"}", "{\"format\": 99}", "all my notes"] {
        harness.write("run.json", text);
        harness.measure(QUICKLY).worker("good").done().code(2).says(&["something else is there", "--output"]);
        assert_eq!(harness.read("run.json"), text);
    }
    assert_eq!(harness.files(), ["run.json"]);
    // An empty file holds nothing to lose: `--output "$(mktemp)"` works.
    harness.write("run.json", "");
    harness.measure(QUICKLY).worker("good").done().code(0);
}

#[test]
fn a_device_is_not_replaced_by_a_record() {
    if !require_system(&["linux", "macos"]) {
        return;
    }
    let harness = Harness::new();
    let done = harness.call("run spin/short/a --output /dev/null").worker("good").done().code(2);
    done.says(&["/dev/null", "not a regular file"]);
}

#[test]
fn what_a_link_names_is_written_and_the_link_stays() {
    if !require_system(&["linux", "macos"]) {
        return;
    }
    let harness = Harness::new();
    harness.measure(QUICKLY).worker("good").done().code(0);
    let link = |target: &str, link: &str| {
        assert!(harness.command("ln".as_ref(), &["-s", target, link]).status().unwrap().success());
    };
    let junit = |path: &str| {
        let done = harness.call("compare run.json run.json --format json --junit").args([path]).done();
        assert!(harness.path(path).is_symlink());
        done.stdout.contains("<testsuite")
    };
    link("/dev/stdout", "pipe");
    assert!(junit("pipe"));
    harness.write("real.xml", "old");
    let mut kept = fs::metadata(harness.path("real.xml")).unwrap().permissions();
    kept.set_readonly(true);
    fs::set_permissions(harness.path("real.xml"), kept.clone()).unwrap();
    link("real.xml", "link.xml");
    assert!(!junit("link.xml") && harness.read("real.xml").contains("<testsuite"));
    assert_eq!(fs::metadata(harness.path("real.xml")).unwrap().permissions(), kept);
    link("later.xml", "first.xml");
    assert!(!junit("first.xml") && harness.read("later.xml").contains("<testsuite"));

    // Earlier output in the file stays.
    let script =
        "echo before >log; \"$0\" compare run.json run.json --format json --junit /dev/stdout >>log; true";
    assert!(harness.command("sh".as_ref(), &["-c", script, PROGRAM]).status().unwrap().success());
    let log = harness.read("log");
    assert!(
        log.starts_with("before\n") && log.contains("<testsuite") && log.contains("\"outcome\""),
        "{log}"
    );

    // A record, too, with what comes beside it; and the one before is kept.
    fs::create_dir(harness.path("kept")).unwrap();
    link("kept/run.json", "latest.json");
    for _ in 0..2 {
        let run = harness.call("run spin/short/a --launches 1 --time-budget 100ms --output latest.json");
        run.worker("good").done().code(0);
        assert!(harness.path("latest.json").is_symlink());
        harness.call("show latest.json --check").done().code(0);
    }
    assert_eq!(fs::read_dir(harness.path("kept/earlier")).unwrap().count(), 1);
}

/// Runs a benchmark where no file may grow beyond so many blocks of 512 bytes.
fn on_a_full_disk(harness: &Harness, blocks: u32) -> Done {
    // If the signal is ignored, writing fails as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let arguments = ["-c", &script, PROGRAM];
    let command = harness.command("sh".as_ref(), &arguments);
    harness
        .call_of(command)
        .args("run --output run.json --launches 2 spin/short".split(' '))
        .worker("good")
        .done()
}

#[test]
fn a_full_disk_is_told_and_leaves_no_half_a_record() {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    on_a_full_disk(&harness, 2).code(1).says(&["run.", "too large"]);
    let left = harness.files();
    assert!(!left.contains(&"run.json".into()) && !left.contains(&"run.samples.parquet".into()), "{left:?}");
}

#[test]
fn a_journal_that_cannot_grow_costs_resuming_but_not_the_record() {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    on_a_full_disk(&harness, 64).code(0).says(&["could not have been resumed"]);
    harness.call("show run.json --check").done().code(0);
}
