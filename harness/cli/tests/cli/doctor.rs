//! `doctor`, and how drivers are asked.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use perfharness::doctor::{Diagnosis, FORMAT_VERSION, Facts, render_diagnosis};
use perfharness_engine::ask::{ProbeError, ask};
use perfharness_platform::{clock, env};
use perfharness_report::render::Layout;
use rstest::rstest;
use serde_json::Value;

use crate::fixture::{Call, Harness, require_system, require_tool};

const QUICKLY: &str = "spin/short/a --launches 1 --time-budget 100ms";

/// Vulkan's loader finds no driver with these set.
fn without_drivers(call: Call<'_>) -> Call<'_> {
    call.env("VK_DRIVER_FILES", "/nowhere.json").env("VK_ICD_FILENAMES", "/nowhere.json")
}

/// Output of the doctor with an adapter; `None` if the test has to be skipped.
fn require_adapter(harness: &Harness) -> Option<Value> {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let diagnosis = harness.call("doctor --json").done().code(0).json();
    if diagnosis["gpu"]["chosen"].is_number() {
        return Some(diagnosis);
    }
    let why = diagnosis["gpu"]["not_chosen"].as_str().unwrap();
    assert!(!env::is_set_nonempty("PERFHARNESS_REQUIRE_ADAPTER"), "{why}");
    eprintln!("skipped ({} so far): {why}", SKIPPED.fetch_add(1, Ordering::Relaxed) + 1);
    None
}

fn words_of(diagnosis: &Value) -> String {
    diagnosis["findings"].to_string()
}

#[test]
fn the_doctor_looks_at_this_machine() {
    let harness = Harness::new();
    let done = harness.call("doctor").done().code(0);
    for heading in ["Machine\n", "\nClock\n", "\nGPU\n", "\nRecords\n", "\nFindings: "] {
        assert!(done.stdout.contains(heading), "{}", done.stdout);
    }
    let longest = done.stdout.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "a line has {longest} columns:\n{}", done.stdout);
    assert_eq!(done.stderr, "");
    assert_eq!(harness.files(), Vec::<String>::new(), "it leaves nothing behind");
}

#[test]
fn json_has_the_documented_fields_and_nothing_beside_it_is_printed() {
    let harness = Harness::new();
    let done = harness.call("doctor --json").done().code(0);
    let json = done.json();
    assert_eq!(done.stderr, "");
    assert_eq!(json["format_version"], FORMAT_VERSION);
    let document = include_str!("../../../../docs/doctor.md");
    for (key, part) in json.as_object().unwrap() {
        let fields = part.as_object().into_iter().flatten().map(|(field, _)| format!("{key}.{field}"));
        for name in fields.chain([key.clone()]) {
            let described = document.contains(&format!("`{name}`"));
            assert!(described, "docs/doctor.md says nothing of `{name}`");
        }
    }
    let diagnosis: Diagnosis = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&diagnosis).unwrap(), json);
    let class = &diagnosis.facts.machine.class;
    assert!(class.contains(std::env::consts::OS), "{class}");
}

#[test]
fn an_adapter_is_listed_tried_and_named_by_the_record() {
    let harness = Harness::new();
    let Some(diagnosis) = require_adapter(&harness) else { return };
    let chosen = &diagnosis["gpu"]["adapters"][0];
    assert!(diagnosis["gpu"]["chosen"] == 0 && chosen["fault"].is_null(), "{chosen}");
    assert!(chosen["timestamps"].is_object(), "{chosen}");

    harness.measure(QUICKLY).worker("good").done().code(0);
    let machine = harness.record().machine;
    assert_eq!(machine.class, diagnosis["machine"]["class"]);
    for (fact, field) in
        [("gpu", "name"), ("gpu-kind", "kind"), ("gpu-backend", "backend"), ("gpu-driver", "driver")]
    {
        assert_eq!(machine.facts[fact], chosen[field], "{fact}");
    }
}

#[test]
fn a_device_is_found_by_a_part_of_its_name() {
    let harness = Harness::new();
    let Some(diagnosis) = require_adapter(&harness) else { return };
    let name = diagnosis["gpu"]["adapters"][0]["name"].as_str().unwrap();
    let part: String = name.to_uppercase().chars().take(5).collect();
    let found = harness.call("doctor --json").args(["--device", &part]).done().code(0).json();
    assert_eq!(found["gpu"]["chosen"], 0);
    assert_eq!(found["machine"]["class"], diagnosis["machine"]["class"]);
}

#[test]
fn device_none_uses_no_gpu() {
    let harness = Harness::new();
    for device in ["none", "noop"] {
        let json = harness.call(&format!("doctor --json --device {device}")).done().code(0).json();
        assert!(json["gpu"]["chosen"].is_null(), "{json}");
        assert!(json["machine"]["facts"].get("gpu").is_none(), "{json}");
        assert!(words_of(&json).contains("use no GPU"), "{json}");
    }
}

#[test]
fn a_device_that_is_not_there_is_a_finding_and_no_failure() {
    let harness = Harness::new();
    let Some(diagnosis) = require_adapter(&harness) else { return };
    let name = diagnosis["gpu"]["adapters"][0]["name"].as_str().unwrap();
    let json = harness.call("doctor --json --device qqq").done().code(0).json();
    assert!(words_of(&json).contains("--device qqq") && words_of(&json).contains(name), "{json}");
    assert!(json["gpu"]["chosen"].is_null(), "{json}");
}

#[test]
fn the_configuration_names_device_and_class() {
    let harness = Harness::new();
    harness.write("perfharness.toml", "[run]\ndevice = \"none\"\n[machine]\nclass = \"Our Runner\"\n");
    let json = harness.call("doctor --json").done().code(0).json();
    assert_eq!((&json["gpu"]["asked"], &json["machine"]["class"]), (&"none".into(), &"our-runner".into()));
    let json = harness.call("doctor --json --device auto").done().code(0).json();
    assert_eq!(json["gpu"]["asked"], "auto");
}

#[test]
fn without_a_driver_there_is_no_adapter_and_a_next_step() {
    // Elsewhere adapters come from Metal or DX12 as well.
    if !require_system(&["linux"]) {
        return;
    }
    let harness = Harness::new();
    let json = without_drivers(harness.call("doctor --json")).done().code(0).json();
    assert_eq!(json["gpu"]["adapters"], Value::Array(Vec::new()));
    assert!(words_of(&json).contains("mesa-vulkan-drivers"), "{json}");

    let done = without_drivers(harness.measure(QUICKLY)).worker("good").done().code(0);
    assert!(!done.stderr.contains("GPU"), "{}", done.stderr);
    assert!(!harness.record().machine.facts.contains_key("gpu"));
}

#[test]
fn a_place_that_cannot_be_written_is_a_finding() {
    let harness = Harness::new();
    harness.write("reports", "in the way");
    let json = harness.call("doctor --json").done().code(0).json();
    assert!(words_of(&json).contains("cannot write to reports/"), "{json}");
}

/// Asks a shell script in the place of this program.
fn asked(script: &str, patience: Duration) -> Result<Vec<u32>, ProbeError> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    ask(command, patience)
}

const PATIENCE: Duration = Duration::from_secs(20);

#[rstest]
#[case::and_ends("echo '[1, 2]'")]
#[case::and_talks_elsewhere("echo nonsense >&2; echo '[1, 2]'")]
#[case::and_goes_on_talking("echo '[1, 2]'; echo nonsense")]
#[case::and_crashes_after_it("echo '[1, 2]'; kill -9 $$")]
#[case::and_hangs_after_it("echo '[1, 2]'; sleep 60")]
fn a_process_that_answers_is_understood(#[case] script: &str) {
    if !require_tool(&["sh", "-c", ":"]) {
        return;
    }
    assert_eq!(asked(script, PATIENCE), Ok(vec![1, 2]));
}

#[rstest]
#[case::before_it_answers(
    "echo 'no such GPU' >&2; exit 3",
    "crashed with exit code 3 (its last words: no such GPU)"
)]
#[case::within_its_answer("printf '[1, 2'; exit 0", "crashed with exit code 0")]
#[case::by_a_signal("kill -SEGV $$", "SIGSEGV")]
#[case::with_tricks("printf '\\033[31mred\\n' >&2; exit 1", "(its last words: \u{fffd}[31mred)")]
fn a_process_that_crashes_is_told_how(#[case] script: &str, #[case] words: &str) {
    if !(require_system(&["linux", "macos"]) && require_tool(&["sh", "-c", ":"])) {
        return;
    }
    let error = asked(script, PATIENCE).unwrap_err();
    assert!(matches!(error, ProbeError::Crashed { .. }), "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_process_that_hangs_is_ended_with_all_that_it_started() {
    if !require_tool(&["sh", "-c", ":"]) {
        return;
    }
    let start = clock::now();
    let error = asked("sleep 60 & sleep 60", Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.to_string(), "did not answer within 0.3 s");
    assert!(start.elapsed() < PATIENCE);
}

#[test]
fn what_is_no_answer_is_told() {
    if !require_tool(&["sh", "-c", ":"]) {
        return;
    }
    assert!(matches!(asked("echo hello", PATIENCE), Err(ProbeError::Garbage(_))));
    let nothing: Result<u32, _> = ask(Command::new("./there-is-no-such-program"), PATIENCE);
    assert!(nothing.unwrap_err().to_string().contains("there-is-no-such-program"));
}

/// Output of the doctor for a machine stored beside the tests, which stays readable as long as its format.
fn stored() -> Diagnosis {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/facts.json");
    let facts: Facts = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    Diagnosis::of(facts)
}

#[test]
fn a_machine_is_shown_by_section_with_its_findings() {
    let text = render_diagnosis(&stored(), Layout::default());
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let text = render_diagnosis(&stored(), Layout { width: 60 });
    let text = anstream::adapter::strip_str(&text).to_string();
    // A word is not broken.
    let long = text.lines().filter(|line| line.chars().count() > 60 && line.trim().contains(' ')).count();
    assert_eq!(long, 0, "{text}");
}
