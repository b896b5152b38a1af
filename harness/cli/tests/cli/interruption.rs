//! A run that is cut off goes on where it was, and nothing that was measured is lost or counted twice.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use perfharness_contract::{OutcomeKind, standard};
use perfharness_platform::clock;
use perfharness_record::RunEnd;
use rstest::rstest;
use serde_json::Value;
use sysinfo::{ProcessRefreshKind, RefreshKind, System, UpdateKind};

use crate::fixture::{Done, Harness, Running, require_signals, require_tool};
use crate::samples;

const JOURNAL: &str = "run.journal.jsonl";
const ONE: &str = "spin/short/a --launches 3";
const PAIR: &str = "spin/short/a spin/short/a-again --launches 3";

/// The complete lines of the journal; none if there is no journal.
fn journal(harness: &Harness) -> Vec<Value> {
    let text = fs::read_to_string(harness.path(JOURNAL)).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let entry = |line: &str| serde_json::from_str::<Value>(line).unwrap()["entry"].take();
    complete.lines().map(entry).collect()
}

/// Waits until the journal has so many lines, or the program has ended.
pub(crate) fn wait_for_lines(harness: &Harness, running: &mut Running, lines: usize) {
    wait_for(harness, running, |journal| journal.len() >= lines);
}

/// Waits for something in the journal, or until the program has ended.
fn wait_for(harness: &Harness, running: &mut Running, is_there: impl Fn(&[Value]) -> bool) {
    let start = clock::now();
    while !is_there(&journal(harness)) && !running.has_ended() {
        assert!(start.elapsed() < Duration::from_mins(2), "it is not in the journal");
        thread::sleep(Duration::from_millis(2));
    }
}

/// (case, launch, placement, block)
pub(crate) type BlockKey = (u64, u64, u64, u64);

fn finished_blocks(journal: &[Value]) -> BTreeSet<BlockKey> {
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
    let of = |event: &Value| {
        (number(event, "case"), number(event, "launch"), number(event, "placement"), number(event, "block"))
    };
    journal.iter().filter(|event| event["event"] == "block-finished").map(of).collect()
}

/// Blocks in the samples of a run with one case; fails where a sample is there twice.
pub(crate) fn measured_blocks(path: &Path) -> BTreeSet<BlockKey> {
    let rows = samples::read(path);
    let unique: BTreeSet<_> = rows.iter().map(|row| &row.key).collect();
    assert_eq!(unique.len(), rows.len(), "samples are there twice");
    let timed = rows.iter().filter(|row| row.key.mode == "timed" && row.key.metric == standard::WALL_TIME);
    let unsigned = |number: i32| u64::try_from(number).unwrap();
    timed
        .map(|row| (0, unsigned(row.key.launch), unsigned(row.key.placement), unsigned(row.key.block)))
        .collect()
}

/// Programs in the folder that still run.
pub(crate) fn survivors(harness: &Harness) -> Vec<String> {
    let processes = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
    let system = System::new_with_specifics(RefreshKind::nothing().with_processes(processes)).unwrap();
    let folder = harness.path("");
    let exes = system.processes().values().filter_map(|process| process.exe());
    exes.filter(|exe| exe.starts_with(&folder)).map(|exe| exe.display().to_string()).collect()
}

#[track_caller]
pub(crate) fn assert_no_survivors(harness: &Harness) {
    let start = clock::now();
    loop {
        let alive = survivors(harness);
        if alive.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(3), "still running: {alive:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn resume(harness: &Harness) -> Done {
    harness.call("run --resume --output run.json").done()
}

#[rstest]
#[case::before_the_first_launch(1)]
#[case::while_workers_start(3)]
#[case::within_the_first_block(16)]
#[case::between_placements(30)]
#[case::in_a_later_launch(100)]
fn a_killed_run_goes_on_and_keeps_every_complete_block(#[case] lines: usize) {
    let harness = Harness::new();
    harness.copy_worker("mine");
    let mut running = harness.measure(PAIR).copied_worker("mine").start();
    wait_for_lines(&harness, &mut running, lines);
    let killed = running.kill();
    assert!(!killed.status.success(), "it ended too early to be killed");
    assert_no_survivors(&harness);
    assert!(!harness.path("run.json").exists());
    let before = finished_blocks(&journal(&harness));

    resume(&harness).code(0);
    let record = harness.record();
    assert_eq!((record.run.ended, record.run.resumed), (RunEnd::Complete, 1));
    let after = measured_blocks(&harness.path("run.samples.parquet"));
    assert!(after.is_superset(&before), "lost: {:?}", before.difference(&after));
    assert_eq!(after.len() as u64, record.cases[0].blocks);
    let launches: BTreeSet<u64> = after.iter().map(|block| block.1).collect();
    assert_eq!(launches.len(), 3, "{launches:?}");
    for variant in ["a", "a-again"] {
        assert_eq!(harness.benchmark(&format!("spin/short/{variant}")).outcome.kind, OutcomeKind::Ok);
    }
    assert!(!harness.path(JOURNAL).exists());
    assert_no_survivors(&harness);
    harness.call("show run.json --check").done().code(0);
}

/// The leftovers of a run that is killed in its first launch, and the complete lines of its journal.
fn killed_run(line: &str) -> (Harness, String) {
    let harness = Harness::new();
    let mut running = harness.measure(line).worker("good").start();
    wait_for_lines(&harness, &mut running, 12);
    running.kill();
    let left = harness.read(JOURNAL);
    let complete = left.rfind('\n').unwrap() + 1;
    (harness, left[..complete].to_owned())
}

#[test]
fn a_line_that_was_cut_off_is_left_out_when_the_run_goes_on() {
    let (harness, journal) = killed_run(ONE);
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    let (last, rest) = lines.split_last().unwrap();
    let mut cut = rest.concat().into_bytes();
    cut.extend_from_slice(&last.as_bytes()[..last.len() / 2]);
    // The first byte of a character that has two, as a crash can leave it.
    cut.push("×".as_bytes()[0]);
    harness.write(JOURNAL, cut);
    resume(&harness).code(0);
    assert_eq!(harness.record().run.resumed, 1);
    harness.call("show run.json --check").done().code(0);
}

#[test]
fn two_runs_do_not_write_to_one_place_at_the_same_time() {
    let harness = Harness::new();
    let mut running = harness.measure("spin/short/a --launches 1000").worker("good").start();
    wait_for_lines(&harness, &mut running, 4);
    let refused = harness.measure("spin/short/a --launches 1").worker("good").done().code(2);
    refused.says(&["another run", "run.json", "--output"]);
    resume(&harness).code(2).says(&["another run"]);
    running.kill();
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
}

#[test]
fn a_run_can_be_cut_off_again_and_again() {
    let harness = Harness::new();
    let mut running = harness.measure("spin/short/a --launches 3").worker("good").start();
    for lines in [4, 30] {
        wait_for_lines(&harness, &mut running, lines);
        assert!(!running.kill().status.success());
        running = harness.call("run --resume --output run.json").start();
    }
    running.wait().code(0);
    let record = harness.record();
    // A resume that is killed before its first event has not gone on with anything.
    assert_eq!((record.run.ended, record.run.resumed), (RunEnd::Complete, 2));
    let blocks = measured_blocks(&harness.path("run.samples.parquet"));
    assert_eq!(blocks.len() as u64, record.cases[0].blocks);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_the_run_can_go_on() {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    harness.copy_worker("mine");
    let mut running = harness.measure("spin/short/a spin/long/a --launches 3").copied_worker("mine").start();
    // The first launch has ended by then, so that its result was checked after timing.
    wait_for_lines(&harness, &mut running, 50);
    let interrupt = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let done = running.wait().code(130);
    assert!(done.stdout.contains("the same command and --resume"), "{}", done.stdout);
    assert_no_survivors(&harness);
    assert_eq!(fs::read_dir(harness.path("scratch")).unwrap().count(), 0, "a folder of a worker is left");

    let record = harness.record();
    assert_eq!(record.run.ended, RunEnd::Interrupted);
    assert_eq!(harness.benchmark("spin/short/a").outcome.kind, OutcomeKind::Ok);
    assert_eq!(harness.benchmark("spin/long/a").outcome.kind, OutcomeKind::NotRun);
    harness.call("show run.json --check").done().code(0);

    // The whole command line with --resume behind it is as good as --resume alone.
    let same = harness.measure("spin/short/a spin/long/a --launches 3 --resume").copied_worker("mine").done();
    same.code(0);
    let record = harness.record();
    assert_eq!((record.run.ended, record.run.resumed), (RunEnd::Complete, 1));
    assert_eq!(harness.benchmark("spin/long/a").outcome.kind, OutcomeKind::Ok);
    assert!(!harness.path("earlier").exists(), "the record of the same run was moved aside");
}

#[rstest]
#[case::a_different_number_of_launches("spin/short/a --launches 4")]
#[case::another_pattern("spin/short --launches 3")]
#[case::another_seed("spin/short/a --launches 3 --seed 5")]
#[case::flags_without_a_pattern("--launches 3")]
fn resuming_with_other_arguments_is_refused(#[case] line: &str) {
    let (harness, journal) = killed_run(ONE);
    let done = harness.measure(line).args(["--resume"]).worker("good").done().code(2);
    done.says(&["started with other arguments", "`run --resume` alone"]);
    assert_eq!(harness.read(JOURNAL), journal, "the journal has to stay for the right call");
}

#[rstest]
#[case::of_a_gate("gate --baselines accepted", 0)]
#[case::of_a_calibration("calibrate", 0)]
#[case::of_what_a_calibration_adds_to_its_plan("calibrate", 1)]
fn what_is_cut_off_goes_on(#[case] command: &str, #[case] case: u64) {
    let harness = Harness::new();
    let accept =
        "baseline accept --runs 1 --only spin/short/double --launches 2 --baselines accepted --reason first";
    harness.call(accept).worker("good").done().code(0);
    let line = format!("{command} spin/short/double --output run.json");
    let call = |more: &str| harness.call(&line).args(more.split_whitespace()).worker("good");
    let mut running = call("--launches 8").start();
    let has_begun = |event: &Value| event["event"] == "block-finished" && event["case"] == case;
    wait_for(&harness, &mut running, |journal| journal.iter().any(has_begun));
    let killed = running.kill();
    if killed.status.success() && case == 1 {
        // A calibration plants nothing where the machine sees no slowdown that is worth it.
        eprintln!("SKIPPED: the machine is too busy for a planted slowdown");
        return;
    }
    assert!(!killed.status.success(), "it ended too early to be killed");
    let before = finished_blocks(&journal(&harness)).iter().filter(|block| block.0 == 0).count() as u64;

    call("--launches 5 --resume").done().code(2).says(&["started with other arguments"]);
    call("--launches 8 --resume").done().code(0);
    let record = harness.record();
    assert_eq!((record.run.ended, record.run.resumed), (RunEnd::Complete, 1));
    assert_eq!(record.cases[0].launches.len(), 8);
    assert!(record.cases[0].blocks >= before && before > 0, "{before} blocks before: {:?}", record.cases[0]);
    assert!(record.planted.is_some() || case == 0);
    assert!(!harness.path(JOURNAL).exists());
    harness.call("show run.json --check").done().code(0);
}

#[test]
fn resuming_with_other_code_is_refused() {
    if !require_tool(&["git", "--version"]) {
        return;
    }
    let (harness, journal) = killed_run(ONE);
    let git = |line: &str| {
        let mut git = harness.command("git".as_ref(), &line.split_whitespace().collect::<Vec<_>>());
        assert!(git.status().unwrap().success(), "git {line}");
    };
    git("init --quiet --initial-branch main");
    harness.write("code.txt", "as it is");
    git("add code.txt");
    git("-c user.name=test -c user.email=test@localhost commit --quiet --message first");
    resume(&harness).code(2).says(&["the code here", "has changed", "without --resume"]);
    assert_eq!(harness.read(JOURNAL), journal);
}

#[test]
fn resuming_with_a_changed_worker_is_refused() {
    let (harness, journal) = killed_run(ONE);
    // Whatever files the command names are the worker; so far, `good` named none.
    harness.write("good", "now it does");
    resume(&harness).code(2).says(&["a worker program has changed", "without --resume"]);
    assert_eq!(harness.read(JOURNAL), journal);
}

#[test]
fn resuming_what_is_not_there_is_refused() {
    let harness = Harness::new();
    resume(&harness).code(2).says(&["no unfinished run", "without --resume"]);
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
    resume(&harness).code(2).says(&["no unfinished run", "without --resume"]);
}

#[rstest]
#[case::of_the_first_version("{\"journal\":1,\"run\":\"x\"}\n", "another version of perfharness")]
#[case::of_a_later_version("{\"digest\":\"\",\"entry\":{\"journal\":3}}\n", "another version of perfharness")]
#[case::whose_header_was_edited(
    "{\"digest\":\"0\",\"entry\":{\"journal\":2}}\n",
    "its first line is damaged"
)]
#[case::that_is_empty("", "first line is incomplete")]
#[case::that_is_something_else("hello\n", "its first line")]
fn a_journal_that_cannot_be_read_is_refused_with_the_next_step(#[case] journal: &str, #[case] why: &str) {
    let harness = Harness::new();
    harness.write(JOURNAL, journal);
    resume(&harness).code(2).says(&[why, "run.journal.jsonl", "without --resume"]);
}

#[test]
fn a_run_goes_on_from_before_the_damage_of_its_journal_and_tells() {
    let (harness, journal) = killed_run(ONE);
    let mut lines: Vec<String> = journal.lines().map(str::to_owned).collect();
    // A damaged figure that still parses: only its digest reveals it.
    let damaged = lines.iter().position(|line| line.contains("\"wall_ns\":")).unwrap();
    lines[damaged] = lines[damaged].replacen("\"wall_ns\":", "\"wall_ns\":9", 1);
    harness.write(JOURNAL, format!("{}\n", lines.join("\n")));
    let line = format!("line {} of the journal", damaged + 1);
    resume(&harness).code(0).says(&[&line, "measured again"]);
    assert_eq!(harness.record().run.resumed, 1);
    harness.call("show run.json --check").done().code(0);
}

#[test]
fn a_new_run_keeps_the_journal_of_the_one_that_was_cut_off() {
    let (harness, journal) = killed_run(ONE);
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
    let files = harness.files();
    let kept = files.iter().find(|name| name.contains("before-")).unwrap_or_else(|| panic!("{files:?}"));
    assert!(harness.read(kept).starts_with(&journal));
}
