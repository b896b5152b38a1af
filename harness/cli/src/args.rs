//! The command line: commands, arguments and flags.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use perfharness_contract::Effort;
use perfharness_record::MAX_LAUNCHES;
use perfharness_report::profile::ProfileFormat;
use perfharness_report::render::{ExportFormat, GateFormat};

use crate::config::device;

/// Measure hot paths, check that their variants agree, and report what they cost.
#[derive(Debug, Parser)]
#[command(name = "perfharness", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalOpts,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 the harness failed, 2 usage, 3 regressed, 4 undecided, 5 a benchmark failed, 130 interrupted.";

const GATE_EXIT_CODES: &str = "\
Exit codes: 0 no regression at the stated thresholds; 1 the harness itself failed; 2 usage; 3 regressed; 4 undecided, or
nothing to compare; 5 a benchmark failed or is gone; 130 interrupted. If several apply, the first of 2, 1, 5, 3, 4 counts.";

const PROFILE_EXIT_CODES: &str = "\
Exit codes: 0 something was profiled, 1 the harness failed, 2 usage, 4 nothing could be profiled, 5 a benchmark failed,
130 interrupted.";

const TRACE_EXIT_CODES: &str = "\
Exit codes: 0 something was traced, 1 the harness failed, 2 usage, 4 nothing could be traced, 5 a benchmark failed,
130 interrupted.";

const MEMORY_EXIT_CODES: &str = "\
Exit codes: 0 something was followed, whether it grows or not, 1 the harness failed, 2 usage, 4 nothing could be followed,
5 a benchmark failed, or grows and --fail-on-growth is given, 130 interrupted.";

const DOCTOR_EXIT_CODES: &str = "\
Exit codes: 0 the machine was examined, whatever the findings. Warnings are in the text and in the JSON.";

#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalOpts {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
    /// Show no progress and no hints
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Configuration file [default: perfharness.toml in this folder or the nearest one above]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Command to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure benchmarks and write a record
    Run(RunOpts),
    /// Profile benchmarks and draw flame graphs
    #[command(after_help = PROFILE_EXIT_CODES)]
    Profile(ProfileOpts),
    /// Trace benchmarks and write timelines for Perfetto
    #[command(after_help = TRACE_EXIT_CODES)]
    Trace(TraceOpts),
    /// Follow the memory of benchmarks over many iterations and detect leaks
    #[command(after_help = MEMORY_EXIT_CODES)]
    Memory(MemoryOpts),
    /// List workloads, cases, variants and claims
    List(ListOpts),
    /// Show the results of a record
    Show(ShowOpts),
    /// Write the HTML pages of records, or export a record for another program
    Report(ReportOpts),
    /// Judge whether the code got slower, heavier or wrong
    #[command(after_help = GATE_EXIT_CODES)]
    Gate(GateOpts),
    /// Judge one record against another
    #[command(after_help = GATE_EXIT_CODES)]
    Compare(CompareOpts),
    /// Accept figures as the baseline, and show accepted ones
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Measure benchmarks against themselves to learn which change this machine can detect
    Calibrate(CalibrateOpts),
    /// Report what this machine can measure, and how to enable the rest
    #[command(after_help = DOCTOR_EXIT_CODES)]
    Doctor(DoctorOpts),
    /// Write a commented perfharness.toml
    Init,
    /// Print a completion script
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the JSON Schema of run.json or of another stored file
    Schema {
        /// File to describe
        #[arg(default_value = "run")]
        of: SchemaOf,
    },
    /// Serve the built-in workloads on stdin and stdout
    #[command(hide = true)]
    Worker,
    /// Ask the drivers one question and print the answer as JSON, unless stdin is closed first
    #[command(hide = true)]
    Probe {
        /// Words of the question
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// run.json
    Run,
    /// The JSON report of a gate
    Gate,
    /// A file of baselines/
    Baseline,
    /// A line of the journal of an unfinished run
    Journal,
}

/// Workers, and their conditions.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerOpts {
    /// Measure a worker of your own, given by its command line or the path of its program (repeatable)
    #[arg(long = "worker", value_name = "COMMAND")]
    pub(crate) workers: Vec<String>,
    /// GPU to use: `auto`, `none`, a kind such as `software`, or part of an adapter's name, driver or backend
    #[arg(long, value_name = "NAME", value_parser = device)]
    pub(crate) device: Option<String>,
    /// Time that a worker may take to answer, beyond the expected time of a sample
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub(crate) timeout: Duration,
}

/// Conditions of every launch of a benchmark.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConditionOpts {
    /// Cases to select and, for timing, number of launches [default: quick; for gate and calibrate: standard]
    #[arg(long)]
    pub(crate) effort: Option<EffortArg>,
    /// Seed of all inputs and orders [default: 1]
    // Larger integers are not exact in the JSON of every language that a worker may be written in.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1 << 53))]
    pub(crate) seed: Option<u64>,
    /// Most memory of a worker, e.g. 2GiB; a profiler takes about 150 MB of it [default: nine tenths of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    pub(crate) memory_limit: Option<u64>,
    /// Set a setting of a workload (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Folder of images for workloads that need some; short for `--set images=DIR`
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<String>,
    #[command(flatten)]
    pub(crate) worker: WorkerOpts,
}

/// Scope and length of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureOpts {
    #[command(flatten)]
    pub(crate) conditions: ConditionOpts,
    /// Time for the whole run, e.g. 30s or 5m [default: depends on effort and number of cases]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_budget: Option<Duration>,
    /// Launch each benchmark so often, in place of the effort's own rule; a --time-budget can still end it sooner
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LAUNCHES)))]
    pub(crate) launches: Option<u32>,
    /// Do not watch processor, GPU and workers during the run
    #[arg(long)]
    pub(crate) no_telemetry: bool,
    /// Do not count instructions with Valgrind
    #[arg(long)]
    pub(crate) no_instructions: bool,
}

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunOpts {
    /// Benchmarks to measure: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) measure: MeasureOpts,
    /// File to write the record to [default: reports/COMMIT/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the record as JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what would be measured, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Resume the interrupted run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Also profile the benchmarks afterwards, and draw flame graphs beside the record
    #[arg(long)]
    pub(crate) flamegraph: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ProfileOpts {
    /// Benchmarks to profile: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub(crate) patterns: Vec<String>,
    /// Folder to write to [default: reports/COMMIT/flamegraphs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Formats to write, separated by commas
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg")]
    pub(crate) format: Vec<ProfileFormat>,
    /// Seconds to profile each benchmark for
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "2", conflicts_with = "instructions")]
    pub(crate) seconds: Duration,
    /// Count the instructions of each stack instead, on Valgrind's simulated processor
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Build the merge base with this commit and the code here, and compare each benchmark with itself at the base
    #[arg(long, value_name = "REF", conflicts_with = "base_worker")]
    pub(crate) base: Option<String>,
    /// Compare each benchmark with itself in this worker
    #[arg(long, value_name = "COMMAND")]
    pub(crate) base_worker: Option<String>,
    #[command(flatten)]
    pub(crate) conditions: ConditionOpts,
    /// Print the index as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TraceOpts {
    /// Benchmarks to trace: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub(crate) patterns: Vec<String>,
    /// Folder to write to or, for one benchmark, a file that ends with .json [default: reports/COMMIT/traces]
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Number of iterations to trace
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), default_value = "3")]
    pub(crate) iterations: u64,
    #[command(flatten)]
    pub(crate) conditions: ConditionOpts,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MemoryOpts {
    /// Benchmarks to follow: `all`, or WORKLOAD[/CASE[/VARIANT]] with * ? [] {}
    #[arg(value_name = "PATTERN", required = true)]
    pub(crate) patterns: Vec<String>,
    /// Number of iterations of each benchmark
    // With fewer, a leak could not be told from steps that end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(40..=100_000_000), default_value = "1000")]
    pub(crate) iterations: u64,
    /// Most seconds to follow each benchmark for; a benchmark with long iterations runs fewer of them
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "20")]
    pub(crate) seconds: Duration,
    /// Folder to write to [default: reports/COMMIT/memory]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with code 5 if a benchmark grows
    #[arg(long)]
    pub(crate) fail_on_growth: bool,
    #[command(flatten)]
    pub(crate) conditions: ConditionOpts,
    /// Print the index as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Location of the accepted figures.
#[derive(Debug, Clone, Args)]
pub(crate) struct BaselineFolder {
    /// Folder of the accepted figures
    #[arg(long, value_name = "DIR", default_value = Self::DEFAULT)]
    pub(crate) baselines: PathBuf,
}

impl BaselineFolder {
    /// Default of `--baselines`.
    pub(crate) const DEFAULT: &str = "baselines";
}

#[derive(Debug, Clone, Args)]
pub(crate) struct GateOpts {
    /// Benchmarks to measure [default: all], or a run.json to judge as it is
    #[arg(value_name = "PATTERN | RUN.json")]
    pub(crate) what: Vec<String>,
    /// Build the merge base with this commit and the code here, and measure both in the same rounds
    #[arg(long, value_name = "REF", conflicts_with = "base_worker")]
    pub(crate) base: Option<String>,
    /// Measure against this worker, which is already built, in the same rounds
    #[arg(long, value_name = "COMMAND")]
    pub(crate) base_worker: Option<String>,
    /// Take policy and accepted figures from the code here, not from the base; for users who may accept a regression
    #[arg(long, conflicts_with = "base_worker")]
    pub(crate) trust_head: bool,
    #[command(flatten)]
    pub(crate) measure: MeasureOpts,
    /// Also plant a slowdown in each row's own work, and fail where the row does not show it; takes about twice the time
    #[arg(long)]
    pub(crate) plant: bool,
    /// Resume the interrupted gate; the other arguments must be the same
    #[arg(long)]
    pub(crate) resume: bool,
    /// File to write the record to [default: reports/COMMIT/gate/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
    #[command(flatten)]
    pub(crate) show: ShowGateOpts,
}

/// Output of a gate's result, and what fails it.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowGateOpts {
    /// Format to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GateFormat,
    /// Also write Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Also write `JUnit` XML to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write JSON to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json_report: Option<PathBuf>,
    /// Results that exit with a code other than 0; a comparison of nothing always does
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "regressed,failed,undecided")]
    pub(crate) fail_on: Vec<FailOn>,
}

/// Result that fails a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A regression
    Regressed,
    /// A benchmark that failed or is gone
    Failed,
    /// A row that is undecided
    Undecided,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompareOpts {
    /// Record to compare with
    #[arg(value_name = "A.json")]
    pub(crate) before: PathBuf,
    /// Record to judge
    #[arg(value_name = "B.json")]
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) show: ShowGateOpts,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CalibrateOpts {
    /// Benchmarks to measure against themselves [default: all]
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) measure: MeasureOpts,
    /// Resume the interrupted calibration; the other arguments must be the same
    #[arg(long)]
    pub(crate) resume: bool,
    /// File to write the record to [default: reports/COMMIT/calibration/run.json]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Subcommand of `baseline`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Accept the figures of records, or measure and accept them
    Accept(Box<AcceptOpts>),
    /// Show the accepted figures
    Show(BaselineFileOpts),
    /// Show the differences between the files here and those of a commit
    Diff(BaselineDiffOpts),
    /// Check that every file is intact
    Check(BaselineFileOpts),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AcceptOpts {
    /// Records to accept
    #[arg(value_name = "RUN.json", required_unless_present = "runs", conflicts_with = "runs")]
    pub(crate) records: Vec<PathBuf>,
    /// Measure this number of runs and accept their figures
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: Option<u32>,
    /// Accept the figures of these benchmarks only, and keep the others (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Reason why these figures are right, which is stored with them
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: String,
    /// Scope and length, with --runs.
    #[command(flatten)]
    pub(crate) measure: MeasureOpts,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BaselineFileOpts {
    /// Machine classes [default: all in the folder]
    #[arg(value_name = "CLASS")]
    pub(crate) classes: Vec<String>,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BaselineDiffOpts {
    /// Commit to compare with
    #[arg(value_name = "REF", default_value = "HEAD")]
    pub(crate) base: String,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ListOpts {
    /// Benchmarks to list [default: all]
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) worker: WorkerOpts,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ShowOpts {
    /// Record to show
    #[arg(value_name = "RUN.json")]
    pub(crate) record: PathBuf,
    /// Also check that record and samples belong together and that every benchmark is accounted for
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReportOpts {
    /// Records, each with its page beside it [default: every run in the folder of reports]
    #[arg(value_name = "RUN.json")]
    pub(crate) records: Vec<PathBuf>,
    /// Folder to write the pages and their overview to; without records, the folder of reports
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Print one record in this format instead of writing pages
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["out", "open"], requires = "records")]
    pub(crate) format: Option<ExportFormat>,
    #[command(flatten)]
    pub(crate) folder: BaselineFolder,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorOpts {
    /// GPU to examine: `auto`, `none`, or part of an adapter's name [default: that of the configuration, or auto]
    #[arg(long, value_name = "NAME", value_parser = device)]
    pub(crate) device: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// A first answer within seconds
    Quick,
    /// The effort of a gate
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
    let duration = parsed.map_err(|_| "expected a time with its unit, e.g. 500ms, 30s or 5m".to_owned())?;
    let duration = Duration::try_from(duration).map_err(|_| "the time must not be negative".to_owned())?;
    if duration.is_zero() { Err("the time must be more than 0".into()) } else { Ok(duration) }
}

fn seconds(text: &str) -> Result<Duration, String> {
    /// Longest time: an hour shows all that there is to see.
    const MOST: f64 = 3600.0;
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds, e.g. 2 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= MOST {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("the number of seconds must be more than 0 and at most {MOST}"))
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name and a value, e.g. images=photos".to_owned()),
    }
}

fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("the reason must not be empty".into()) } else { Ok(text.to_owned()) }
}

fn memory_size(text: &str) -> Result<u64, String> {
    let size: bytesize::ByteSize =
        text.parse().map_err(|_| "expected a size, e.g. 512MiB or 2GB".to_owned())?;
    if size.as_u64() == 0 { Err("the size must be more than 0".into()) } else { Ok(size.as_u64()) }
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
