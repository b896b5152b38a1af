//! Layouts of the two builds of a gate: programs that were linked several times.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfharness_record::{LayoutFacts, RunRecord};
use serde_json::json;

use crate::fixture::{require_system, require_tool};
use crate::two_builds::Gated;

/// Files below a folder whose names contain a text.
pub(crate) fn files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry, part));
        } else if entry.file_name().unwrap().to_str().unwrap().contains(part) {
            found.push(entry);
        }
    }
    found.sort();
    found
}

fn layouts(record: &RunRecord) -> Vec<&LayoutFacts> {
    record.base.as_ref().unwrap().layouts.iter().map(|record| &record.layouts).collect()
}

/// The answer of a worker that describes itself.
fn description(program: &Path, scratch: &Path) -> String {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({"id": 1, "op": "hello", "protocols": [1], "harness": "test", "seed": 1, "device": "none", "scratch_dir": scratch});
    writeln!(input, "{hello}\n{}\n{}", json!({"id": 2, "op": "describe"}), json!({"id": 3, "op": "finish"}))
        .unwrap();
    drop(input);
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", program.display());
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().nth(1).expect("an answer to `describe`").to_owned()
}

#[test]
fn both_builds_are_linked_in_several_orders_and_measured_in_them() {
    if !(require_system(&["linux"]) && require_tool(&["git", "--version"])) {
        return;
    }
    let gated = Gated::new();
    gated.change("COPIES: u64 = 1", "COPIES: u64 = 2");
    let line = ["gated/n1/work", "--launches", "8", "--time-budget", "5s"];
    let (_, found, said) = gated.gate(&line);
    let told = found["remarks"].to_string();
    assert!(told.contains("code layout: 4 links of each side"), "{told}\n{said}");
    let records = files(&gated.harness.path("repo/reports"), "run.json");
    let record = perfharness_record::file::read(&records[0]).unwrap();
    let LayoutFacts::Compared(compared) = layouts(&record)[0] else { panic!("{said}") };
    assert_eq!((compared.base.ns.len(), compared.head.ns.len()), (4, 4));
    assert!(!compared.base.kept.is_empty() && compared.explained >= 0.0);
    for side in ["base", "head"] {
        // The links stay beside what Cargo keeps; the programs that are measured go with the gate.
        let links = files(&gated.harness.path("cache"), "gated-");
        let of_side = |path: &&PathBuf| path.components().any(|part| part.as_os_str() == side);
        let linked: Vec<&PathBuf> = links
            .iter()
            .filter(of_side)
            .filter(|path| path.extension().is_none_or(|end| end.to_str().unwrap().starts_with("layout-0")))
            .filter(|path| path.components().any(|part| part.as_os_str() == "deps"))
            .collect();
        assert_eq!(linked.len(), 4, "{links:?}");
        let contents: Vec<Vec<u8>> = linked.iter().map(|path| fs::read(path).unwrap()).collect();
        let answers: Vec<String> =
            linked.iter().map(|path| description(path, &gated.harness.path("scratch"))).collect();
        for other in 1..4 {
            assert_ne!(contents[0], contents[other], "{:?}", linked[other]);
            assert_eq!(answers[0], answers[other]);
        }
    }
    // A calibration builds the code in as many, and keeps how much they differ.
    let found = gated.calibrate(&["gated/n1/work", "--launches", "8", "--time-budget", "5s"]);
    assert!(found["rows"][0]["layout_spread"].is_number(), "{found:#}");
    let kept = files(&gated.harness.path("repo/baselines"), ".calibration.json");
    assert!(!fs::read_to_string(&kept[0]).unwrap().contains("\"layout_spread\":null"));
    fs::remove_dir_all(gated.harness.path("repo/baselines")).unwrap();
    // One layout is asked for: the program is linked and measured as it is.
    let file = "repo/perfharness.toml";
    gated.git(&["checkout", "--quiet", "main"]);
    gated.harness.write(file, "[gate]\nworker = [\"{target}/release/gated\"]\nlayouts = 1\n");
    gated.commit("one layout");
    gated.git(&["checkout", "--quiet", "change"]);
    gated.git(&["rebase", "--quiet", "main"]);
    let (_, found, said) = gated.gate(&line);
    let told = found["remarks"].to_string();
    assert!(
        told.contains("not varied for gated/n1/work, because [gate] has `layouts = 1`"),
        "{told}\n{said}"
    );
}
