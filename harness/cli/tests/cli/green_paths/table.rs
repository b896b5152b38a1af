//! The rows of the table and their repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Call, Done, Harness, require_system, require_tool};

/// The worker, where its repository has it.
pub(super) const WORKER: &str = "bench/my_worker.py";

const SOURCE: &str = include_str!("../../workers/python_gated.py");

/// The configuration that the README shows.
pub(super) const README: &str = "[[worker]]\ncommand = [\"python3\", \"bench/my_worker.py\"]\n";

/// A configuration by which each side runs its own script.
pub(super) const GATED: &str = "[gate]\nworker = [\"python3\", \"bench/my_worker.py\"]\n";

/// The same, with a worker for `run`.
pub(super) const BOTH: &str = "\
[[worker]]
command = [\"python3\", \"bench/my_worker.py\"]
[gate]
worker = [\"python3\", \"bench/my_worker.py\"]
";

/// A worker that a build makes, by a script of the repository.
pub(super) const BUILT: &str = "[gate]\nbuild = [\"sh\", \"build.sh\"]\nworker = [\"{target}/my_worker\"]\n";

/// The script of [`BUILT`].
pub(super) const BUILD: &str = "\
set -e
mkdir -p \"$CARGO_TARGET_DIR\"
cp bench/my_worker.py \"$CARGO_TARGET_DIR/my_worker\"
chmod +x \"$CARGO_TARGET_DIR/my_worker\"
";

/// Where rows work that start a script by its first line, need signals or make links.
pub(super) const UNIX: &[&str] = &["linux", "macos"];

/// A way to be green by accident, and what is right in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Makes the base, from the repository that [`Repo::new`] makes.
    pub(super) base: fn(&Repo),
    /// Makes the change.
    pub(super) arrange: fn(&Repo),
    /// Whether the change is committed.
    pub(super) is_committed: bool,
    /// The call, as on a command line, with `{repo}` and `{above}` as in [`Repo::placed`]. It measures one launch unless it says otherwise.
    pub(super) line: &'static str,
    /// The folder to start in, seen from the repository.
    pub(super) within: &'static str,
    /// Environment variables, with the same in their values.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Systems on which it can be arranged; all where empty.
    pub(super) systems: &'static [&'static str],
    /// Tools that it needs besides git and Python.
    pub(super) tools: &'static [&'static [&'static str]],
    /// The exit codes that are right.
    pub(super) expect: &'static [i32],
    /// Texts that are to be printed, on stdout or stderr.
    pub(super) says: &'static [&'static str],
    /// Verdicts, or reasons of verdicts, that rows of gate.json are to have.
    pub(super) finds: &'static [&'static str],
}

/// The planted change in a repository with the configuration of the README.
pub(super) const ROW: Row = Row {
    base: |_| {},
    arrange: Repo::plant,
    is_committed: true,
    line: "gate --base main gated/n1/work",
    within: ".",
    env: &[],
    systems: &[],
    tools: &[],
    expect: &[3],
    says: &[],
    finds: &[],
};

/// The same with a worker that is built.
pub(super) const OF_BUILD: Row =
    Row { base: |repo| repo.build_by(BUILD), systems: UNIX, tools: &[&["sh", "-c", ":"]], ..ROW };

impl Row {
    /// Arranges it, calls the gate, and insists on what is right.
    #[track_caller]
    pub(super) fn check(self) {
        if let Some(repo) = self.arranged() {
            self.judged(&repo);
        }
    }

    /// Calls the gate in a repository that is arranged, and insists on what is right.
    #[track_caller]
    pub(super) fn judged(&self, repo: &Repo) {
        let done = repo.call(self).done();
        repo.judge(self, &done);
    }

    /// The repository with its change; none where this machine lacks what the row needs.
    pub(super) fn arranged(&self) -> Option<Repo> {
        let has_tools = || self.tools.iter().all(|probe| require_tool(probe));
        if !(self.systems.is_empty() || require_system(self.systems)) || !(Repo::is_possible() && has_tools())
        {
            return None;
        }
        let repo = Repo::new();
        (self.base)(&repo);
        repo.commit("the base");
        repo.git(&["checkout", "--quiet", "-b", "change"]);
        (self.arrange)(&repo);
        if self.is_committed {
            repo.commit("the change");
        }
        Some(repo)
    }
}

/// A repository with a Python worker, in a folder of a [`Harness`].
pub(super) struct Repo {
    pub(super) harness: Harness,
}

impl Repo {
    pub(super) fn is_possible() -> bool {
        require_tool(&["git", "--version"]) && require_tool(&["python3", "--version"])
    }

    /// The worker and the configuration of the README, not committed yet.
    pub(super) fn new() -> Self {
        let repo = Self { harness: Harness::new() };
        fs::create_dir(repo.harness.path("repo")).unwrap();
        repo.git(&["init", "--quiet", "--initial-branch", "main"]);
        repo.write(".gitignore", "/target\n__pycache__\n");
        repo.write(WORKER, SOURCE);
        repo.configure(README);
        repo
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.harness.path("repo").join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        self.harness.write(&format!("repo/{name}"), self.placed(content));
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Removes a folder that is empty.
    pub(super) fn remove_folder(&self, name: &str) {
        fs::remove_dir(self.path(name)).unwrap();
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(super) fn copy(&self, from: &str, to: &str) {
        self.write(to, &self.read(from));
    }

    /// Makes `name` a link to `to`, which it is seen from its own folder.
    pub(super) fn link(&self, to: &str, name: &str) {
        self.run(Command::new("ln").args(["-s", "-f", "-n", &self.placed(to), name]));
    }

    pub(super) fn configure(&self, text: &str) {
        self.write("perfharness.toml", text);
    }

    /// Adds to the configuration.
    pub(super) fn configure_also(&self, text: &str) {
        let before = self.read("perfharness.toml");
        self.configure(&format!("{before}{text}"));
    }

    /// Configures a worker that a script makes.
    pub(super) fn build_by(&self, script: &str) {
        self.write("build.sh", script);
        self.configure(BUILT);
    }

    /// Replaces a text of a file.
    #[track_caller]
    pub(super) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}");
        self.write(name, &text.replacen(from, to, 1));
    }

    /// Replaces a text of the worker.
    #[track_caller]
    pub(super) fn code(&self, from: &str, to: &str) {
        self.edit(WORKER, from, to);
    }

    /// Makes the worker 30 % slower, and copy once more.
    pub(super) fn plant(&self) {
        self.code("STEPS = 10_000", "STEPS = 13_000");
        self.code("COPIES = 1", "COPIES = 2");
    }

    /// Has the worker take how much it does from a variable of its own, for changes that are not in its source.
    pub(super) fn work_from(&self, python: &str) {
        self.code("STEPS = 10_000", &format!("FACTOR = {python}\nSTEPS = 7_000 + 3_000 * FACTOR"));
        self.code("COPIES = 1", "COPIES = FACTOR");
    }

    /// Has the worker take how much it does from a setting, a text or the path of a file.
    pub(super) fn setting(&self, kind: &str) {
        let definition = format!("\"settings\": [{{\"name\": \"factor\", \"kind\": \"{kind}\"}}]");
        self.code("\"version\": 1}", &format!("\"version\": 1, {definition}}}"));
        let text = if kind == "path" { "open(text).read()" } else { "text" };
        let take = format!(
            "def take(text):\n    global STEPS, COPIES\n    COPIES = int({text})\n    STEPS = 7_000 + 3_000 * COPIES\n\n\n"
        );
        self.code("def launch():", &format!("{take}def launch():"));
        self.code("    if op == \"hello\":\n", "    if op == \"hello\":\n        take(request[\"settings\"][\"factor\"]) if \"settings\" in request else None\n");
    }

    pub(super) fn make_executable(&self, name: &str) {
        self.set_mode(name, "+x");
    }

    pub(super) fn set_mode(&self, name: &str, mode: &str) {
        self.run(Command::new("chmod").args([mode, name]));
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        for setting in ["user.name=test", "user.email=test@localhost", "core.autocrlf=false", "gc.auto=0"] {
            git.args(["-c", setting]);
        }
        self.run(git.args(arguments.iter().map(|word| self.placed(word))));
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message", message]);
    }

    #[track_caller]
    fn run(&self, command: &mut Command) {
        let status = command.current_dir(self.harness.path("repo")).status().unwrap();
        assert!(status.success(), "{command:?}");
    }

    /// Measures the code here, and accepts the figures, as one run of them.
    pub(super) fn accept(&self) {
        let run = "run gated --launches 1 --no-telemetry --output {above}/accepted.json";
        self.call(&Row { line: run, ..ROW }).done().code(0);
        let accept = "baseline accept {above}/accepted.json --reason first";
        self.call(&Row { line: accept, ..ROW }).done().code(0);
    }

    /// A text with the repository's folder for `{repo}`, and the folder that it lies in for `{above}`.
    fn placed(&self, text: &str) -> String {
        let repo = self.harness.path("repo");
        let name = |path: &Path| path.to_str().unwrap().replace('\\', "/");
        text.replace("{repo}", &name(&repo)).replace("{above}", &name(repo.parent().unwrap()))
    }

    /// The name of the only file of accepted figures.
    pub(super) fn baseline(&self) -> String {
        let entries = fs::read_dir(self.path("baselines")).unwrap();
        let names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        format!("baselines/{}", names[0])
    }

    /// The call of a row, in its folder and with a record outside of the repository.
    pub(super) fn call(&self, row: &Row) -> Call<'_> {
        self.call_to(row, &self.record())
    }

    /// The same, with another place for the record.
    pub(super) fn call_to(&self, row: &Row, record: &Path) -> Call<'_> {
        let mut words = shlex::split(&self.placed(row.line)).unwrap();
        let is_record = |word: &String| Path::new(word).extension().is_some_and(|ext| ext == "json");
        let measures = words[0] == "gate" && !words.get(1).is_some_and(is_record);
        let is_given = |flag: &str| words.iter().any(|word| word == flag);
        let mut more = Vec::new();
        if measures {
            more.push("--no-telemetry".to_owned());
            for (flag, value) in [("--effort", "quick"), ("--launches", "1")] {
                if !is_given(flag) {
                    more.extend([flag, value].map(str::to_owned));
                }
            }
            if !is_given("--output") {
                more.extend(["--output".to_owned(), record.to_str().unwrap().to_owned()]);
            }
        }
        words.extend(more);
        let mut call = self.harness.call("").args(words).within(&format!("repo/{}", row.within));
        call = call.env("PERFHARNESS_CACHE", self.harness.path("cache").to_str().unwrap());
        for (name, value) in row.env {
            call = call.env(name, &self.placed(value));
        }
        call
    }

    /// The record of a call.
    pub(super) fn record(&self) -> PathBuf {
        self.harness.path("out/run.json")
    }

    /// The findings of the last call; null if it did not get that far.
    pub(super) fn found(&self) -> Value {
        found_beside(&self.record())
    }

    /// Insists on what a row says of a call that has ended.
    #[track_caller]
    fn judge(&self, row: &Row, done: &Done) {
        let found = self.found();
        let code = done.status.code();
        let said = format!("{}\n{}", done.stdout, done.stderr);
        // Long lines are broken anywhere.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            code.is_some_and(|code| row.expect.contains(&code)),
            "ended with {code:?}, and {:?} is right:\n{said}\n{found:#}",
            row.expect
        );
        // The time of a few launches stays open whatever it is: that makes no gate right, and none wrong.
        if code == Some(4) {
            assert_eq!(
                is_open_by_time_alone(&found),
                row.expect.contains(&0),
                "whether it ended with 4 for no other reason than the time of few launches:\n{said}\n{found:#}"
            );
        }
        for text in row.says {
            assert!(flat(&said).contains(&flat(text)), "nothing is said of {text:?}:\n{said}");
        }
        for word in row.finds {
            assert!(
                rows_of(&found).any(|row| is_found_to_be(row, word)),
                "no row is {word:?}:\n{said}\n{found:#}"
            );
        }
    }
}

/// gate.json beside a record; null where there is none.
fn found_beside(record: &Path) -> Value {
    let text = fs::read_to_string(record.with_file_name("gate.json"));
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// The rows of gate.json.
pub(super) fn rows_of(found: &Value) -> impl Iterator<Item = &Value> {
    found["rows"].as_array().into_iter().flatten()
}

/// Whether a row has a verdict, or has one for a reason.
pub(super) fn is_found_to_be(row: &Value, word: &str) -> bool {
    let judgement = &row["judgement"];
    judgement["verdict"] == word || judgement["reason"]["because"] == word
}

/// Whether a gate is undecided only because a time of so few launches always is. Whatever else was planted it has missed,
/// so that only the time could have saved it from ending with 0.
fn is_open_by_time_alone(found: &Value) -> bool {
    let gates = |row: &&Value| row["judgement"]["advisory"].as_array().is_none_or(Vec::is_empty);
    let is_open = |row: &&Value| row["judgement"]["verdict"] == "inconclusive";
    let mut open = rows_of(found).filter(gates).filter(is_open);
    found["outcome"] == "undecided"
        && open.all(|row| row["metric"] == "wall-time" && is_found_to_be(row, "too-few-launches"))
        && !rows_of(found).any(|row| is_found_to_be(row, "redefined"))
}

#[test]
fn a_gate_that_nothing_but_the_time_leaves_open_counts_as_green() {
    let row = |metric: &str, verdict: &str, because: &str| json!({"metric": metric, "judgement": {"verdict": verdict, "reason": {"because": because}}});
    let is_green = |outcome: &str, other: Value| {
        let time = row("wall-time", "inconclusive", "too-few-launches");
        is_open_by_time_alone(&json!({"outcome": outcome, "rows": [time, other]}))
    };
    assert!(is_green("undecided", row("copies", "unchanged", "within-threshold")));
    assert!(!is_green("undecided", row("copies", "inconclusive", "skipped")));
    assert!(!is_green("undecided", row("wall-time", "inconclusive", "skipped")));
    assert!(!is_green("undecided", row("outcome", "redefined", "redefined")));
    assert!(!is_green("nothing-compared", row("copies", "unchanged", "within-threshold")));
    assert!(!is_open_by_time_alone(&Value::Null));
}
