//! The true effect of planted work: one process runs a kernel with different amounts of work in turns.

use std::collections::BTreeMap;
use std::path::Path;

use perfharness_contract::{Measured, Workload};
use perfharness_platform::clock;
use perfharness_verdict::median;

use crate::{TruthOpts, say};

const VARIANT: &str = "w100";
/// Rounds of a placement; each runs all factors once, in an order that turns.
const ROUNDS: u64 = 24;
/// Time of a timed sample in ns.
const SAMPLE_NS: f64 = 1e6;

/// Prints, for each benchmark of the suite, how much longer it takes with the planted shares of work.
pub(crate) fn run(opts: &TruthOpts) -> anyhow::Result<()> {
    let workload = perfharness_known_work::suite();
    let cases = workload.definition().cases.iter().map(|case| case.id.clone());
    let folder = tempfile::tempdir()?;
    for case in cases.filter(|case| opts.cases.is_empty() || opts.cases.contains(&case.to_string())) {
        let mut effects: Vec<Vec<f64>> = vec![Vec::new(); opts.factors.len()];
        let mut levels = Vec::new();
        for placement in 0..opts.placements {
            // Buffers differ by their place in memory, so each amount of work has every place in turn.
            let all: Vec<f64> = [1.0].iter().chain(&opts.factors).copied().collect();
            let order: Vec<usize> = (0..all.len()).map(|at| (at + placement) % all.len()).collect();
            let shifted: Vec<f64> = order.iter().map(|at| all[*at]).collect();
            let times = placed(&workload, case.as_str(), &shifted, folder.path())?;
            let of = |wanted: usize| {
                let slot = order.iter().position(|at| *at == wanted).unwrap_or_default();
                times.iter().map(|round| round[slot]).collect::<Vec<f64>>()
            };
            let base = of(0);
            levels.extend(median(&base));
            for (number, effects) in effects.iter_mut().enumerate() {
                let ratios: Vec<f64> = of(number + 1).iter().zip(&base).map(|(t, b)| (t / b).ln()).collect();
                effects.extend(median(&ratios));
            }
        }
        let shown: Vec<String> =
            opts.factors.iter().zip(&effects).map(|(f, values)| shown(*f, values)).collect();
        let level = median(&levels).unwrap_or(f64::NAN);
        say(&format!("{case}: {:.1} us; {}", level / 1e3, shown.join("; ")));
    }
    Ok(())
}

/// `+5 %: +5.1 ± 0.1 %`: the mean over placements with its standard error.
fn shown(factor: f64, values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt() * 100.0;
    format!("{:+.1} %: {:+.2} ± {error:.2} %", (factor - 1.0) * 100.0, mean.exp_m1() * 100.0)
}

/// Times of an iteration in ns, by round and amount of work, over fresh buffers.
fn placed(workload: &Workload, case: &str, factors: &[f64], folder: &Path) -> anyhow::Result<Vec<Vec<f64>>> {
    let name = |text: &str| perfharness_contract::Name::new(text);
    let mut sides = Vec::new();
    for (number, factor) in factors.iter().enumerate() {
        let scratch = folder.join(number.to_string());
        std::fs::create_dir_all(&scratch)?;
        let settings = BTreeMap::from([("known-work".to_owned(), format!("time={factor}"))]);
        let setup = workload.setup(1, "auto", &scratch).with_settings(settings);
        let built = workload.construct(&name(case)?, &name(VARIANT)?, &setup);
        sides.push(built.map_err(|failure| anyhow::anyhow!("{case}: {failure}"))?);
    }
    let mut fastest = f64::INFINITY;
    for round in 0..5 {
        fastest = fastest.min(sample(&mut sides[0], round, 4)?);
    }
    let iterations = (SAMPLE_NS / fastest).ceil() as u64;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let mut times = vec![0.0; sides.len()];
        for turn in 0..sides.len() {
            let forth = (turn + round as usize / 2) % sides.len();
            let at = if round % 2 == 0 { forth } else { sides.len() - 1 - forth };
            times[at] = sample(&mut sides[at], 5 + round, iterations)?;
        }
        rounds.push(times);
    }
    Ok(rounds)
}

/// Time of an iteration in ns, after as many untimed ones.
fn sample(side: &mut Box<dyn Measured>, round: u64, iterations: u64) -> anyhow::Result<f64> {
    let failed = |failure| anyhow::anyhow!("a kernel failed: {failure}");
    side.load(round).map_err(failed)?;
    for index in 0..iterations {
        side.run(index).map_err(failed)?;
    }
    side.fence().map_err(failed)?;
    let start = clock::now();
    for index in iterations..2 * iterations {
        side.run(index).map_err(failed)?;
    }
    side.fence().map_err(failed)?;
    Ok(start.elapsed().as_secs_f64() * 1e9 / iterations as f64)
}
