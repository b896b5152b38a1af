//! Tests the experiment with gates from end to end, with a planted effect that no noise hides.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

fn suite(output: &Path, more: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfharness-experiment"));
    command.args(["suite", "--program", env!("CARGO_BIN_EXE_perfharness-experiment-subject")]);
    command.args([
        "--benchmarks",
        "spin-1,spin-2",
        "--planted",
        "5",
        "--kernels",
        "spin",
        "--threshold",
        "0.5",
    ]);
    command.args(["--time-budget", "20", "--output"]).arg(output).args(more).output()
}

fn text(ran: &Output) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_gate_finds_what_is_planted_and_is_judged_again_from_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("gates.jsonl");
    // A machine that is suspended for a while leaves a gate undecided, whatever is planted.
    let mut told = String::new();
    for _ in 0..5 {
        let _ = fs::remove_file(&output);
        let ran = suite(&output, &["--gates", "4..5"]).unwrap();
        told = text(&ran);
        assert!(ran.status.success(), "{told}");
        if told.contains("gate 4: Regressed") {
            break;
        }
    }
    assert!(told.contains("gate 4: Regressed") && told.contains("regressed: spin-1;"), "{told}");
    let lines = fs::read_to_string(&output).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!((&line["outcome"], &line["planted_in"]), (&"regressed".into(), &"spin-1".into()));
    // Data of every round, with the iterations, and fresh launches of the flag.
    let rows = line["rows"].as_array().unwrap();
    let launch = &rows[0]["launches"][0];
    assert!(launch["i"][0].as_u64().unwrap() > 0 && launch["i"][0] == launch["i"][1], "{launch}");
    assert_eq!(launch["p"][0][0].as_array().unwrap().len(), 4);
    assert_eq!(rows.iter().filter(|row| row["stage"] == "confirmation").count(), 1);
    // An incomplete line of a killed experiment does no harm.
    fs::write(&output, format!("{lines}{{\"number\":2,\"pla")).unwrap();
    let again = text(&suite(&output, &["--summary"]).unwrap());
    assert!(
        again.contains("judged again by the rule of today: exit 0: 0") && again.contains("exit 3: 1 "),
        "{again}"
    );
    assert!(again.contains("planted in spin: found 1 of 1"), "{again}");
    // What is there is not measured again, and results of other conditions are not mixed.
    assert_eq!(text(&suite(&output, &["--gates", "4..5"]).unwrap()), "");
    let other = suite(&output, &["--neighbours", "1"]).unwrap();
    assert!(!other.status.success() && text(&other).contains("holds another experiment"), "{}", text(&other));
}
