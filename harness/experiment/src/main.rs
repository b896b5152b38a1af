//! The experiment behind `docs/verdict.md`: many comparisons of pairs whose true effect is known, on whatever machine
//! it is run on, with a neighbour that keeps one core busy. Anybody can repeat it:
//!
//! ```text
//! cargo run --release -p perfharness-experiment -- noise --neighbour --output noise.jsonl
//! cargo run --release -p perfharness-experiment -- cost
//! ```

mod cost;
mod neighbour;
mod noise;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

// The experiment is its own worker, so that nothing has to be found or built first.
perfharness_contract::counting_allocator!();

#[derive(Debug, Parser)]
#[command(about = "Shows how well the harness measures")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Identical pairs and planted effects: how often is the interval right, how often is the effect found
    Noise(NoiseOpts),
    /// What measuring itself costs within a timed sample
    Cost,
    /// Serve the workloads of the experiment
    #[command(hide = true)]
    Worker,
    /// Keep one core busy in bursts
    #[command(hide = true)]
    Neighbour,
}

/// Flags of `noise`.
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
    /// One line for each comparison; comparisons that are in it already are not made again
    #[arg(long)]
    output: PathBuf,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Noise(opts) => noise::run(&opts),
        Command::Cost => cost::run(),
        Command::Worker => return perfharness_contract::serve(perfharness_testkit::good()),
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
