//! A folder to start the program in, and what came of it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, thread};

use perfharness_platform::{clock, env};
use perfharness_record::{BenchmarkRecord, RunRecord, file};

/// The variable with the Valgrind that counts instructions; empty for none.
pub(crate) const VALGRIND: &str = "PERFHARNESS_VALGRIND";

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_perfharness");

/// No call of these tests takes this long on any machine; one that hangs is ended and fails its test.
const PATIENCE: Duration = Duration::from_mins(2);

/// Builds a program of another package, where it is not there yet, because Cargo gives a test the programs of its own
/// crate only. `path` is where it lies in the profile's folder.
fn built(package: &str, target: &[&str], path: &str) -> PathBuf {
    let folder = Path::new(PROGRAM).parent().unwrap();
    let profile = match folder.file_name().and_then(OsStr::to_str).unwrap() {
        "debug" => "dev",
        other => other,
    };
    // Both packages, so that their features are those that the program was built with.
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "perfharness", "-p", package]).args(target);
    build.args(["--profile", profile, "--target-dir"]);
    build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().unwrap().success(), "{path} does not build");
    let program = folder.join(format!("{path}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is not there after building it", program.display());
    program
}

/// The program `perfharness-test-worker`.
fn test_worker() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let name = "perfharness-test-worker";
    BUILT.get_or_init(|| built("perfharness-testkit", &["--bin", name], name))
}

/// The example of the author's guide, which is a worker.
fn example_worker() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("perfharness-gpu", &["--example", "row_sums"], "examples/row_sums"))
}

/// A path as a word of `--worker`.
fn word(path: &Path) -> String {
    let text = path.to_str().unwrap();
    shlex::try_quote(text).unwrap().into_owned()
}

/// Whether a tool is there, by calling it. Where `PERFHARNESS_REQUIRE_TOOLS` is set it has to be.
pub(crate) fn require_tool(probe: &[&str]) -> bool {
    let (tool, arguments) = probe.split_first().unwrap();
    let status = Command::new(tool).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let works = status.is_ok_and(|status| status.success());
    assert!(
        works || !env::is_set_nonempty("PERFHARNESS_REQUIRE_TOOLS"),
        "`{}` does not work, and PERFHARNESS_REQUIRE_TOOLS is set",
        probe.join(" ")
    );
    works || skipped(&format!("`{}` does not work here", probe.join(" ")))
}

/// Whether tools are installed that a test needs and the program does not, and that are required nowhere.
pub(crate) fn has_tools(tools: &[&str]) -> bool {
    let is_missing = |tool: &&&str| Command::new(tool).arg("--help").output().is_err();
    match tools.iter().find(is_missing) {
        Some(tool) => skipped(&format!("there is no `{tool}` here")),
        None => true,
    }
}

/// Whether a test that only makes sense on some systems can go on.
pub(crate) fn require_system(systems: &[&str]) -> bool {
    let here = std::env::consts::OS;
    systems.contains(&here) || skipped(&format!("made for {}, not for {here}", systems.join(", ")))
}

/// For tests that need signals.
pub(crate) fn require_signals() -> bool {
    let windows = std::env::consts::OS == "windows";
    if windows { skipped("Windows has no signals") } else { require_tool(&["kill", "-l"]) }
}

fn skipped(why: &str) -> bool {
    eprintln!("SKIPPED: {why}");
    false
}

/// A folder of its own, in which the program is started.
pub(crate) struct Harness {
    _guard: tempfile::TempDir,
    folder: PathBuf,
}

impl Harness {
    pub(crate) fn new() -> Self {
        let guard = tempfile::Builder::new().prefix("perfharness-e2e-").tempdir().unwrap();
        // As the system calls it: on macOS a temporary folder has two names. (Windows' other name is of no use to others.)
        let folder = match std::env::consts::OS {
            "windows" => guard.path().to_owned(),
            _ => guard.path().canonicalize().unwrap(),
        };
        fs::create_dir(folder.join("scratch")).unwrap();
        Self { _guard: guard, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Names of everything in the folder that a call of the program could have left, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "scratch");
        names.sort();
        names
    }

    /// Copies the test worker into the folder, so that it differs from the workers of other tests and can be changed.
    pub(crate) fn copy_worker(&self, name: &str) {
        let copy = self.path(&format!("{name}{}", std::env::consts::EXE_SUFFIX));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(test_worker(), copy).unwrap();
    }

    /// A call of the program; `line` is its arguments, divided by spaces.
    pub(crate) fn call(&self, line: &str) -> Call<'_> {
        self.call_of(self.command(Path::new(PROGRAM), &line.split_whitespace().collect::<Vec<_>>()))
    }

    /// A call of the program by way of another one.
    pub(crate) fn call_of(&self, command: Command) -> Call<'_> {
        Call { harness: self, command }
    }

    /// A call of `run` that writes `run.json`.
    pub(crate) fn measure(&self, line: &str) -> Call<'_> {
        self.call("run --output run.json").args(line.split_whitespace())
    }

    /// A program in the conditions of these tests.
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        // Counting takes time, and the tests of it ask for it.
        command.env(VALGRIND, "");
        // What a killed program leaves goes with the folder. A repository around the folder is none of its business.
        for variable in ["TMPDIR", "TMP", "TEMP"] {
            command.env(variable, self.path("scratch"));
        }
        command.env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap());
        command
    }

    pub(crate) fn record(&self) -> RunRecord {
        file::read(&self.path("run.json")).unwrap()
    }

    /// `workload/case/variant` of the record.
    pub(crate) fn benchmark(&self, id: &str) -> BenchmarkRecord {
        let record = self.record();
        let found = record.benchmarks.into_iter().find(|benchmark| benchmark.id.to_string() == id);
        found.unwrap_or_else(|| panic!("the record has no {id}"))
    }
}

/// A call that is being put together.
pub(crate) struct Call<'h> {
    harness: &'h Harness,
    command: Command,
}

impl Call<'_> {
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Adds the test worker in one of its modes.
    pub(crate) fn worker(self, mode: &str) -> Self {
        let line = format!("{} {mode}", word(test_worker()));
        self.args(["--worker", &line])
    }

    /// Adds the test worker in one of its modes as the base.
    pub(crate) fn base_worker(self, mode: &str) -> Self {
        let line = format!("{} {mode}", word(test_worker()));
        self.args(["--base-worker", &line])
    }

    /// Adds the test worker in one of its modes, started by a script of the folder.
    pub(crate) fn worker_by_script(self, script: &str, mode: &str) -> Self {
        let line = format!("sh {script} {} {mode}", word(test_worker()));
        self.args(["--worker", &line])
    }

    /// Adds the example of the author's guide.
    pub(crate) fn example_worker(self) -> Self {
        self.args(["--worker", &word(example_worker())])
    }

    /// Adds a copy of the test worker, with the set `good`.
    pub(crate) fn copied_worker(self, name: &str) -> Self {
        self.copied_worker_in(name, "good")
    }

    /// Adds a copy of the test worker in one of its modes.
    pub(crate) fn copied_worker_in(self, name: &str, mode: &str) -> Self {
        let copy = self.harness.path(&format!("{name}{}", std::env::consts::EXE_SUFFIX));
        self.args(["--worker", &format!("{} {mode}", word(&copy))])
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it in a folder below.
    pub(crate) fn within(mut self, folder: &str) -> Self {
        let folder = self.harness.path(folder);
        fs::create_dir_all(&folder).unwrap();
        self.command.current_dir(folder);
        self
    }

    /// Starts it and waits for its end.
    pub(crate) fn done(self) -> Done {
        self.start().wait()
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Running {
        Running::start(&mut self.command)
    }
}

/// A program that runs.
pub(crate) struct Running {
    child: Child,
    stdout: Option<thread::JoinHandle<String>>,
    stderr: Option<thread::JoinHandle<String>>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(|pipe| thread::spawn(|| read(pipe)));
        let stderr = child.stderr.take().map(|pipe| thread::spawn(|| read(pipe)));
        Self { child, stdout, stderr }
    }

    /// Starts a program whose stdin is a pipe, writes to it and closes it.
    pub(crate) fn start_with_input(
        command: &mut Command,
        write: impl FnOnce(std::process::ChildStdin) -> std::io::Result<()>,
    ) -> Self {
        let mut running = Self::start(command);
        write(running.child.stdin.take().unwrap()).unwrap();
        running
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, and tells the most memory that it was seen to hold, in bytes. Linux only.
    pub(crate) fn wait_and_weigh(mut self) -> (Done, u64) {
        let status = format!("/proc/{}/status", self.id());
        let start = clock::now();
        let mut peak = 0;
        // The kernel keeps the peak, so that only what comes after the last look is missed; a process that has ended tells none.
        while !self.has_ended() && start.elapsed() < PATIENCE {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
            peak = peak.max(kibibytes.unwrap_or(0) << 10);
            thread::sleep(Duration::from_millis(1));
        }
        (self.wait(), peak)
    }

    /// Ends it as nothing can prevent: it has no time for a last word.
    pub(crate) fn kill(mut self) -> Done {
        self.child.kill().unwrap();
        self.wait()
    }

    pub(crate) fn wait(mut self) -> Done {
        let start = clock::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("still running after {PATIENCE:?}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        let text = |thread: Option<thread::JoinHandle<String>>| thread.unwrap().join().unwrap();
        Done { status, stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) }
    }

    /// Whether it has ended already.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Insists on texts on stderr.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr says nothing of {text:?}:\n{}", self.stderr);
        }
        self
    }

    /// stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}
