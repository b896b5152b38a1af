//! The experiment behind `docs/verdict.md`: whole gates whose true outcome is known, on the machine that runs it.
//!
//! A gate is a suite of twenty benchmarks (`known-suite` of `workloads/known-work`), measured by the engine, with looks,
//! confirmation and the rule as `perfharness gate --base` has them. Base and head are two builds of one worker: head has a
//! function more, which nobody calls, and the linker shuffles the sections of each by a seed, so that the two differ in
//! layout. To repeat it:
//!
//! ```text
//! experiment() { cargo run --release -p perfharness-experiment -- "$@"; }
//! experiment truth                                                             # how much time planted work takes
//! experiment causes                                                            # which planted mistakes a gate names
//! experiment suite --gates 100 --neighbours 1 --output relinked.jsonl             # nothing is worse
//! experiment suite --gates 100 --neighbours 1 --planted 1.05 --output plus5.jsonl # one of the twenty is
//! experiment suite --gates 100 --neighbours 1 --planted 1.02 --kernels spin,gather --threshold 0.01 --output plus2.jsonl
//! experiment suite --summary --output relinked.jsonl --output plus5.jsonl --output plus2.jsonl
//! ```
//!
//! It can be stopped at any time: each gate is one line of the output, and the same command goes on with the gates that
//! are missing. `--gates 20..40` and `--count 10` run parts of it. The data hold every round, so that `--summary` judges
//! them by the rule of today. `data` holds gates that were measured, packed by gzip.

mod causes;
mod cost;
mod gated;
mod neighbour;
mod rows;
mod suite;
mod truth;
mod welch;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

// For the program with planted causes, which it serves itself.
perfharness_contract::counting_allocator!();

#[derive(Debug, Parser)]
#[command(about = "Shows how well the harness measures")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Whole gates of twenty benchmarks: false alarms, power, and the verdicts of other methods
    Suite(SuiteOpts),
    /// How much longer the kernels take with planted work
    Truth(TruthOpts),
    /// The overhead of measuring within a timed sample
    Cost,
    /// Known causes of a slowdown, planted one at a time: which of them a gate names
    Causes(CausesOpts),
    /// Serve the program with a planted cause
    #[command(hide = true)]
    CausesWorker { cause: causes::Cause },
    /// Keep one core busy in bursts
    #[command(hide = true)]
    Neighbour,
}

#[derive(Debug, Clone, clap::Args)]
struct SuiteOpts {
    /// The gates to measure: `100` for the first hundred, `20..40` for those from 20 to 39
    #[arg(long, default_value = "100", value_parser = suite::gates)]
    gates: RangeInclusive<u64>,
    /// Measure at most so many of them now
    #[arg(long)]
    count: Option<usize>,
    /// The difference between base and head, beside what is planted
    #[arg(long, value_enum, default_value = "relinked")]
    pair: suite::Pair,
    /// The layouts of each side
    #[arg(long, default_value_t = 4)]
    layouts: usize,
    /// The factor by which head has more work in one benchmark; 1 for nothing
    #[arg(long, default_value_t = 1.0)]
    planted: f64,
    /// The kernels in which it is planted in turn
    #[arg(long, value_delimiter = ',', default_value = "spin,gather,append,copy")]
    kernels: Vec<String>,
    /// The share by which a time has to change to matter
    #[arg(long, default_value_t = 0.03)]
    threshold: f64,
    /// Seconds of measuring for the looks; confirming has as much again
    #[arg(long, default_value_t = 100.0)]
    time_budget: f64,
    /// The target length of a timed sample; that of effort quick by default
    #[arg(long)]
    sample_ms: Option<f64>,
    /// Processes that each keep a core busy in bursts meanwhile; more than there are cores overload the machine
    #[arg(long, default_value_t = 0)]
    neighbours: u32,
    /// Judge by the times alone
    #[arg(long)]
    no_instructions: bool,
    /// Let Welch's test, criterion and tango judge one benchmark of every Nth gate, each with the time that the gate took
    /// for it; 0 is never
    #[arg(long, default_value_t = 0)]
    rivals: u64,
    /// The benchmarks of the suite to measure; all of them by default
    #[arg(long, value_delimiter = ',')]
    benchmarks: Vec<String>,
    /// Compare this program with itself, and build none
    #[arg(long)]
    program: Option<PathBuf>,
    /// Build the programs again, although they are there
    #[arg(long)]
    rebuild: bool,
    /// End before the next gate once this file exists
    #[arg(long)]
    stop: Option<PathBuf>,
    /// Measure nothing, and summarise the outputs
    #[arg(long)]
    summary: bool,
    /// Summarise only gates that ended at a load average from the first figure to the second: `0..3` for those beside
    /// nothing but the neighbour
    #[arg(long, value_parser = suite::loads)]
    load: Option<(f64, f64)>,
    /// The output, one line per gate; gates that it already has are not repeated
    #[arg(long, required = true)]
    output: Vec<PathBuf>,
}

#[derive(Debug, Clone, clap::Args)]
struct TruthOpts {
    /// Benchmarks of the suite; all of them by default
    cases: Vec<String>,
    /// The factors by which there is more work
    #[arg(long, value_delimiter = ',', default_value = "1.02,1.05,1.1")]
    factors: Vec<f64>,
    /// Fresh buffers for each benchmark
    #[arg(long, default_value_t = 20)]
    placements: usize,
}

#[derive(Debug, Clone, clap::Args)]
struct CausesOpts {
    /// The causes; all of them by default
    #[arg(value_enum)]
    causes: Vec<causes::Cause>,
    /// Seconds of measuring for each
    #[arg(long, default_value_t = 8.0)]
    time_budget: f64,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::CausesWorker { cause } => return causes::serve(cause),
        Command::Causes(opts) => causes::run(&opts),
        Command::Suite(opts) => suite::run(&opts),
        Command::Truth(opts) => truth::run(&opts),
        Command::Cost => cost::run(),
        Command::Neighbour => neighbour::work(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. The experiment is a program for people to read; it has no other output.
fn say(text: &str) {
    #[expect(clippy::print_stdout, reason = "the experiment's result is text on stdout")]
    {
        println!("{text}");
    }
}
