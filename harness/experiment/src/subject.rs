//! The program that the experiment builds in several layouts and measures: a worker, and a side of criterion.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use criterion::Criterion;

perfharness_contract::counting_allocator!();

/// Name of criterion's baseline.
const BASELINE: &str = "base";

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the suite of known work
    Worker,
    /// Measures one benchmark by criterion, and saves or compares its baseline
    Criterion {
        #[arg(long)]
        case: String,
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        seconds: f64,
        #[arg(long)]
        compare: bool,
    },
    /// Reaches the function that no benchmark calls, so that the linker keeps it
    #[cfg(feature = "uncalled")]
    Uncalled { state: u64, steps: u64 },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Worker => perfharness_contract::serve(vec![perfharness_known_work::suite()]),
        Command::Criterion { case, folder, seconds, compare } => {
            let time = Duration::from_secs_f64(seconds.max(0.01));
            let criterion = Criterion::default()
                // Criterion divides its default of 8 s in the same way.
                .warm_up_time(time.mul_f64(3.0 / 8.0))
                .measurement_time(time.mul_f64(5.0 / 8.0))
                // With the default of 100,000, analysing takes longer than measuring.
                .nresamples(2_000)
                .without_plots()
                .output_directory(&folder)
                .with_filter(format!("^known-suite/{case}/w100$"));
            let mut criterion = if compare {
                criterion.retain_baseline(BASELINE.into(), true)
            } else {
                criterion.save_baseline(BASELINE.into())
            };
            perfharness_criterion::bench_all(&mut criterion, &[perfharness_known_work::suite()]);
            ExitCode::SUCCESS
        }
        #[cfg(feature = "uncalled")]
        Command::Uncalled { state, steps } => {
            let result = perfharness_known_work::uncalled(state, steps);
            ExitCode::from(result as u8)
        }
    }
}
