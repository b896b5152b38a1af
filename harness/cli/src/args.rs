//! Flags, as the user types them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use perfharness_contract::Effort;
use perfharness_engine::probe;
use perfharness_record::MAX_LAUNCHES;
use perfharness_report::profile::ProfileFormat;
use perfharness_report::render::{ExportFormat, GateFormat};

use crate::config::device;

/// Measure hot paths, check that their variants agree, and see what they cost.
#[derive(Debug, Parser)]
#[command(name = "perfharness", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// Flags that every command has.
    #[command(flatten)]
    pub global: GlobalOpts,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 the harness failed, 2 usage, 3 regressed, 4 undecided, 5 a benchmark failed, 130 interrupted.";

const GATE_EXIT_CODES: &str = "\
Exit codes: 0 no regression, shown at the stated thresholds; 1 the harness itself failed; 2 usage; 3 regressed; 4 undecided,
or nothing to compare; 5 a benchmark failed or is gone; 130 interrupted. The first of 2, 1, 5, 3, 4 that applies.";

const PROFILE_EXIT_CODES: &str = "\
Exit codes: 0 something was profiled, 1 the harness failed, 2 usage, 4 nothing could be profiled, 5 a benchmark failed,
130 interrupted.";

const TRACE_EXIT_CODES: &str = "\
Exit codes: 0 something was traced, 1 the harness failed, 2 usage, 4 nothing could be traced, 5 a benchmark failed,
130 interrupted.";

const MEMORY_EXIT_CODES: &str = "\
Exit codes: 0 something was watched, whether it grows or not, 1 the harness failed, 2 usage, 4 nothing could be watched,
5 a benchmark failed, or grows where --fail-on-growth is given, 130 interrupted.";

const DOCTOR_EXIT_CODES: &str = "\
Exit code 0 whenever the machine could be looked at, whatever was found; warnings are in the text and in the JSON.";

/// Flags that every command has.
#[derive(Debug, Clone, Args)]
pub struct GlobalOpts {
    /// When to colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
    /// Show no progress and no hints
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Configuration file [default: perfharness.toml here or in a folder above]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// When to colour the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure benchmarks and write a record
    Run(RunOpts),
    /// Find out where benchmarks spend their time, and draw flame graphs
    #[command(after_help = PROFILE_EXIT_CODES)]
    Profile(ProfileOpts),
    /// Find out when benchmarks do what, and write timelines for Perfetto
    #[command(after_help = TRACE_EXIT_CODES)]
    Trace(TraceOpts),
    /// Find out whether benchmarks leak, from their memory over many iterations
    #[command(after_help = MEMORY_EXIT_CODES)]
    Memory(MemoryOpts),
    /// List workloads, cases, variants and claims
    List(ListOpts),
    /// Show the result of a record
    Show(ShowOpts),
    /// Make the HTML pages of records, or hand a record to another program
    Report(ReportOpts),
    /// Judge whether the code here got slower, heavier or wrong
    #[command(after_help = GATE_EXIT_CODES)]
    Gate(GateOpts),
    /// Judge one record against another
    #[command(after_help = GATE_EXIT_CODES)]
    Compare(CompareOpts),
    /// Accept figures, and look at what is accepted
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Find out what this machine can tell: measure benchmarks against themselves
    Calibrate(CalibrateOpts),
    /// Say what this machine can measure, and what to do about the rest
    #[command(after_help = DOCTOR_EXIT_CODES)]
    Doctor(DoctorOpts),
    /// Write a commented perfharness.toml
    Init,
    /// Print a completion script
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the JSON Schema of run.json, or of another file that is written
    Schema {
        /// Of which file.
        #[arg(default_value = "run")]
        of: SchemaOf,
    },
    /// Serve the built-in workloads on stdin and stdout
    #[command(hide = true)]
    Worker,
    /// Ask the drivers one question, and print their answer as JSON, unless stdin is closed before
    #[command(hide = true)]
    Probe {
        /// The question.
        #[command(subcommand)]
        question: Question,
    },
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// run.json
    Run,
    /// The JSON of a gate
    Gate,
    /// A file of baselines/
    Baseline,
    /// A line of the journal of an unfinished run
    Journal,
}

/// A question to drivers.
#[derive(Debug, Clone, Subcommand)]
pub enum Question {
    /// Which adapters are there?
    Adapters,
    /// Does the adapter at this position of the list work?
    Adapter {
        /// The position, from 0.
        at: usize,
    },
    /// What does NVIDIA's driver tell of its GPUs?
    Nvidia,
    /// What can this machine do at most?
    Ceilings {
        /// The GPU to use.
        device: String,
    },
    /// What does the machine do, again and again? Lines on stdin name processes: `+PID` and `-PID`
    Watch {
        /// Ms between two answers.
        #[arg(long, default_value_t = 250)]
        interval_ms: u64,
        /// Name of the GPU that is measured.
        #[arg(long)]
        adapter: Option<String>,
    },
    /// What could be told of that?
    Glance,
}

impl From<Question> for probe::Question {
    fn from(question: Question) -> Self {
        match question {
            Question::Adapters => Self::Adapters,
            Question::Adapter { at } => Self::Adapter(at),
            Question::Nvidia => Self::Nvidia,
            Question::Ceilings { device } => Self::Ceilings(device),
            Question::Watch { interval_ms, adapter } => {
                Self::Watch { interval: Duration::from_millis(interval_ms), adapter }
            }
            Question::Glance => Self::Glance,
        }
    }
}

/// Which workers, and under which conditions.
#[derive(Debug, Clone, Args)]
pub struct WorkerOpts {
    /// Measure a program of your own: its command line, or the path of an executable (can be given again)
    #[arg(long = "worker", value_name = "COMMAND")]
    pub workers: Vec<String>,
    /// GPU to use: `auto`, `none`, a kind such as `software`, or a part of an adapter's name, driver or backend
    #[arg(long, value_name = "NAME", value_parser = device)]
    pub device: Option<String>,
    /// How long a worker may take to answer, beyond what a sample is expected to take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub timeout: Duration,
}

/// What each launch of a benchmark is given.
#[derive(Debug, Clone, Args)]
pub struct ConditionOpts {
    /// Which cases; where times are measured, how many launches of each, too [default: quick; for gate and calibrate: standard]
    #[arg(long)]
    pub effort: Option<EffortArg>,
    /// Seed of every input and order [default: 1]
    // Larger integers are not exact in the JSON of every language that a worker may be written in.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1 << 53))]
    pub seed: Option<u64>,
    /// Memory that a worker may use, e.g. 2GiB; a profiler takes some 150 MB of it [default: nine tenths of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    pub memory_limit: Option<u64>,
    /// Set something that a workload asks for (can be given again)
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Use the images of this folder, where a workload needs some; short for `--set images=DIR`
    #[arg(long, value_name = "DIR")]
    pub images: Option<String>,
    /// Workers.
    #[command(flatten)]
    pub worker: WorkerOpts,
}

/// What is measured, and for how long.
#[derive(Debug, Clone, Args)]
pub struct MeasureOpts {
    /// Conditions.
    #[command(flatten)]
    pub conditions: ConditionOpts,
    /// Time for the whole run, e.g. 30s or 5m [default: by effort and number of cases]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time_budget: Option<Duration>,
    /// Launch each benchmark so often, in place of the effort's own rule; a --time-budget can still end it sooner
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LAUNCHES)))]
    pub launches: Option<u32>,
    /// Read neither processor nor GPU nor workers while measuring
    #[arg(long)]
    pub no_telemetry: bool,
}

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct RunOpts {
    /// What to measure: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// What is measured.
    #[command(flatten)]
    pub measure: MeasureOpts,
    /// Where to write the record [default: reports/COMMIT/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the record as JSON in place of the table
    #[arg(long)]
    pub json: bool,
    /// Say what would be measured, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Go on with the run that was cut off
    #[arg(long)]
    pub resume: bool,
    /// Then profile what was measured, and draw flame graphs beside the record
    #[arg(long)]
    pub flamegraph: bool,
}

/// Flags of `profile`.
#[derive(Debug, Clone, Args)]
pub struct ProfileOpts {
    /// What to profile: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub patterns: Vec<String>,
    /// Where to write [default: reports/COMMIT/flamegraphs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to write (can be several, divided by commas)
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg")]
    pub format: Vec<ProfileFormat>,
    /// How long to profile each benchmark, in seconds
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "2")]
    pub seconds: Duration,
    /// Build this commit's merge base and the code here, and hold each benchmark against itself there
    #[arg(long, value_name = "REF", conflicts_with = "base_worker")]
    pub base: Option<String>,
    /// Hold each benchmark against itself in this worker
    #[arg(long, value_name = "COMMAND")]
    pub base_worker: Option<String>,
    /// Conditions.
    #[command(flatten)]
    pub conditions: ConditionOpts,
    /// Print the index as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `trace`.
#[derive(Debug, Clone, Args)]
pub struct TraceOpts {
    /// What to trace: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub patterns: Vec<String>,
    /// Where to write: a folder, or for one benchmark a file that ends with .json [default: reports/COMMIT/traces]
    #[arg(long, value_name = "DIR|FILE")]
    pub out: Option<PathBuf>,
    /// How many iterations to trace
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), default_value = "3")]
    pub iterations: u64,
    /// Conditions.
    #[command(flatten)]
    pub conditions: ConditionOpts,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `memory`.
#[derive(Debug, Clone, Args)]
pub struct MemoryOpts {
    /// What to watch: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub patterns: Vec<String>,
    /// Iterations of each benchmark
    // Fewer could not be told apart from steps that end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(40..=100_000_000), default_value = "1000")]
    pub iterations: u64,
    /// How long to watch each benchmark at most, in seconds; long iterations get fewer of them
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "20")]
    pub seconds: Duration,
    /// Where to write [default: reports/COMMIT/memory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// End with exit code 5 where something grows
    #[arg(long)]
    pub fail_on_growth: bool,
    /// Conditions.
    #[command(flatten)]
    pub conditions: ConditionOpts,
    /// Print the index as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where accepted figures are.
#[derive(Debug, Clone, Args)]
pub struct BaselineFolder {
    /// Folder of the accepted figures
    #[arg(long, value_name = "DIR", default_value = Self::DEFAULT)]
    pub baselines: PathBuf,
}

impl BaselineFolder {
    /// Where accepted figures are, unless somebody says otherwise.
    pub const DEFAULT: &str = "baselines";
}

/// Flags of `gate`.
#[derive(Debug, Clone, Args)]
pub struct GateOpts {
    /// What to measure [default: all], or a run.json to judge as it is
    #[arg(value_name = "PATTERN | RUN.json")]
    pub what: Vec<String>,
    /// Build this commit's merge base and the code here, and measure both in the same rounds
    #[arg(long, value_name = "REF", conflicts_with = "base_worker")]
    pub base: Option<String>,
    /// Measure against this worker, which is built already, in the same rounds
    #[arg(long, value_name = "COMMAND")]
    pub base_worker: Option<String>,
    /// Take policy and accepted figures from here, not from the base; for whoever may accept a regression
    #[arg(long, conflicts_with = "base_worker")]
    pub trust_head: bool,
    /// What is measured.
    #[command(flatten)]
    pub measure: MeasureOpts,
    /// Go on with the gate that was cut off; the other arguments have to be the same
    #[arg(long)]
    pub resume: bool,
    /// Where to write the record [default: reports/COMMIT/gate/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
    /// How to show what was found.
    #[command(flatten)]
    pub show: ShowGateOpts,
}

/// How to show what a gate found, and what fails it.
#[derive(Debug, Clone, Args)]
pub struct ShowGateOpts {
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: GateFormat,
    /// Also write Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also write `JUnit` XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json_report: Option<PathBuf>,
    /// What ends with an exit code other than 0; a comparison of nothing always does
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "regressed,failed,undecided")]
    pub fail_on: Vec<FailOn>,
}

/// What fails a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A regression
    Regressed,
    /// A benchmark that failed, or is gone
    Failed,
    /// A row that stayed open
    Undecided,
}

/// Flags of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareOpts {
    /// The record to compare with
    #[arg(value_name = "A.json")]
    pub before: PathBuf,
    /// The record that is judged
    #[arg(value_name = "B.json")]
    pub after: PathBuf,
    /// How to show what was found.
    #[command(flatten)]
    pub show: ShowGateOpts,
}

/// Flags of `calibrate`.
#[derive(Debug, Clone, Args)]
pub struct CalibrateOpts {
    /// What to measure against itself [default: all]
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// What is measured.
    #[command(flatten)]
    pub measure: MeasureOpts,
    /// Go on with the calibration that was cut off; the other arguments have to be the same
    #[arg(long)]
    pub resume: bool,
    /// Where to write the record [default: reports/COMMIT/calibration/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to do with accepted figures.
#[derive(Debug, Clone, Subcommand)]
pub enum BaselineCommand {
    /// Accept the figures of runs, or measure some and accept those
    Accept(Box<AcceptOpts>),
    /// Show what is accepted
    Show(BaselineFileOpts),
    /// Show what differs between the files here and those of a commit
    Diff(BaselineDiffOpts),
    /// Check that every file is whole
    Check(BaselineFileOpts),
}

/// Flags of `baseline accept`.
#[derive(Debug, Clone, Args)]
pub struct AcceptOpts {
    /// Records to accept
    #[arg(value_name = "RUN.json", required_unless_present = "runs", conflicts_with = "runs")]
    pub records: Vec<PathBuf>,
    /// Measure so often and accept that
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// Accept these benchmarks only; the others stay as they are (can be given again)
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,
    /// Why these figures are right; kept with them
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub reason: String,
    /// What is measured, with --runs.
    #[command(flatten)]
    pub measure: MeasureOpts,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
}

/// Flags of `baseline show` and `baseline check`.
#[derive(Debug, Clone, Args)]
pub struct BaselineFileOpts {
    /// Machine classes; all of the folder by default
    #[arg(value_name = "CLASS")]
    pub classes: Vec<String>,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
}

/// Flags of `baseline diff`.
#[derive(Debug, Clone, Args)]
pub struct BaselineDiffOpts {
    /// The commit to compare with
    #[arg(value_name = "REF", default_value = "HEAD")]
    pub base: String,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
}

/// Flags of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListOpts {
    /// What to list; everything by default
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// Workers.
    #[command(flatten)]
    pub worker: WorkerOpts,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `show`.
#[derive(Debug, Clone, Args)]
pub struct ShowOpts {
    /// A run.json
    #[arg(value_name = "RUN.json")]
    pub record: PathBuf,
    /// Also check that record and samples belong together and every benchmark is accounted for
    #[arg(long)]
    pub check: bool,
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportOpts {
    /// Records; the page of each is written beside it [default: every run in the folder of reports]
    #[arg(value_name = "RUN.json")]
    pub records: Vec<PathBuf>,
    /// Write the pages and one over all of them into this folder; without records, the folder of reports
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    /// In place of pages, print one record in this form
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["out", "open"], requires = "records")]
    pub format: Option<ExportFormat>,
    /// Accepted figures.
    #[command(flatten)]
    pub folder: BaselineFolder,
}

/// Flags of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorOpts {
    /// GPU to ask about: `auto`, `none`, or a part of an adapter's name [default: that of the configuration, or auto]
    #[arg(long, value_name = "NAME", value_parser = device)]
    pub device: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// An effort on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EffortArg {
    /// A first answer within seconds
    Quick,
    /// What the gate measures
    Standard,
    /// Everything, however long it takes
    Thorough,
}

impl From<EffortArg> for Effort {
    fn from(effort: EffortArg) -> Self {
        match effort {
            EffortArg::Quick => Self::Quick,
            EffortArg::Standard => Self::Standard,
            EffortArg::Thorough => Self::Thorough,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<jiff::SignedDuration, _> = text.parse();
    let duration = parsed.map_err(|_| "write a time with its unit, e.g. 500ms, 30s or 5m".to_owned())?;
    let duration = Duration::try_from(duration).map_err(|_| "a time must not be negative".to_owned())?;
    if duration.is_zero() { Err("a time must be more than 0".into()) } else { Ok(duration) }
}

fn seconds(text: &str) -> Result<Duration, String> {
    /// An hour shows whatever there is to see.
    const MOST: f64 = 3600.0;
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, e.g. 2 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= MOST {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("more than 0 and at most {MOST} seconds make sense"))
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write a name and a value, e.g. images=photos".to_owned()),
    }
}

fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("say why".into()) } else { Ok(text.to_owned()) }
}

fn memory_size(text: &str) -> Result<u64, String> {
    let size: bytesize::ByteSize = text.parse().map_err(|_| "write a size, e.g. 512MiB or 2GB".to_owned())?;
    if size.as_u64() == 0 { Err("a size must be more than 0".into()) } else { Ok(size.as_u64()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_and_sizes_are_read_with_their_units() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("30").is_err() && duration("-1s").is_err() && duration("0s").is_err());
        assert_eq!(seconds("2"), Ok(Duration::from_secs(2)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(["0", "-1", "NaN", "inf", "2s", "1e9"].iter().all(|text| seconds(text).is_err()));
        assert_eq!(memory_size("2GiB"), Ok(2 << 30));
        assert_eq!(device(" NONE "), Ok("none".into()));
        assert!(device(" ").is_err());
        assert_eq!(setting("images=a=b"), Ok(("images".into(), "a=b".into())));
        assert!(setting("images").is_err() && setting("=x").is_err());
        assert!(memory_size("0").is_err() && memory_size("lots").is_err());
    }
}
