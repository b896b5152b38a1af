//! `ci/comment`, with a script that plays GitHub's program. The script is what the workflow runs with a token that may
//! write, and nothing else tells when it breaks.

use std::fs;
use std::path::Path;

use perfharness_platform::env;
use rstest::rstest;

use crate::fixture::{Done, Harness, PROGRAM, Running, has_tools, require_system, require_tool};

const RECORD: &str = include_str!("../fixtures/record.json");
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Answers from files of the folder, and keeps what is sent.
const GH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
echo "$*" >>"$PLAYED/asked"
case "$*" in
*/pulls\ *) cat "$PLAYED/pulls.json" ;;
*/artifacts\?name=gate*) cat "$PLAYED/artifacts.json" ;;
*/artifacts/99/zip*) cat "$PLAYED/gate.zip" ;;
*--paginate*) jq -r "${*: -1}" "$PLAYED/comments.json" ;;
*/comments*)
    [ ! -e "$PLAYED/forbidden" ] || exit 1
    [[ "$*" =~ body=@([^ ]*) ]]
    cp "${BASH_REMATCH[1]}" "$PLAYED/sent"
    ;;
*) exit 2 ;;
esac
"#;

/// Packs the record twice under one name.
const TWICE: &str = "with zipfile.ZipFile('gate.zip', 'w') as z:\n  z.writestr('run.json', record)\n  z.writestr('run.json', record)";

/// Packs it with a name in the archive that its table of contents does not have, which unzip remarks on.
const OTHER_NAME: &str = "with zipfile.ZipFile('gate.zip', 'w') as z:\n  z.writestr('run.json', record)\ndata = open('gate.zip', 'rb').read()\nopen('gate.zip', 'wb').write(data.replace(b'run.json', b'##[a]b::', 1))";

/// A folder where everything is as it should be.
struct Played {
    harness: Harness,
}

impl Played {
    /// `None` where the tools for that are not installed.
    fn new() -> Option<Self> {
        let tools =
            [&["bash", "--version"], &["jq", "--version"], &["unzip", "-v"], &["python3", "--version"]];
        // Only where ci/setup installs them is there no excuse.
        let is_there = |probe: &&[&str; 2]| match std::env::consts::OS {
            "linux" => require_tool(*probe),
            _ => has_tools(&probe[..1]),
        };
        if !require_system(&["linux", "macos"]) || !tools.iter().all(is_there) {
            return None;
        }
        let harness = Harness::new();
        harness.write("bin/gh", GH);
        let played = Self { harness };
        played.start("chmod", &["+x", "bin/gh"]).code(0);
        let harness = &played.harness;
        harness.write("pulls.json", format!(r#"[{{"number": 7, "head": {{"sha": "{COMMIT}"}}}}]"#));
        played.artifact(false, 1000);
        played.packed("run.json", RECORD);
        harness.write("comments.json", "[]");
        let accept = "baseline accept run.json --only json-logging --reason first";
        harness.call(accept).done().code(0);
        Some(played)
    }

    fn artifact(&self, expired: bool, size: u64) {
        let text =
            format!(r#"{{"artifacts": [{{"id": 99, "expired": {expired}, "size_in_bytes": {size}}}]}}"#);
        self.harness.write("artifacts.json", text);
    }

    /// Makes the archive of one file.
    fn packed(&self, name: &str, content: impl AsRef<[u8]>) {
        self.harness.write(name, content);
        self.start("python3", &["-m", "zipfile", "-c", "gate.zip", name]).code(0);
    }

    /// Makes the archive of one file by a script that has its content as `record`.
    fn packed_by(&self, content: &str, script: &str) {
        self.harness.write("content", content);
        let script = format!("import zipfile\nrecord = open('content').read()\n{script}");
        self.start("python3", &["-W", "ignore", "-c", &script]).code(0);
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Done {
        let mut command = self.harness.command(Path::new(program), arguments);
        let path = env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.harness.path("bin").display()));
        command.env("PLAYED", self.harness.path("")).env("RUNNER_TEMP", self.harness.path("scratch"));
        command.env("GITHUB_OUTPUT", self.harness.path("output"));
        command.env("GITHUB_STEP_SUMMARY", self.harness.path("summary.md"));
        command
            .env("REPOSITORY", "owner/name")
            .env("RUN", "5")
            .env("HEAD", "fork:change")
            .env("COMMIT", COMMIT);
        Running::start(&mut command).wait()
    }

    fn comment(&self, arguments: &[&str]) -> Done {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/comment");
        self.start("bash", &[&[script.to_str().unwrap()], arguments].concat())
    }

    /// Content of a file; empty if it does not exist.
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.harness.path(name)).unwrap_or_default()
    }
}

#[test]
fn a_record_becomes_the_comment_of_its_pull_request() {
    let Some(played) = Played::new() else { return };
    played.comment(&["find"]).code(0);
    played.comment(&["fetch"]).code(0);
    played.comment(&["judge", PROGRAM]).code(0);
    assert_eq!(played.text("output"), "number=7\nfound=true\ndone=true\n");
    let comment = played.text("scratch/comment.md");
    assert!(comment.starts_with("<!-- perfharness -->\n"), "{comment}");
    assert_eq!(played.text("summary.md"), comment);

    played.comment(&["post", "7"]).code(0);
    assert_eq!(played.text("sent"), comment);
    assert!(played.text("asked").contains("--method POST repos/owner/name/issues/7/comments"));
    // The script replaces its own comment and no other.
    let theirs = r#"{"id": 1, "user": {"login": "somebody"}, "body": "<!-- perfharness -->"}"#;
    let ours = r#"{"id": 42, "user": {"login": "github-actions[bot]"}, "body": "<!-- perfharness -->\nold"}"#;
    played.harness.write("comments.json", format!("[{theirs}, {ours}]"));
    played.comment(&["post", "7"]).code(0);
    assert!(played.text("asked").contains("--method PATCH repos/owner/name/issues/comments/42"));
    // A forbidden comment is reported and is not a failure.
    played.harness.write("forbidden", "");
    let done = played.comment(&["post", "7"]).code(0);
    assert!(
        done.stdout.contains("::warning") && done.stdout.contains("could not be posted"),
        "{}",
        done.stdout
    );
}

#[rstest]
#[case::that_is_not_there(&|played: &Played| played.harness.write("artifacts.json", r#"{"artifacts": []}"#), "kept no record")]
#[case::that_is_not_kept_any_more(&|played: &Played| played.artifact(true, 1000), "kept no record")]
#[case::whose_archive_is_too_large(&|played: &Played| played.artifact(false, 9_000_000), "too large")]
#[case::that_unpacks_to_too_much(&|played: &Played| played.packed("run.json", vec![b' '; 64_000_001]), "too large")]
#[case::of_another_name(&|played: &Played| played.packed("other.json", RECORD), "measured nothing")]
#[case::that_is_no_archive(&|played: &Played| played.harness.write("gate.zip", "none"), "measured nothing")]
#[case::of_another_commit(&|played: &Played| played.packed("run.json", RECORD.replace(COMMIT, "fedc")), "not one of this commit")]
#[case::whose_archive_is_larger_than_was_said(&|played: &Played| played.harness.write("gate.zip", vec![b' '; 8_000_001]), "too large")]
#[case::that_is_there_twice(&|played: &Played| played.packed_by(RECORD, TWICE), "not one of this commit")]
#[case::that_has_two_records(&|played: &Played| played.packed("run.json", format!("{}{RECORD}", RECORD.replace(COMMIT, "fedc"))), "not one of this commit")]
#[case::that_quotes_itself(&|played: &Played| played.packed("run.json", r###""##[error]x\n::error::y""###), "not one of this commit")]
#[case::that_is_none(&|played: &Played| played.packed("run.json", "["), "not one of this commit")]
fn a_record_is_not_shown(#[case] change: &dyn Fn(&Played), #[case] why: &str) {
    let Some(played) = Played::new() else { return };
    change(&played);
    let done = played.comment(&["fetch"]).code(0);
    assert!(done.stdout.contains("::warning") && done.stdout.contains(why), "{done:?}");
    assert!(played.text("summary.md").contains(why));
    assert_eq!(played.text("output"), "");
    // Nothing but the warning, which is ours.
    assert_eq!((done.stdout.lines().count(), done.stderr.as_str()), (1, ""), "{done:?}");
}

#[test]
fn what_an_archive_says_of_itself_is_not_shown() {
    let Some(played) = Played::new() else { return };
    played.packed_by(RECORD, OTHER_NAME);
    let done = played.comment(&["fetch"]).code(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    assert_eq!(played.text("output"), "found=true\n");
}

#[test]
fn the_judge_has_the_last_word_on_whose_record_it_is() {
    let Some(played) = Played::new() else { return };
    played.comment(&["fetch"]).code(0);
    // As if the first check had read another commit in the same file.
    played.harness.write("scratch/run.json", RECORD.replacen(COMMIT, &COMMIT.replace("0123", "fedc"), 1));
    let done = played.comment(&["judge", PROGRAM]).code(0);
    assert!(done.stdout.contains("not one of this commit"), "{done:?}");
    assert_eq!(played.text("output"), "found=true\n");
    assert!(!played.text("summary.md").contains("<!-- perfharness -->"));
    // With changes that were not committed it is one of this commit, and says so.
    played.harness.write("scratch/run.json", RECORD.replacen("\"dirty\": false", "\"dirty\": true", 1));
    played.comment(&["judge", PROGRAM]).code(0);
    assert!(played.text("summary.md").contains("with changes"));
}

#[test]
fn what_cannot_be_judged_is_told_and_fails_nothing() {
    let Some(played) = Played::new() else { return };
    // A record that says of itself to be of this commit, and is of no format that is known.
    played.packed("run.json", RECORD.replacen("\"format\": 1", "\"format\": 999", 1));
    played.comment(&["fetch"]).code(0);
    let done = played.comment(&["judge", PROGRAM]).code(0);
    assert!(done.stdout.contains("cannot be judged (exit code 2)"), "{done:?}");
    assert_eq!(played.text("output"), "found=true\n");
    // The runner does not interpret the quoted text as a command.
    let hostile = RECORD.replacen("\"effort\": \"standard\"", "\"effort\": \"x\\n::error::y\"", 1);
    assert_ne!(hostile, RECORD);
    played.packed("run.json", hostile);
    played.comment(&["fetch"]).code(0);
    let done = played.comment(&["judge", PROGRAM]).code(0);
    let at = |text: &str| done.stdout.find(text).unwrap_or_else(|| panic!("no {text:?} in {done:?}"));
    assert!(at("::stop-commands::") < at("::error::y") && at("::error::y") < at("::warning"), "{done:?}");
    assert!(done.stderr.is_empty(), "{done:?}");
    // A newer push has a result of its own.
    played.harness.write("pulls.json", r#"[{"number": 7, "head": {"sha": "another"}}]"#);
    let done = played.comment(&["find"]).code(0);
    assert!(done.stdout.contains("nothing to do") && played.text("output").ends_with("number=\n"));
    played.comment(&["publish"]).code(2).says(&["find, fetch"]);
}
