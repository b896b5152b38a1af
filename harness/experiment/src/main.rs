//! The experiment behind `docs/verdict.md`: many comparisons of pairs whose true effect is known, on the machine that
//! runs it, with a neighbour that keeps one core busy. To repeat it:
//!
//! ```text
//! cargo run --release -p perfharness-experiment -- noise --neighbour --output noise.jsonl
//! cargo run --release -p perfharness-experiment -- gates --neighbour --rivals 3 --output gates.jsonl
//! cargo run --release -p perfharness-experiment -- cost
//! ```

mod cost;
mod gates;
mod neighbour;
mod noise;
mod rows;
mod truth;
mod welch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

// The experiment is its own worker, so that no other program has to be found or built first. Other workers do not link
// criterion; linking it here is harmless, because both sides are the same program.
perfharness_contract::counting_allocator!();

#[derive(Debug, Parser)]
#[command(about = "Shows how well the harness measures")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Identical pairs and planted effects: how often the interval is right and the effect is found
    Noise(NoiseOpts),
    /// Whole gates over the kernels of known work: false alarms, power, and the verdicts of other methods
    Gates(GatesOpts),
    /// How much longer the kernels take with planted work
    Truth(TruthOpts),
    /// The overhead of measuring within a timed sample
    Cost,
    /// Serve the workloads of the experiment
    #[command(hide = true)]
    Worker,
    /// Keep one core busy in bursts
    #[command(hide = true)]
    Neighbour,
    /// One of two processes that criterion compares
    #[command(hide = true)]
    CriterionSide(SideOpts),
}

#[derive(Debug, Clone, clap::Args)]
struct NoiseOpts {
    /// Comparisons of each kind
    #[arg(long, default_value_t = 100)]
    comparisons: u64,
    /// Launches of each comparison
    #[arg(long, default_value_t = 16)]
    launches: u32,
    /// The kernel: spin, gather or sweep; its first case is used
    #[arg(long, default_value = "gather")]
    kernel: String,
    /// Keep one core busy in bursts meanwhile
    #[arg(long)]
    neighbour: bool,
    /// The output, one line per comparison; comparisons that it already has are not repeated
    #[arg(long)]
    output: PathBuf,
}

#[derive(Debug, Clone, clap::Args)]
struct GatesOpts {
    /// Number of gates
    #[arg(long, default_value_t = 300)]
    gates: u64,
    /// The rows of a gate
    #[arg(long, value_delimiter = ',', default_value = "spin,gather,sweep,gpu,append,copy")]
    kernels: Vec<String>,
    /// The factor by which head has more work in every row; 1 for identical sides
    #[arg(long, default_value_t = 1.0)]
    planted: f64,
    /// Thresholds, as fractions; all are judged from the same launches
    #[arg(long, value_delimiter = ',', default_value = "0.01,0.03")]
    threshold: Vec<f64>,
    /// The time limit of a launch of both processes; with too little, a launch has one block and no median
    #[arg(long, default_value_t = 500)]
    launch_ms: u64,
    /// The target length of a timed sample
    #[arg(long, default_value_t = 1.0)]
    sample_ms: f64,
    /// Keep one core busy in bursts meanwhile
    #[arg(long)]
    neighbour: bool,
    /// Let Welch's test and criterion judge one row of every Nth gate, in rotation, with the time that the gate took
    /// for it; 0 is never
    #[arg(long, default_value_t = 0)]
    rivals: u64,
    /// Measure nothing, and summarise the output
    #[arg(long)]
    summary: bool,
    /// The output, one line per gate; gates that it already has are not repeated
    #[arg(long)]
    output: PathBuf,
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
struct SideOpts {
    #[arg(long)]
    kernel: String,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    seconds: f64,
    #[arg(long)]
    compare: bool,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Noise(opts) => noise::run(&opts),
        Command::Gates(opts) => gates::run(&opts),
        Command::Truth(opts) => truth::run(&opts),
        Command::Cost => cost::run(),
        Command::Worker => {
            let mut workloads = perfharness_testkit::good();
            workloads.push(perfharness_known_work::workload());
            return perfharness_contract::serve(workloads);
        }
        Command::CriterionSide(SideOpts { kernel, folder, seconds, compare }) => {
            gates::side(&kernel, &folder, seconds, compare);
            Ok(())
        }
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
