//! Tests the experiment with gates from end to end, with a planted effect that no noise hides.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

fn gates(output: &Path, more: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfharness-experiment"));
    command.args(["gates", "--gates", "1", "--kernels", "spin", "--planted", "20", "--threshold", "0.5"]);
    command.args(["--launch-ms", "100", "--output"]).arg(output).args(more).output()
}

#[test]
fn a_gate_finds_what_is_planted_and_is_not_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("gates.jsonl");
    // A machine that is suspended for a while leaves a gate undecided, whatever is planted.
    let mut text = String::new();
    for _ in 0..5 {
        let _ = fs::remove_file(&output);
        let ran = gates(&output, &[]).unwrap();
        text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{text}");
        if text.contains("1 of 1 gates regressed") {
            break;
        }
    }
    assert!(text.contains("1 of 1 gates regressed") && text.contains("spin: 1 flagged at first"), "{text}");
    let lines = fs::read_to_string(&output).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(line["outcomes"][0], "regressed");
    assert!(line["rows"][0]["fresh_values"].as_array().unwrap().len() >= 8);
    // An incomplete line of a killed experiment does no harm.
    fs::write(&output, format!("{lines}{{\"number\":2,\"pla")).unwrap();
    let again = String::from_utf8_lossy(&gates(&output, &["--summary"]).unwrap().stdout).into_owned();
    assert!(again.contains("1 of 1 gates regressed"), "{again}");
    // Results of other conditions are not mixed.
    let other = gates(&output, &["--neighbour"]).unwrap();
    assert!(!other.status.success());
    assert!(String::from_utf8_lossy(&other.stdout).contains("holds another experiment"));
}
