//! Callgrind: a simulated processor that counts the instructions of a program. `vgdb` controls it from outside, so that the
//! program needs no change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfharness_platform::env;
use perfharness_record::{Misses, WorkerCommand};

/// Variable with the Valgrind to use; empty for none.
pub const PROGRAM: &str = "PERFHARNESS_VALGRIND";
/// System and processors that it counts on.
const SYSTEM: &str = "linux";
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];
/// Start of the names of the files with counts; the id of the process follows.
const COUNTS: &str = "counts.";
/// Seconds that the process may take to obey.
const OBEYS_WITHIN_S: u32 = 20;

/// Variables that pin what a program would choose by the machine or by chance: the functions that the C library picks for the
/// processor, the number of its heaps, and the order of Python's sets. Names that a library does not know are ignored.
const PINNED: [(&str, &str); 2] = [
    (
        "GLIBC_TUNABLES",
        "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-AVX_Usable,-AVX2_Usable,-AVX512F_Usable:glibc.malloc.arena_max=1",
    ),
    ("PYTHONHASHSEED", "0"),
];

/// Callers that tell stacks apart.
const DEEPEST: u32 = 64;

/// Options that simulate caches and the prediction of branches. The sizes are fixed, because those of the machine would make
/// other figures of the same program.
const SIMULATED: [&str; 5] =
    ["--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// The key by which counts are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The function.
    Functions,
    /// The function and those that it was called by.
    Stacks,
}

/// An installed Valgrind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callgrind {
    program: PathBuf,
    vgdb: PathBuf,
    /// Its version, such as `3.19.0`.
    pub version: String,
}

impl Callgrind {
    /// Finds Valgrind.
    ///
    /// # Errors
    /// With the reason that there is none, as a clause.
    pub fn find() -> Result<Self, String> {
        if std::env::consts::OS != SYSTEM || !PROCESSORS.contains(&std::env::consts::ARCH) {
            return Err("Valgrind counts on Linux only, with x86-64 or ARM64 processors".into());
        }
        let name = env::var(PROGRAM).unwrap_or_else(|| "valgrind".into());
        if name.is_empty() {
            return Err(format!("{PROGRAM} is empty"));
        }
        let program = which::which(&name).map_err(|_| format!("there is no `{name}`; install Valgrind"))?;
        let beside = program.with_file_name("vgdb");
        let vgdb = if beside.is_file() { Ok(beside) } else { which::which("vgdb") };
        let vgdb = vgdb.map_err(|_| "Valgrind is there without `vgdb`, which controls it".to_owned())?;
        let said = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|error| format!("`{name}` cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        match text.strip_prefix("valgrind-") {
            Some(version) if said.status.success() => Ok(Self { program, vgdb, version: version.to_owned() }),
            _ => Err(format!("`{name} --version` says {text:?}")),
        }
    }

    /// The command by which a worker runs on the simulated processor, with its files in `folder`.
    pub(super) fn around(&self, worker: &WorkerCommand, folder: &Path, detail: Detail) -> WorkerCommand {
        let place = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let options = [
            self.program.to_string_lossy().into_owned(),
            "--tool=callgrind".into(),
            "--quiet".into(),
            // A wrapper, such as `env`, becomes the worker.
            "--trace-children=yes".into(),
            // Names as the linker knows them tell functions of one name apart.
            "--demangle=no".into(),
            // Only samples are counted, and all else is faster.
            "--instr-atstart=no".into(),
            format!("--callgrind-out-file={}%p", place(COUNTS)),
            format!("--vgdb-prefix={}", place("vgdb")),
        ];
        let pinned = PINNED.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env: BTreeMap<String, String> = pinned.into_iter().chain(worker.env.clone()).collect();
        let detail = match detail {
            Detail::Functions => Vec::new(),
            Detail::Stacks => {
                let callers = [format!("--separate-callers={DEEPEST}"), "--separate-recs=1".into()];
                callers.into_iter().chain(SIMULATED.map(str::to_owned)).collect()
            }
        };
        let command = options.into_iter().chain(detail).chain(worker.in_layout(0)).collect();
        WorkerCommand { command, env, layouts: Vec::new(), ..worker.clone() }
    }

    /// Controls the process with this id, whose files are in `folder`, and which gave so many counts so far.
    pub(super) fn control<'a>(&'a self, pid: u32, folder: &'a Path, dumps: u32) -> Control<'a> {
        Control { tool: self, pid, folder, dumps }
    }
}

/// Control of a process that runs on the simulated processor.
pub(super) struct Control<'a> {
    tool: &'a Callgrind,
    pid: u32,
    folder: &'a Path,
    dumps: u32,
}

impl Control<'_> {
    /// Begins to count.
    ///
    /// # Errors
    /// When the process does not obey.
    pub(super) fn begin(&self) -> Result<(), String> {
        self.say("instrumentation on")
    }

    /// Takes the instructions since the last time, or since counting began.
    ///
    /// # Errors
    /// When the process does not obey, or wrote something else.
    pub(super) fn take(&mut self) -> Result<Counts, String> {
        self.say("dump")?;
        self.read_next(Counts::read)
    }

    /// Ends counting: all else is faster.
    ///
    /// # Errors
    /// When the process does not obey.
    pub(super) fn end(&self) -> Result<(), String> {
        self.say("instrumentation off")
    }

    /// Takes the instructions of each stack since the last time, and the simulated misses.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(super) fn take_stacks(&mut self) -> Result<CountedStacks, String> {
        self.say("dump")?;
        self.read_next(stacks)
    }

    fn read_next<T>(&mut self, read: fn(&str) -> Option<T>) -> Result<T, String> {
        self.dumps += 1;
        let path = self.folder.join(format!("{COUNTS}{}.{}", self.pid, self.dumps));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("Valgrind wrote no counts, or their file cannot be read: {error}"))?;
        // A worker may be counted some hundred times.
        let _ = std::fs::remove_file(&path);
        read(&text).ok_or_else(|| "Valgrind wrote a file without a total".to_owned())
    }

    /// The id of the process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The number of counts that were taken.
    pub(super) fn dumps(&self) -> u32 {
        self.dumps
    }

    /// Returns how many other processes wrote counts so far, as a child does when it ends.
    pub(super) fn others(&self) -> usize {
        let own = format!("{COUNTS}{}", self.pid);
        let is_of_another = |entry: &std::fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(COUNTS) && name != own && !name.starts_with(&format!("{own}."))
        };
        std::fs::read_dir(self.folder).map_or(0, |all| all.flatten().filter(is_of_another).count())
    }

    /// Gives the process a command. It takes a tenth of a second, which Valgrind waits for more.
    fn say(&self, command: &str) -> Result<(), String> {
        let said = Command::new(&self.tool.vgdb)
            .arg(format!("--vgdb-prefix={}", self.folder.join("vgdb").display()))
            .arg(format!("--pid={}", self.pid))
            // A worker that waits for a request is woken at once.
            .arg("--max-invoke-ms=1")
            .arg(format!("--cmd-time-out={OBEYS_WITHIN_S}"))
            .arg(command)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`vgdb` cannot be started: {error}"))?;
        if said.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&said.stderr);
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        Err(format!("Valgrind does not obey `{command}`: {last}"))
    }
}

/// Instructions of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) total: u64,
    /// Those of each function itself, without what it calls.
    pub(super) functions: BTreeMap<String, u64>,
    /// The functions that have any.
    pub(super) executed: BTreeSet<Executed>,
}

/// A function that was executed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Executed {
    /// Path of the program or library that it is part of.
    pub(super) file: String,
    /// Its name as the linker knows it.
    pub(super) name: String,
}

impl Counts {
    /// Reads a file in the format of Callgrind; `None` if it has no total.
    fn read(text: &str) -> Option<Self> {
        let (total, functions) = costs(text)?;
        let mut counts = Self { total, ..Self::default() };
        for ((file, name), cost) in functions {
            let name = without_depth(name);
            *counts.functions.entry(shown_name(name)).or_default() += cost;
            if cost > 0 {
                counts.executed.insert(Executed { file: file.to_owned(), name: name.to_owned() });
            }
        }
        Some(counts)
    }
}

/// Instructions of a stretch of time by stack, the outermost function first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CountedStacks {
    pub(super) stacks: BTreeMap<Vec<String>, u64>,
    pub(super) misses: Misses,
}

/// Reads the instructions of each stack; `None` if there is no total.
fn stacks(text: &str) -> Option<CountedStacks> {
    let mut counted = CountedStacks { misses: misses(text), ..CountedStacks::default() };
    for ((_, name), cost) in costs(text)?.1 {
        *counted.stacks.entry(frames(name)).or_default() += cost;
    }
    Some(counted)
}

/// Reads the simulated misses from the totals, whose names stand at the top. A name that is not there has none.
fn misses(text: &str) -> Misses {
    let line = |key| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let totals = line("events:").split_whitespace().zip(line("totals:").split_whitespace());
    let totals: BTreeMap<&str, f64> =
        totals.filter_map(|(name, count)| Some((name, count.parse().ok()?))).collect();
    let sum = |names: &[&str]| names.iter().filter_map(|name| totals.get(name)).sum();
    Misses {
        first_cache: sum(&["D1mr", "D1mw"]),
        last_cache: sum(&["ILmr", "DLmr", "DLmw"]),
        branches: sum(&["Bcm", "Bim"]),
    }
}

/// Divides `f'caller'outermost` into names, the outermost first.
fn frames(name: &str) -> Vec<String> {
    let is_depth = |frame: &&str| frame.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit('\'').filter(|frame| !is_depth(frame)).map(shown_name).collect()
}

/// Own costs of functions, by their file and name.
type Costs<'t> = BTreeMap<(&'t str, &'t str), u64>;

/// Returns the total of a file in the format of Callgrind, and the cost of each function.
fn costs(text: &str) -> Option<(u64, Costs<'_>)> {
    let (mut names, mut files) = (BTreeMap::new(), BTreeMap::new());
    let mut functions = Costs::new();
    let (mut file, mut function, mut is_of_call, mut total) = ("", "", false, None);
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=') {
            is_of_call = key == "calls";
            match key {
                "ob" => file = named(value, &mut files),
                "cob" => _ = named(value, &mut files),
                "fn" => function = named(value, &mut names),
                "cfn" => _ = named(value, &mut names),
                _ => {}
            }
        } else if let Some(rest) = line.strip_prefix("totals:") {
            total = rest.split_whitespace().next()?.parse().ok();
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // The line behind `calls` has what the call cost in all, which its functions have, too.
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
            if let Some(cost) = cost.filter(|_| !std::mem::take(&mut is_of_call)) {
                *functions.entry((file, function)).or_default() += cost;
            }
        }
    }
    Some((total?, functions))
}

/// Returns the name behind `(1) name`, which is written once, or `(1)`, as it is thereafter.
fn named<'t>(value: &'t str, known: &mut BTreeMap<&'t str, &'t str>) -> &'t str {
    let (number, name) = value.split_once(' ').unwrap_or((value, ""));
    let name = if name.is_empty() { known.get(number).copied().unwrap_or(number) } else { name };
    known.insert(number, name);
    name
}

/// Returns the name of a function without the number of a recursion.
fn without_depth(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((once, depth)) if !depth.is_empty() && depth.bytes().all(|byte| byte.is_ascii_digit()) => once,
        _ => name,
    }
}

/// Returns the name of a function as people write it, without the hash that rustc adds and that differs between builds.
pub(super) fn shown_name(name: &str) -> String {
    symbolic_demangle::demangle(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_first_event_of_the_last_line_of_totals() {
        let total = |text: &str| Counts::read(text).map(|counts| counts.total);
        let text = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) f\n3 7\n\ntotals: 6512019\n";
        assert_eq!(total(text), Some(6_512_019));
        assert_eq!(total("totals: 5 9\ntotals: 6 1\n"), Some(6), "with further events");
        assert_eq!(total("summary: 7\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }

    #[test]
    fn a_function_has_its_own_instructions_and_not_those_of_what_it_calls() {
        let text = "events: Ir\n\nob=(1) /w\nfl=(1) a.rs\nfn=(1) _ZN1w3run17h0123456789abcdefE\n3 7\n+2 5\n\
                    cob=(2) /libc\ncfn=(2) memcpy\ncalls=3 0\n5 900\n* 1\n\nob=(2)\nfn=(2)\n0 900\n\n\
                    ob=(1)\nfn=(3) walk'2\n9 40\nfn=(4) walk\nfe=(7)\n-1 2\n\ntotals: 955\n";
        let counts = Counts::read(text).unwrap();
        let due = [("memcpy", 900), ("w::run", 13), ("walk", 42)];
        assert_eq!(counts.functions, due.map(|(name, cost)| (name.to_owned(), cost)).into());
        assert_eq!(counts.total, 955);
        let due = [("/libc", "memcpy"), ("/w", "_ZN1w3run17h0123456789abcdefE"), ("/w", "walk")];
        let executed = due.map(|(file, name)| Executed { file: file.into(), name: name.into() });
        assert_eq!(counts.executed, executed.into());
    }

    #[test]
    fn a_stack_is_a_function_and_its_callers() {
        let text = "events: Ir\nfn=(1) _ZN1w4leaf17h0123456789abcdefE'_ZN1w3run17hfedcba9876543210E'main\n3 7\n\
                    cfn=(2) memcpy'_ZN1w4leaf17h0123456789abcdefE'main\ncalls=1 0\n3 90\n\
                    fn=(2)\n0 90\nfn=(4) walk'2'main\n1 4\ntotals: 101\n";
        let stack =
            |frames: &[&str], cost| (frames.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>(), cost);
        let due = [
            stack(&["main", "w::run", "w::leaf"], 7),
            stack(&["main", "w::leaf", "memcpy"], 90),
            stack(&["main", "walk"], 4),
        ];
        assert_eq!(stacks(text).unwrap(), CountedStacks { stacks: due.into(), misses: Misses::default() });
        assert_eq!(stacks("fn=(1) f\n1 2\n"), None);
    }

    #[test]
    fn misses_stand_in_the_totals_by_the_names_of_the_events() {
        let text = "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\
                    totals: 900 200 100 9 20 10 1 2 4 80 8 6 5\n";
        assert_eq!(misses(text), Misses { first_cache: 30.0, last_cache: 7.0, branches: 13.0 });
        assert_eq!(misses("events: Ir\ntotals: 900\n"), Misses::default());
    }

    #[test]
    fn names_are_shown_as_people_write_them() {
        assert_eq!(shown_name("_ZN1a1b17hdeadbeefdeadbeefE"), "a::b");
        assert_eq!(shown_name("_RNvCs1234_7mycrate3run"), "mycrate::run");
        assert_eq!(shown_name("_Z4walki"), "walk(int)");
        assert_eq!(shown_name("_PyEval_EvalFrameDefault"), "_PyEval_EvalFrameDefault");
        assert_eq!(without_depth("walk'12"), "walk");
    }

    #[test]
    fn a_worker_keeps_its_own_environment_and_loses_its_layouts() {
        let tool = Callgrind { program: "/v/valgrind".into(), vgdb: "/v/vgdb".into(), version: "3".into() };
        let worker = WorkerCommand {
            command: vec!["python".into(), "w.py".into()],
            env: BTreeMap::from([("PYTHONHASHSEED".into(), "7".into())]),
            layouts: Vec::new(),
            ..WorkerCommand::default()
        };
        let around = tool.around(&worker, Path::new("/f"), Detail::Functions);
        assert_eq!(around.command[0], "/v/valgrind");
        assert_eq!(around.command[around.command.len() - 2..], ["python", "w.py"]);
        assert!(around.command.contains(&"--callgrind-out-file=/f/counts.%p".to_owned()));
        assert_eq!(around.env["PYTHONHASHSEED"], "7");
        assert!(around.env["GLIBC_TUNABLES"].contains("arena_max=1"));
    }
}
