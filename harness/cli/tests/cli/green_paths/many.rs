//! Gates that run at once, and gates that are cut off.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use perfharness_platform::env;

use super::table::{GATED, ROW, Repo, Row, UNIX};
use crate::fixture::{Done, Running, require_signals};

/// Variable with the number of gates of one repository to start at once.
const NUMBER: &str = "PERFHARNESS_GATES";
const FEW: usize = 12;
const AT_A_TIME: usize = 4;

const OWN: Row = Row { base: |repo| repo.configure(GATED), ..ROW };

/// The exit codes of gates of one repository, in the order in which they ended, with what each said.
fn gates_at_once(repo: &Repo, number: usize) -> Vec<(i32, String)> {
    let next = AtomicUsize::new(0);
    let gates = || {
        let mut ended = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= number {
                return ended;
            }
            let record: PathBuf = repo.harness.path(&format!("out/{at}/run.json"));
            let done = repo.call_to(&OWN, &record).done();
            ended.push((done.status.code().unwrap_or(-1), done.stderr));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(gates)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Two gates of one repository shared the folder that both sides are built into.
#[test]
fn gates_at_once_find_the_change_or_are_locked_out() {
    let Some(repo) = OWN.arranged() else { return };
    let number = env::var(NUMBER).map_or(FEW, |text| text.parse().expect("PERFHARNESS_GATES is a number"));
    let ended = gates_at_once(&repo, number);
    assert_eq!(ended.len(), number);
    let is_right =
        |(code, said): &&(i32, String)| *code == 3 || (*code == 1 && said.contains("another gate"));
    let wrong: Vec<_> = ended.iter().filter(|gate| !is_right(gate)).collect();
    assert!(wrong.is_empty(), "{} of {number} gates: {wrong:#?}", wrong.len());
    let found = ended.iter().filter(|(code, _)| *code == 3).count();
    assert!(found > 0, "no gate found the change: {ended:#?}");
    eprintln!("{found} of {number} gates found the change, {} were locked out", number - found);
}

/// Starts the gate of a row, and sends a signal once a worker of it is measured.
fn signalled(repo: &Repo, row: &Row, signal: &str) -> Done {
    let mut running: Running = repo.call(row).start();
    let launches = repo.harness.path("scratch/launches");
    while !launches.exists() {
        assert!(!running.has_ended(), "it ended before anything was measured");
        thread::sleep(Duration::from_millis(5));
    }
    let mut kill = repo.harness.command("kill".as_ref(), &[signal, &running.id().to_string()]);
    assert!(kill.status().unwrap().success());
    running.wait()
}

/// A change whose worker is slow and reports that it is measured.
const SLOW: Row = Row {
    arrange: |repo| {
        repo.plant();
        repo.code(
            "    if op == \"prepare\":\n",
            "    if op == \"prepare\":\n        launch()\n        time.sleep(0.3)\n",
        );
    },
    systems: UNIX,
    ..OWN
};

#[test]
fn a_gate_that_is_interrupted_is_no_green_one_and_goes_on() {
    if !require_signals() {
        return;
    }
    let Some(repo) = SLOW.arranged() else { return };
    let done = signalled(&repo, &SLOW, "-INT").code(130);
    assert!(done.stderr.contains("--resume"), "{}", done.stderr);
    assert!(repo.found().is_null(), "an interrupted gate left a gate.json");
    let resumed =
        Row { line: "gate --base main gated/n1/work --resume --output {above}/out/run.json", ..SLOW };
    resumed.judged(&repo);
}

#[test]
fn a_gate_that_is_terminated_is_no_green_one() {
    if !require_signals() {
        return;
    }
    let Some(repo) = SLOW.arranged() else { return };
    let done = signalled(&repo, &SLOW, "-TERM");
    assert_ne!(done.status.code(), Some(0), "{done:?}");
    assert!(repo.found().is_null(), "a terminated gate left a gate.json");
}

#[test]
fn a_gate_after_one_that_was_killed_finds_the_change() {
    if !require_signals() {
        return;
    }
    let Some(repo) = SLOW.arranged() else { return };
    let done = signalled(&repo, &SLOW, "-KILL");
    assert_eq!(done.status.code(), None, "{done:?}");
    fs::remove_dir_all(repo.harness.path("out")).unwrap();
    Row { line: "gate --base main gated/n1/work", ..SLOW }.judged(&repo);
}
