//! Text from other sources on a terminal and in the log of a CI job: builds, configurations, baselines, workers,
//! arguments.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::{Call, Done, Harness, PROGRAM, require_system, require_tool};

const RECORD: &str = include_str!("../fixtures/record.json");

/// A title of the window, an erased screen, hidden text, a control sequence of one character, a writing direction and a
/// line that covers itself; and commands to a runner: at the beginning of a line, behind white space and soft hyphens, and
/// within a line.
const HOSTILE: &str = "owned\u{1b}]0;x\u{7}\u{1b}[2J\u{1b}[8m\u{9b}31m\u{202e}a\r\n::error::b\n \t::add-mask::c\n\u{ad}::warning::d ##[group]e ##vso[task.x]f";

/// The same on one line, because a path of Windows or an argument of a shell has no other.
const HOSTILE_LINE: &str = "owned\u{1b}]0;x\u{7}\u{1b}[2J\u{1b}[8m\u{9b}31m\u{202e}a ##[group]e";

/// The text in the escapes that TOML has.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        let _ = write!(out, "\\U{:08x}", u32::from(c));
        out
    })
}

/// In a job and with styles, so that no sequences are removed from the output.
fn in_a_job(call: Call<'_>) -> Done {
    call.args(["--color", "always"]).env("GITHUB_ACTIONS", "true").done()
}

/// Insists that the hostile text is shown, and that nothing of it is obeyed.
#[track_caller]
fn is_shown_and_not_obeyed(done: &Done) {
    assert!(done.stdout.contains("owned") || done.stderr.contains("owned"), "{done:?}");
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
    nothing_is_obeyed(&done.stderr);
    nothing_is_obeyed(&done.stdout);
}

#[track_caller]
fn nothing_is_obeyed(text: &str) {
    let styles = ["0", "1", "4", "31", "32", "33", "39", "38;5;9", "38;5;10", "38;5;11"];
    let unstyled =
        styles.iter().fold(text.to_owned(), |text, style| text.replace(&format!("\u{1b}[{style}m"), ""));
    let is_obeyed =
        |c: char| (c.is_control() && !"\n\t".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!unstyled.contains(is_obeyed), "{text:?}");
    for line in unstyled.lines() {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{ad}');
        assert!(!line.starts_with("::"), "{text:?}");
        assert!(!["##[", "##vso["].iter().any(|command| line.contains(command)), "{text:?}");
    }
}

#[rstest]
#[case::a_value(&format!("[run]\neffort = \"{}\"\n", escaped(HOSTILE)))]
#[case::a_key(&format!("[run]\n\"{}\" = 1\n", escaped(HOSTILE)))]
#[case::a_raw_line(&format!("[run]\neffort = \"x\" {HOSTILE}\n"))]
#[case::a_raw_comment(&format!("[run]\neffort = 1 # {HOSTILE_LINE}\n"))]
#[case::an_unknown_table(&format!("[\"{}\"]\n", escaped(HOSTILE)))]
fn an_error_in_a_configuration_is_quoted_and_not_obeyed(#[case] text: &str) {
    let harness = Harness::new();
    harness.write("perfharness.toml", text);
    let done = in_a_job(harness.call("run all"));
    is_shown_and_not_obeyed(&done.code(2));
}

#[test]
fn names_and_last_words_of_workers_are_shown_and_not_obeyed() {
    let harness = Harness::new();
    let worker = format!("[[worker]]\nname = \"{}\"\ncommand = [\"./none\"]\n", escaped(HOSTILE));
    harness.write("perfharness.toml", &worker);
    is_shown_and_not_obeyed(&in_a_job(harness.call("list")).code(5));
    harness.write("perfharness.toml", format!("{worker}[run]\nbuilt-in = true\n"));
    is_shown_and_not_obeyed(&in_a_job(harness.call("list json-logging")).code(0));
    // JSON has escapes for all of it.
    let done = in_a_job(harness.call("list json-logging --json")).code(0);
    is_shown_and_not_obeyed(&done);
    assert_eq!(done.json()["workers"][1]["command"]["name"], HOSTILE);
    if !require_system(&["linux", "macos"]) {
        return;
    }
    harness.write("words", HOSTILE);
    harness.write("speak.sh", "cat words >&2\nexit 1\n");
    is_shown_and_not_obeyed(&in_a_job(harness.call("list").args(["--worker", "sh speak.sh"])).code(5));
    // The line that a worker says in place of a frame.
    harness.write("speak.sh", "cat words\nexit 1\n");
    is_shown_and_not_obeyed(&in_a_job(harness.call("list").args(["--worker", "sh speak.sh"])).code(5));
}

#[rstest]
#[case::a_flag(&["run", "--owned\u{1b}[31m\u{9b}1m\n::error::x ##[group]y"])]
#[case::a_command(&[HOSTILE])]
#[case::a_value(&["run", "all", "--effort", HOSTILE])]
#[case::a_pattern(&["run", HOSTILE])]
#[case::a_configuration(&["list", "--config", HOSTILE])]
#[case::a_record(&["show", HOSTILE])]
#[case::a_class(&["baseline", "show", HOSTILE])]
#[case::a_worker(&["list", "--worker", HOSTILE])]
#[case::a_base(&["gate", "--base", HOSTILE])]
fn arguments_are_quoted_and_not_obeyed(#[case] arguments: &[&str]) {
    if !(require_system(&["linux", "macos"]) && require_tool(&["git", "--version"])) {
        return;
    }
    let harness = Harness::new();
    let repository = repository(&harness);
    let mut command = harness.command(Path::new(PROGRAM), arguments);
    command.current_dir(repository);
    let done = in_a_job(harness.call_of(command));
    assert_ne!(done.status.code(), Some(0));
    is_shown_and_not_obeyed(&done);
}

/// A repository with a commit on `main` and a file that changed.
fn repository(harness: &Harness) -> PathBuf {
    let folder = harness.path("repo");
    harness.write("repo/file", "1");
    for arguments in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["add", "--all"],
        &["-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", "1"],
    ] {
        assert!(Command::new("git").args(arguments).current_dir(&folder).status().unwrap().success());
    }
    folder
}

#[test]
fn what_a_failed_build_printed_is_shown_and_not_obeyed() {
    if !(require_system(&["linux", "macos"]) && require_tool(&["git", "--version"])) {
        return;
    }
    let harness = Harness::new();
    harness.write("repo/words", HOSTILE);
    let gate = "[gate]\nbuild = [\"sh\", \"-c\", \"cat words; cat words >&2; exit 1\"]\nworker = [\"x\"]\n";
    harness.write("repo/perfharness.toml", gate);
    repository(&harness);
    is_shown_and_not_obeyed(&in_a_job(harness.call("gate --base main").within("repo")).code(1));
}

#[test]
fn reasons_and_keys_of_baselines_are_shown_and_not_obeyed() {
    let harness = Harness::new();
    harness.write("run.json", RECORD);
    let accept = "baseline accept run.json --only json-logging --reason";
    harness.call(accept).args([HOSTILE]).done().code(0);
    is_shown_and_not_obeyed(&in_a_job(harness.call("baseline show")).code(0));
    let path = fs::read_dir(harness.path("baselines")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    let key = serde_json::to_string(HOSTILE).unwrap();
    let damaged = text.replacen("\"conditions\"", &format!("{key}: 1, \"conditions\""), 1);
    assert_ne!(damaged, text);
    fs::write(&path, damaged).unwrap();
    for line in ["baseline show", "baseline check", "gate run.json"] {
        is_shown_and_not_obeyed(&in_a_job(harness.call(line)).code(2));
    }
    // The author of the change also chooses the name of a file.
    if require_system(&["linux", "macos"]) {
        fs::rename(&path, harness.path("baselines").join(format!("{HOSTILE_LINE}.json"))).unwrap();
        is_shown_and_not_obeyed(&in_a_job(harness.call("baseline show")).code(2));
    }
}

#[test]
fn texts_of_a_record_are_shown_and_not_obeyed() {
    let harness = Harness::new();
    let mut record: Value = serde_json::from_str(RECORD).unwrap();
    let reason = json!({"kind": "crashed", "reason": HOSTILE, "stderr": [HOSTILE]});
    record["benchmarks"][0]["outcome"] = reason;
    record["workloads"][0]["summary"] = HOSTILE.into();
    harness.write("run.json", record.to_string());
    let lines = ["show run.json", "show run.json --json", "report run.json --format json", "gate run.json"];
    let formats =
        ["text", "markdown", "json", "junit"].map(|format| format!("gate run.json --format {format}"));
    for line in lines.iter().map(|line| (*line).to_owned()).chain(formats) {
        let done = in_a_job(harness.call(&line));
        nothing_is_obeyed(&done.stdout);
        nothing_is_obeyed(&done.stderr);
    }
    is_shown_and_not_obeyed(&in_a_job(harness.call("show run.json")).code(0));
    // Annotations are commands of ours; a line of the text is none.
    let annotations = in_a_job(harness.call("gate run.json --format github")).stdout;
    for line in annotations.lines() {
        let kind = line.strip_prefix("::").and_then(|rest| rest.split_once(" title="));
        assert!(kind.is_some_and(|(kind, _)| ["error", "warning", "notice"].contains(&kind)), "{line:?}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn the_doctor_and_a_run_quote_what_they_were_asked_for() {
    let harness = Harness::new();
    harness.write("perfharness.toml", format!("[machine]\nclass = \"{}\"\n", escaped(HOSTILE)));
    is_shown_and_not_obeyed(&in_a_job(harness.call("doctor").args(["--device", HOSTILE])));
    let run = harness.measure("spin/short/a --launches 1").args(["--device", HOSTILE]).worker("good");
    is_shown_and_not_obeyed(&in_a_job(run).code(0));
}

#[test]
fn styles_and_scripts_of_ours_come_out_as_they_are() {
    let harness = Harness::new();
    harness.write("run.json", RECORD);
    let lines = [
        "show run.json",
        "list json-logging",
        "gate run.json",
        "completions zsh",
        "completions powershell",
        "run --help",
    ];
    for line in lines {
        let done = harness.call(line).args(["--color", "always"]).done();
        assert!(!done.stdout.contains(char::REPLACEMENT_CHARACTER), "{line}: {}", done.stdout);
    }
    assert!(harness.call("show run.json --color always").done().stdout.contains("\u{1b}[1m"));
}

#[test]
fn one_place_writes_to_a_terminal() {
    // A record can be asked for on /dev/stdout, and is a file there. A worker or a probe has its stdout for frames. To ask
    // whether a stream is a terminal writes nothing.
    let allowed = ["cli/src/terminal.rs", "record/src/file.rs"];
    let others = ["take_stdout()", "use_stderr()", "stderr().is_terminal()", "ProgressDrawTarget::stderr()"];
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let program = ["cli/src", "engine/src", "record/src", "report/src"];
    let mut folders = program.map(|folder| harness.join(folder)).to_vec();
    let (mut writers, mut files) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            // Examples in comments may print.
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let text = code.collect::<Vec<_>>().join("\n");
            let text = others.iter().fold(text, |text, other| text.replace(other, ""));
            if ["stdout()", "stderr()", "print!(", "println!("].iter().any(|word| text.contains(word)) {
                writers.push(path.strip_prefix(harness).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    assert!(files > 100 && writers.contains(&"cli/src/terminal.rs".to_owned()), "{files} files, {writers:?}");
    writers.retain(|writer| !allowed.contains(&writer.as_str()));
    assert_eq!(writers, Vec::<String>::new(), "these write past terminal.rs");
}
