//! Whatever happens to the harness, or is done to it, it leaves a record that is whole or none, and nothing else.

use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use perfharness_contract::OutcomeKind;
use perfharness_platform::clock;
use perfharness_record::RunEnd;
use rstest::rstest;

use crate::fixture::{Harness, PROGRAM, Running, require_signals, require_system};
use crate::interruption::{assert_no_survivors, measured_blocks, survivors, wait_for_lines};

/// Folders of workers that are still there.
fn scratch_folders(harness: &Harness) -> usize {
    fs::read_dir(harness.path("scratch")).unwrap().count()
}

#[rstest]
#[case::that_ends_as_it_should("leaves-child", 0, OutcomeKind::Ok, "")]
#[case::that_dies(
    "leaves-child-and-dies",
    5,
    OutcomeKind::Crashed,
    "it ended during `sample` with exit code 1"
)]
#[case::that_is_given_up(
    "leaves-child-and-hangs",
    5,
    OutcomeKind::TimedOut,
    "no answer to `sample` within 2.0 s"
)]
fn what_a_worker_started_ends_with_a_worker(
    #[case] mode: &str,
    #[case] code: i32,
    #[case] kind: OutcomeKind,
    #[case] reason: &str,
) {
    let harness = Harness::new();
    harness.copy_worker("mine");
    let call = harness.measure("raw --launches 1 --timeout 2s").copied_worker_in("mine", mode);
    call.done().code(code);
    let outcome = harness.benchmark("raw/c/v").outcome;
    assert_eq!(outcome.kind, kind, "{outcome:?}");
    assert!(outcome.reason.unwrap_or_default().contains(reason));
    assert_no_survivors(&harness);
    assert_eq!(scratch_folders(&harness), 0);
}

#[test]
fn nothing_that_a_worker_started_outlives_a_killed_harness() {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    harness.copy_worker("mine");
    let call = harness.measure("raw --launches 1").copied_worker_in("mine", "leaves-child-and-hangs");
    let mut running = call.start();
    let start = clock::now();
    while survivors(&harness).len() < 2 && !running.has_ended() {
        assert!(start.elapsed() < Duration::from_mins(1), "the worker starts no other process");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!running.kill().status.success());
    assert_no_survivors(&harness);

    // The folders of its workers go with the next run, whatever that measures.
    assert!(scratch_folders(&harness) > 0, "a harness that is killed has no time for that");
    harness.call("run spin/short/a --launches 1 --output other.json").worker("good").done().code(0);
    assert_eq!(scratch_folders(&harness), 0);
}

/// A number below `below`, from a generator that is the same everywhere.
fn next_below(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[rstest]
#[case(1)]
#[case(2)]
fn a_run_that_is_killed_at_any_time_goes_on_until_it_is_done(#[case] seed: u64) {
    let harness = Harness::new();
    harness.copy_worker("mine");
    let first =
        || harness.measure("spin/short/a spin/short/a-again --launches 4").copied_worker("mine").start();
    let mut state = seed;
    let mut kills = 0;
    loop {
        // A run that did not get as far as a line of its journal has not begun, and one without a journal is done.
        let begun = has_begun(&harness);
        if !begun && harness.path("run.json").exists() {
            break;
        }
        let resume = || harness.call("run --resume --output run.json").start();
        let mut running = if begun { resume() } else { first() };
        if kills == 5 {
            running.wait().code(0);
            break;
        }
        thread::sleep(Duration::from_millis(next_below(&mut state, 500)));
        if running.has_ended() {
            running.wait().code(0);
            break;
        }
        running.kill();
        kills += 1;
        assert_no_survivors(&harness);
    }
    let record = harness.record();
    assert_eq!(record.run.ended, RunEnd::Complete);
    let blocks = measured_blocks(&harness.path("run.samples.parquet"));
    assert_eq!(blocks.len() as u64, record.cases[0].blocks);
    harness.call("show run.json --check").done().code(0);
    assert_no_survivors(&harness);
    assert_eq!(harness.files(), ["mine", "run.json", "run.samples.parquet"].map(on_disk));
    // The next run removes the leftovers of the last killed run.
    harness.call("run spin/short/a --launches 1 --output next.json").worker("good").done().code(0);
    assert_eq!(scratch_folders(&harness), 0);
}

/// The name of a file; a program has an ending on some systems.
fn on_disk(name: &str) -> String {
    if name == "mine" { format!("{name}{}", std::env::consts::EXE_SUFFIX) } else { name.to_owned() }
}

fn has_begun(harness: &Harness) -> bool {
    fs::read_to_string(harness.path("run.journal.jsonl")).is_ok_and(|journal| journal.contains('\n'))
}

/// A call of the program that may not write files of more than so many blocks of 512 bytes, as on a disk that is full.
fn with_little_room(harness: &Harness, blocks: u32) -> Command {
    // Without the signal, a write fails as it does for want of room.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    harness.command("sh".as_ref(), &["-c", &script, PROGRAM, "run", "--output", "run.json"])
}

#[rstest]
#[case::at_the_start(0, 1, &["run.journal.jsonl"], false)]
#[case::in_the_middle(64, 0, &["could not have been resumed"], true)]
#[case::at_the_end(12, 1, &["run."], false)]
fn a_full_disk_is_told_of_and_leaves_a_whole_record_or_none(
    #[case] blocks: u32,
    #[case] code: i32,
    #[case] words: &[&str],
    #[case] is_recorded: bool,
) {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    let call = harness.call_of(with_little_room(&harness, blocks));
    let call = call.args("spin/short/a spin/short/a-again --launches 5 --no-telemetry".split_whitespace());
    call.worker("good").done().code(code).says(words);
    assert_eq!(harness.path("run.json").exists(), is_recorded);
    assert!(!harness.files().iter().any(|name| name.contains("tmp")), "{:?}", harness.files());
    assert_eq!(scratch_folders(&harness), 0);
    if is_recorded {
        assert_eq!(harness.record().run.ended, RunEnd::Complete);
        harness.call("show run.json --check").done().code(0);
    }
    // With room there is a record.
    harness.measure("spin/short/a --launches 1").worker("good").done().code(0);
}

#[test]
fn a_place_that_cannot_be_written_to_is_refused_before_anything_is_measured() {
    let harness = Harness::new();
    harness.write("file", "is no folder");
    let call = harness.call("run spin/short/a --launches 1 --output file/run.json").worker("good");
    let done = call.done();
    assert!(!done.status.success());
    done.says(&["file"]);
    assert_eq!(harness.read("file"), "is no folder");
    assert_eq!(harness.files(), ["file"]);
    assert_eq!(scratch_folders(&harness), 0);
}

#[rstest]
#[case::interrupt("INT")]
#[case::terminate("TERM")]
#[case::hang_up("HUP")]
fn a_signal_ends_a_run_in_good_order(#[case] signal: &str) {
    if !require_signals() {
        return;
    }
    let harness = Harness::new();
    harness.copy_worker("mine");
    let mut running =
        harness.measure("spin/short/a spin/long/a --launches 50").copied_worker_in("mine", "good").start();
    wait_for_lines(&harness, &mut running, 30);
    let sent =
        Command::new("kill").args([&format!("-{signal}"), &running.id().to_string()]).status().unwrap();
    assert!(sent.success());
    running.wait().code(130);
    assert_no_survivors(&harness);
    assert_eq!(scratch_folders(&harness), 0);
    assert_eq!(harness.record().run.ended, RunEnd::Interrupted);
    harness.call("show run.json --check").done().code(0);
}

/// The most that a hostile worker may make the harness hold, beyond what it holds for a good one.
const MOST_BYTES: u64 = 64 << 20;

/// Runs a worker and returns the memory of the harness in bytes; `None` if it is unknown.
fn weighed(harness: &Harness, patterns: &str, mode: &str) -> Option<u64> {
    let call = harness.measure(&format!("{patterns} --launches 2 --timeout 60s --no-telemetry"));
    let (done, peak) = Running::wait_and_weigh(call.worker(mode).start());
    assert!(done.status.code().is_some(), "{done:?}");
    (peak > 0).then_some(peak)
}

#[rstest]
#[case::answers_with_a_huge_frame("huge-frame", "")]
#[case::never_ends_a_line("endless", "")]
#[case::has_a_case_with_costly_parameters("costly-case", "ok")]
#[case::answers_again_and_again("flood", "crashed")]
#[case::prints_without_end("torrent", "it ended during `sample` with exit code 1")]
#[case::has_thousands_of_readings("readings", "take more than 1024 KiB")]
fn no_worker_makes_the_harness_hold_much_that(#[case] mode: &str, #[case] outcome: &str) {
    if !require_system(&["linux"]) {
        return;
    }
    let harness = Harness::new();
    let usual = weighed(&harness, "spin/short/a", "good").expect("told on Linux");
    let hostile = weighed(&harness, "raw", mode).expect("told on Linux");
    eprintln!("{mode}: {} MiB, and {} MiB for a good worker", hostile >> 20, usual >> 20);
    assert!(hostile <= usual + MOST_BYTES, "{hostile} bytes against {usual}");
    if !outcome.is_empty() {
        let found = harness.benchmark("raw/c/v").outcome.in_words();
        assert!(found.contains(outcome), "{found}");
    }
}
