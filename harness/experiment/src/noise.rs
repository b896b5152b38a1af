//! Identical pairs and planted effects, compared in the same way as by `perfharness run`.

use std::fs::File;
use std::time::Duration;

use anyhow::{Context as _, bail};
use perfharness_contract::{Effort, Workload};
use perfharness_engine::measure::RunState;
use perfharness_engine::plan::Plan;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::{PlannedRun, RecordPlace, RunSpec, Silent};
use perfharness_platform::clock;
use perfharness_record::WorkerCommand;
use perfharness_verdict::{Placement, estimate, median};
use serde::{Deserialize, Serialize};

use crate::neighbour::Neighbour;
use crate::welch::Moments;
use crate::{NoiseOpts, rows, say};

const CONFIDENCE: f64 = 0.99;
/// The identical pair, and the pair with a planted effect, both against the same reference samples.
const PAIRS: [(&str, f64); 2] = [("a-again", 0.0), ("plus10", 0.095_310_179_804_324_87)];

/// One comparison of one pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NoiseRow {
    kernel: String,
    neighbour: bool,
    /// Number of requested launches, and of those with figures.
    asked: u32,
    launches: usize,
    seed: u64,
    variant: String,
    theta: f64,
    lower: f64,
    upper: f64,
    sd: f64,
    /// Seconds for all pairs of this seed together.
    seconds: f64,
    outside_share: f64,
    /// Whether an unpaired Welch test over single samples would exclude zero at the same confidence.
    welch_excludes_zero: bool,
    /// Log-ratios by launch, placement, block and round, for trying other estimates on them.
    rounds: Vec<Vec<Vec<[f64; 2]>>>,
}

/// Makes the comparisons that the output does not have yet, and prints a summary.
pub(crate) fn run(opts: &NoiseOpts) -> anyhow::Result<()> {
    let is_of = |row: &NoiseRow| {
        row.kernel == opts.kernel && row.neighbour == opts.neighbour && row.asked == opts.launches
    };
    let mut rows = rows::read(&opts.output, is_of)?;
    rows.retain(|row| row.seed <= opts.comparisons);
    let _neighbour = opts.neighbour.then(Neighbour::start).transpose()?;
    let mut output = File::options().create(true).append(true).open(&opts.output)?;
    for seed in 1..=opts.comparisons {
        if rows.iter().any(|row| row.seed == seed) {
            continue;
        }
        let found = compare(opts, seed)?;
        rows::append(&mut output, &found)?;
        rows.extend(found);
        if seed % 10 == 0 {
            say(&format!("{seed} of {}", opts.comparisons));
        }
    }
    summarise(&rows);
    Ok(())
}

fn compare(opts: &NoiseOpts, seed: u64) -> anyhow::Result<Vec<NoiseRow>> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let command = vec![program, "worker".into()];
    let worker = WorkerCommand { name: "experiment".into(), command, ..WorkerCommand::default() };
    // One case is enough: the experiment is about noise, not about sizes.
    let definitions = perfharness_testkit::good();
    let mut definitions = definitions.iter().map(Workload::definition);
    let kernel = definitions.find(|known| known.id.as_str() == opts.kernel);
    let case = &kernel.and_then(|known| known.cases.first()).context("there is no such kernel")?.id;
    let pattern = format!("{}/{case}/{{a,a-again,plus10}}", opts.kernel);
    let run = RunRequest {
        seed,
        device: "none".into(),
        launches: Some(opts.launches),
        timeout: Duration::from_mins(1),
        ..RunRequest::new([pattern], Effort::Quick, vec![worker])
    };
    let folder = tempfile::tempdir()?;
    let place = RecordPlace::at(&folder.path().join("run.json"), false)?;
    let mut run = PlannedRun::new(RunSpec::new(run), &mut Silent)?.begin(place, &mut Silent)?;
    let start = clock::now();
    run.measure(&mut Silent)?;
    let seconds = start.elapsed().as_secs_f64();
    PAIRS.iter().map(|(variant, _)| row(opts, run.plan(), run.state(), seed, variant, seconds)).collect()
}

fn row(
    opts: &NoiseOpts,
    plan: &Plan,
    state: &RunState,
    seed: u64,
    variant: &str,
    seconds: f64,
) -> anyhow::Result<NoiseRow> {
    let (case_plan, case) = (&plan.cases[0], &state.cases[0]);
    let side = |name: &str| case_plan.sides.iter().position(|s| s.benchmark.variant == *name);
    let (candidate, reference) =
        (side(variant).context("no such variant")?, side("a").context("no reference")?);
    let failed = case.sides.iter().filter_map(|s| s.outcome.as_ref()).find(|o| o.reason.is_some());
    if let Some(outcome) = failed {
        bail!("a side failed: {outcome:?}");
    }
    let paired = case.paired(candidate, reference);
    let found = estimate(&paired, CONFIDENCE)?;
    let blocks = |placement: &Placement| placement.blocks.iter().map(|b| [b.first, b.second]).collect();
    let rounds = paired.launches.iter().map(|l| l.placements.iter().map(blocks).collect()).collect();
    let interval = found.interval.context("too few launches for an interval")?;
    let samples = |side| -> Vec<f64> {
        case.counted().filter(|s| s.side == side).map(|s| s.iteration_ns().ln()).collect()
    };
    let in_samples: u64 = case.samples.iter().map(|row| row.sample.wall_ns).sum();
    Ok(NoiseRow {
        kernel: opts.kernel.clone(),
        neighbour: opts.neighbour,
        asked: opts.launches,
        launches: found.launches,
        seed,
        variant: variant.into(),
        theta: found.theta,
        lower: interval.lower,
        upper: interval.upper,
        sd: found.sd.unwrap_or(f64::NAN),
        seconds,
        outside_share: 1.0 - in_samples as f64 / state.spent_ns() as f64,
        welch_excludes_zero: Moments::of(&samples(candidate))
            .differs(&Moments::of(&samples(reference)), CONFIDENCE),
        rounds,
    })
}

fn summarise(rows: &[NoiseRow]) {
    for (variant, truth) in PAIRS {
        let of: Vec<&NoiseRow> = rows.iter().filter(|row| row.variant == variant).collect();
        let count = |test: fn(&NoiseRow, f64) -> bool| of.iter().filter(|row| test(row, truth)).count();
        let covers = count(|row, truth| row.lower <= truth && truth <= row.upper);
        let above = count(|row, _| row.lower > 0.0);
        let below = count(|row, _| row.upper < 0.0);
        let welch = of.iter().filter(|row| row.welch_excludes_zero).count();
        let figure = |f: fn(&NoiseRow) -> f64| {
            median(&of.iter().map(|row| f(row)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        say(&format!(
            "{variant}: {} comparisons of {} launches; interval covers the planted {:.1} % in {covers}, lies above \
             zero in {above}, below in {below}; median effect {:+.2} %, median half-width {:.2} %, median sd of a \
             launch {:.2} %; Welch over single samples excludes zero in {welch}",
            of.len(),
            figure(|row| row.launches as f64),
            truth.exp_m1() * 100.0,
            figure(|row| row.theta).exp_m1() * 100.0,
            figure(|row| (row.upper - row.lower) / 2.0) * 100.0,
            figure(|row| row.sd) * 100.0,
        ));
    }
    let seconds: f64 = rows.iter().filter(|row| row.variant == PAIRS[0].0).map(|row| row.seconds).sum();
    let outside = median(&rows.iter().map(|row| row.outside_share).collect::<Vec<_>>()).unwrap_or(f64::NAN);
    say(&format!(
        "{seconds:.0} s in all; {:.0} % of the launches' time outside of timed samples",
        outside * 100.0
    ));
}
