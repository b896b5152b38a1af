//! `gate --base` from end to end: a repository with a worker of its own, two real builds of it, and planted changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixture::{Harness, PROGRAM, VALGRIND, has_tools, require_system, require_tool};

const SOURCE: &str = include_str!("../fixtures/gated/main.rs");

/// Times of such a change are measured on whatever machine the tests run on; so often they may stay undecided.
const ATTEMPTS: usize = 3;

/// The variable by which cargo builds without optimization, in half the time. It serves tests that time nothing finely.
const OPT_LEVEL: &str = "CARGO_PROFILE_RELEASE_OPT_LEVEL";

/// A repository with a commit on `main` and a branch for a change.
pub(crate) struct Gated {
    pub(crate) harness: Harness,
    /// How much is optimized in release builds.
    pub(crate) opt_level: &'static str,
    /// The Valgrind that counts instructions; empty for none.
    pub(crate) valgrind: &'static str,
}

/// The folder of the contract crate.
pub(crate) fn contract() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("contract")
}

impl Gated {
    pub(crate) fn new() -> Self {
        let manifest = format!(
            "[package]\nname = \"gated\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nperfharness-contract = {{ path = {:?} }}\n\n[profile.release]\ncodegen-units = 1\n\n[workspace]\n",
            contract().to_str().unwrap()
        );
        Self::with(|harness| {
            harness.write("repo/Cargo.toml", manifest);
            harness.write("repo/src/main.rs", SOURCE);
            harness.write("repo/.gitignore", "/target\n/reports\n");
            harness.write("repo/perfharness.toml", "[gate]\nworker = [\"{target}/release/gated\"]\n");
        })
    }

    /// A repository with the files of a crate in its folder `repo`.
    pub(crate) fn with(write: impl FnOnce(&Harness)) -> Self {
        let gated = Self { harness: Harness::new(), opt_level: "3", valgrind: "" };
        write(&gated.harness);
        let lock = contract().parent().unwrap().parent().unwrap().join("Cargo.lock");
        fs::copy(lock, gated.harness.path("repo/Cargo.lock")).unwrap();
        // The lock file of the workspace pins the same versions, and holds more than this needs. Unlike `metadata`, `tree`
        // does without the packages of other systems.
        gated.cargo(&["tree", "--offline"]);
        gated.git(&["init", "--quiet", "--initial-branch", "main"]);
        gated.commit("the base");
        gated.git(&["checkout", "--quiet", "-b", "change"]);
        gated
    }

    fn folder(&self) -> PathBuf {
        self.harness.path("repo")
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(self.folder()).env(OPT_LEVEL, self.opt_level);
        let status = command.stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "cargo {arguments:?}");
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments);
        assert!(command.current_dir(self.folder()).status().unwrap().success(), "git {arguments:?}");
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Makes the branch the base with one constant changed.
    pub(crate) fn change(&self, from: &str, to: &str) {
        assert!(SOURCE.contains(from), "{from}");
        self.git(&["reset", "--quiet", "--hard", "main"]);
        self.harness.write("repo/src/main.rs", SOURCE.replacen(from, to, 1));
        self.commit(to);
    }

    /// Gates the branch; gives exit code, what was found, and what was said on stderr.
    pub(crate) fn gate(&self, arguments: &[&str]) -> (i32, Value, String) {
        let line = ["gate", "--base", "main", "--format", "json", "--effort", "quick"];
        self.found_by(&[&line[..], arguments].concat())
    }

    /// Calibrates the branch; gives what was found.
    pub(crate) fn calibrate(&self, arguments: &[&str]) -> Value {
        let (code, found, said) = self.found_by(&[&["calibrate", "--json"], arguments].concat());
        assert_eq!(code, 0, "{said}");
        found
    }

    fn found_by(&self, line: &[&str]) -> (i32, Value, String) {
        let mut command = self.harness.command(Path::new(PROGRAM), line);
        // A sandboxed home has no toolchain; the build needs that of the tests.
        command.current_dir(self.folder()).env(OPT_LEVEL, self.opt_level);
        command.env("PERFHARNESS_CACHE", self.harness.path("cache")).env(VALGRIND, self.valgrind);
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let found = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{said}", String::from_utf8_lossy(&out.stdout)));
        (out.status.code().unwrap(), found, said)
    }

    /// Insists on what a planted change is found to be.
    #[track_caller]
    fn finds(&self, change: (&str, &str), arguments: &[&str], due: &Due<'_>) {
        let found = self.looks_for(change, arguments, due);
        assert!(found, "{change:?} stayed undecided");
    }

    /// Whether a planted change is found to be what it is; false if it stayed undecided, which only a time may.
    #[track_caller]
    fn looks_for(&self, change: (&str, &str), arguments: &[&str], due: &Due<'_>) -> bool {
        self.change(change.0, change.1);
        for _ in 0..ATTEMPTS {
            let (code, found, said) = self.gate(arguments);
            let rows = found["rows"].as_array().unwrap();
            let is_it = |row: &&Value| {
                row["benchmark"].as_str() == Some(due.benchmark)
                    && row["metric"].as_str() == due.metric
                    && row["judgement"]["verdict"].as_str() == Some(due.verdict)
            };
            let row = rows.iter().find(is_it);
            if let Some(row) = row.filter(|_| code == due.code) {
                let sentence = row["sentence"].as_str().unwrap();
                assert!(sentence.contains(due.says), "{sentence}");
                assert!(row["reproduce"].as_str().unwrap().contains(due.benchmark));
                return true;
            }
            // Not slower by as much as matters is decided before how much faster it is.
            let undecided = due.metric == Some("wall-time") && (code == 4 || code == 0 && due.code == 0);
            assert!(undecided, "{change:?}: exit {code}\n{found:#}\n{said}");
        }
        false
    }
}

/// The expected findings.
struct Due<'a> {
    code: i32,
    benchmark: &'a str,
    metric: Option<&'a str>,
    verdict: &'a str,
    says: &'a str,
}

#[test]
fn a_gate_finds_what_two_builds_differ_in() {
    if !require_tool(&["git", "--version"]) {
        return;
    }
    let gated = Gated::new();
    let work = "gated/n1/work";
    let due = |code, metric, verdict, says| Due { code, benchmark: work, metric, verdict, says };

    // Nothing but another commit: the programs are the same, and there is nothing to measure.
    gated.commit("only a message");
    let (code, found, said) = gated.gate(&[]);
    assert_eq!(code, 0, "{found:#}\n{said}");
    assert!(found["rows"][0]["sentence"].as_str().unwrap().contains("byte for byte"), "{found:#}");

    // Counts and sizes need few launches.
    let few = ["--launches", "2"];
    let counts = |from, to, metric, says| {
        gated.finds((from, to), &few, &due(3, Some(metric), "regressed", says));
    };
    counts("COPIES: u64 = 1", "COPIES: u64 = 2", "copies", "1 more: 2 against 1");
    counts("SYNCS: u64 = 1", "SYNCS: u64 = 2", "syncs", "1 more: 2 against 1");
    counts("SCRATCH: usize = 1 << 17", "SCRATCH: usize = 1 << 18", "heap-peak", "more");
    gated.finds(("OFFSET: u64 = 0", "OFFSET: u64 = 1"), &few, &due(5, None, "failed", "wrong-result"));
    gated.finds(
        ("SURVIVES: bool = true", "SURVIVES: bool = false"),
        &few,
        &due(5, None, "failed", "crashed"),
    );
    let gone = ("VARIANTS: [&str; 2] = [\"work\", \"other\"]", "VARIANTS: [&str; 1] = [\"work\"]");
    let other = Due { benchmark: "gated/n1/other", ..due(5, None, "failed", "gone") };
    gated.finds(gone, &few, &other);

    // A second in all is too little for a time.
    gated.change("WASTE: u64 = 40_000", "WASTE: u64 = 40_001");
    let (code, found, said) = gated.gate(&few);
    assert_eq!((code, found["outcome"].as_str()), (4, Some("undecided")), "{found:#}\n{said}");
    // Windows counts the CPU time of a process in ticks that are longer than a sample.
    if std::env::consts::OS != "windows" {
        let cpu = found["rows"].as_array().unwrap().iter().find(|row| row["metric"] == "cpu-time");
        let sentence = cpu.and_then(|row| row["sentence"].as_str()).unwrap();
        assert!(sentence.contains("over 2 launches"), "{sentence}");
    }

    // A tenth of all steps; where others take the machine away, that stays undecided, and only many times as many show.
    let time = |to: &str, code, verdict, says| {
        let change = ("WASTE: u64 = 40_000", to);
        gated.looks_for(change, &["gated/n1/work"], &due(code, Some("wall-time"), verdict, says))
    };
    let slower = |to| time(to, 3, "regressed", "slower");
    assert!(slower("WASTE: u64 = 64_000") || slower("WASTE: u64 = 2_000_000"), "a slowdown stayed undecided");
    // A change can save at most the time of the base, so that there is no larger change to try.
    if !time("WASTE: u64 = 0", 0, "improved", "faster") {
        eprintln!("SKIPPED: the machine is too busy to tell a saving of a sixth");
    }
}

#[test]
fn a_base_that_cannot_be_had_says_what_to_do() {
    if !require_tool(&["git", "--version"]) {
        return;
    }
    let harness = Harness::new();
    harness.call("gate --base main").done().code(2).says(&["not in a git repository", "--base-worker"]);
    let gated = Gated::new();
    let cache = gated.harness.path("cache");
    let call = |line: &str| {
        let call = gated.harness.call(line).within("repo");
        call.env("PERFHARNESS_CACHE", cache.to_str().unwrap()).done()
    };
    call("gate --base nowhere").code(2).says(&["nowhere", "git fetch"]);
    // A clone of depth 1 has no merge base.
    gated.commit("a change");
    let clone = gated.harness.path("shallow");
    let url = format!("file://{}", gated.folder().display());
    gated.git(&["clone", "--quiet", "--depth", "1", "--no-single-branch", &url, clone.to_str().unwrap()]);
    let shallow = gated.harness.call("gate --base origin/main").within("shallow").done();
    shallow.code(2).says(&["shallow", "fetch-depth: 0"]);
    // A version that does not build is not measured.
    gated
        .harness
        .write("repo/perfharness.toml", "[gate]\nbuild = [\"git\", \"frobnicate\"]\nworker = [\"x\"]\n");
    gated.commit("broken");
    gated.git(&["branch", "--force", "main"]);
    gated.commit("on top");
    call("gate --base main").code(1).says(&["base does not build", "git frobnicate", "not a git command"]);
}

#[test]
fn profiles_are_held_against_those_of_another_build() {
    if !require_tool(&["git", "--version"]) {
        return;
    }
    let gated = Gated::new();
    gated.change("const COPIES: u64 = 1;", "const COPIES: u64 = 2;");
    let arguments = ["profile", "gated/n1/work", "--base", "main", "--out", "graphs", "--json"];
    let mut command = gated.harness.command(Path::new(PROGRAM), &arguments);
    command.env("PERFHARNESS_CACHE", gated.harness.path("cache")).env(OPT_LEVEL, "0");
    let out = command.current_dir(gated.folder()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    // This worker is built without a profiler: the base and the code here say so, each for itself.
    assert_eq!(out.status.code(), Some(4), "{said}");
    let index: Value = serde_json::from_slice(&out.stdout).unwrap();
    let benchmarks = index["benchmarks"].as_array().unwrap();
    let origins: Vec<&str> = benchmarks.iter().map(|b| b["origin"].as_str().unwrap()).collect();
    assert_eq!(origins, ["base", "head"], "{index:#}");
    for benchmark in benchmarks {
        let reason = benchmark["profile"]["absent"].as_str().unwrap();
        assert!(reason.contains("without the feature `profile`"), "{reason}");
    }
    assert!(said.contains("profiling gated/n1/work of the base"), "{said}");
    assert!(gated.folder().join("graphs/index.json").is_file());
}

#[test]
fn the_script_of_ci_gates_a_repository_and_leaves_it_as_it_was() {
    if !(require_system(&["linux", "macos"]) && has_tools(&["bash"]) && require_tool(&["git", "--version"])) {
        return;
    }
    let gated = Gated::new();
    gated.change("COPIES: u64 = 1", "COPIES: u64 = 2");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/gate");
    let gate = |arguments: &[&str]| {
        let arguments = [&[script.to_str().unwrap()], arguments].concat();
        let mut command = gated.harness.command(Path::new("bash"), &arguments);
        command.current_dir(gated.folder()).env_remove("GITHUB_ACTIONS");
        command.env("PERFHARNESS_CACHE", gated.harness.path("cache"));
        let out = command.env("GITHUB_STEP_SUMMARY", gated.harness.path("summary.md")).output().unwrap();
        (
            out.status.code().unwrap(),
            [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap()).concat(),
        )
    };
    assert_eq!(gate(&["--base", "nowhere", "--judge", PROGRAM]).0, 2);
    assert_eq!(gate(&["--judge", "no-such-program"]).0, 2);
    // The dependencies of both builds are already present, and a test fetches nothing.
    let own = ["--base", "main", "--judge", PROGRAM, "--folder", "out", "--network"];
    let (code, said) = gate(&[&own[..], &["--", "--effort", "quick", "--launches", "2"]].concat());
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("1 more: 2 against 1"), "{said}");
    for file in ["run.json", "gate.json", "gate.md", "gate.xml", "index.html"] {
        assert!(gated.folder().join("out").join(file).is_file(), "no {file}\n{said}");
    }
    assert!(gated.harness.read("summary.md").starts_with("<!-- perfharness -->"));
    let git = |arguments: &[&str]| {
        let out = Command::new("git").args(arguments).current_dir(gated.folder()).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
}
