//! `show` with a record stored beside the tests, which stays readable as long as its format.

use std::path::Path;

use serde_json::Value;

use crate::fixture::{Harness, require_tool};

fn stored_record() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/record.json");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_record_is_shown_with_its_cases_claims_and_open_questions() {
    let harness = Harness::new();
    harness.write("run.json", stored_record());
    insta::assert_snapshot!(harness.call("show run.json").done().code(0).stdout);
}

#[test]
fn a_record_is_shown_in_colours_that_can_be_told_apart() {
    let harness = Harness::new();
    harness.write("run.json", stored_record());
    let colored = harness.call("show run.json --color always").done().code(0).stdout;
    let visible = colored.replace('\u{1b}', "␛");
    insta::assert_snapshot!(visible.lines().filter(|line| line.contains('␛')).collect::<Vec<_>>().join("\n"));
}

/// Hostile text that a worker or the author of a record could aim at a terminal.
const TRICKS: &str = "<b>\"it's\"</b> \u{1b}[5m \u{1b}]0;title\u{7} \r \u{8} \u{9b}5m \u{202e}";

/// Puts the tricks before every text that is words, not a name or a choice.
fn spoil(value: &mut Value) {
    const WORDS: [&str; 9] =
        ["summary", "reason", "statement", "source", "note", "caveat", "title", "absent", "class"];
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(text) if WORDS.contains(&key.as_str()) => *text = format!("{TRICKS}{text}"),
                    Value::Array(lines) if key == "stderr" || key == "notes" => lines.push(TRICKS.into()),
                    Value::Object(params) if key == "params" => {
                        params.insert("trick".into(), TRICKS.into());
                    }
                    other => spoil(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(spoil),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[track_caller]
fn assert_harmless(text: &str) {
    assert!(text.contains("<b>\"it's\"</b>"), "other characters are to be kept: {text}");
    for trick in ["\u{1b}[5m", "\u{1b}]", "\u{7}", "\r", "\u{8}", "\u{9b}", "\u{202e}"] {
        assert!(!text.contains(trick), "{trick:?} is still in it: {text:?}");
    }
}

#[test]
fn texts_of_a_record_cannot_play_tricks_on_a_terminal() {
    let harness = Harness::new();
    let mut record: Value = serde_json::from_str(&stored_record()).unwrap();
    // The end of a case has its reason from a fixed list.
    let cases = record["cases"].take();
    // Parts of paths have an alphabet.
    let checked = ["/run/id", "/machine/class", "/source/commit", "/samples/file"];
    let kept = checked.map(|place| record.pointer(place).cloned());
    spoil(&mut record);
    record["cases"] = cases;
    for (place, kept) in checked.into_iter().zip(kept) {
        if let Some((value, kept)) = record.pointer_mut(place).zip(kept) {
            *value = kept;
        }
    }
    harness.write("run.json", record.to_string());
    for color in ["always", "never"] {
        let done = harness.call(&format!("show run.json --color {color}")).done().code(0);
        assert_harmless(&done.stdout);
    }
}

#[test]
fn texts_of_a_worker_cannot_play_tricks_on_a_terminal() {
    if !require_tool(&["python3", "--version"]) {
        return;
    }
    let harness = Harness::new();
    let tricks = serde_json::to_string(TRICKS).unwrap();
    let script = format!(
        r#"
import json, sys
tricks = {tricks}
workload = {{"id": "tricks", "version": 1, "summary": tricks, "cases": [{{"id": "c"}}], "variants": [{{"id": "v"}}]}}
answers = {{"hello": {{"protocol": 1, "worker": tricks}}, "describe": {{"workloads": [workload]}}}}
for line in sys.stdin:
    request = json.loads(line)
    print(tricks, file=sys.stderr, flush=True)
    answer = answers.get(request["op"])
    result = {{"ok": answer}} if answer else {{"error": {{"code": "failed", "message": tricks}}}}
    print(json.dumps({{"perfharness": 1, "id": request["id"], **result}}), flush=True)
"#
    );
    harness.write("tricks.py", script);
    let worker = ["--color", "always", "--worker", "python3 tricks.py"];
    let run = harness.measure("tricks").args(worker).done().code(5);
    assert_harmless(&run.stdout);
    assert_harmless(&run.stderr);
    assert_harmless(&harness.call("list").args(worker).done().code(0).stdout);
}
