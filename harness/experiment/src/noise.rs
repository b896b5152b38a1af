//! Identical pairs and planted effects, compared as `perfharness run` compares them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use perfharness_contract::Effort;
use perfharness_engine::measure::{CallError, LaunchOptions, ProcessExecutor, RunState, describe, run_plan};
use perfharness_engine::plan::{Catalog, Plan, WorkerState, select};
use perfharness_engine::request::RunRequest;
use perfharness_platform::clock;
use perfharness_record::Pattern;
use perfharness_record::{Outcome, WorkerCommand};
use perfharness_verdict::{Placement, estimate, median};
use serde::{Deserialize, Serialize};

use crate::neighbour::Neighbour;
use crate::welch::Moments;
use crate::{NoiseOpts, say};

const CONFIDENCE: f64 = 0.99;
/// The identical pair, and the pair with a planted effect; both against the same reference samples.
const PAIRS: [(&str, f64); 2] = [("a-again", 0.0), ("plus10", 0.095_310_179_804_324_87)];

/// One comparison of one pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    kernel: String,
    neighbour: bool,
    /// Launches that were asked for, and those that there are figures of.
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
    /// What an unpaired Welch test over single samples would have said at the same confidence.
    welch_excludes_zero: bool,
    /// Launch, placement, block, round: the log-ratios themselves, for whoever wants to try another estimate on them.
    rounds: Vec<Vec<Vec<[f64; 2]>>>,
}

/// Makes the comparisons that the output does not have yet, and sums up.
pub(crate) fn run(opts: &NoiseOpts) -> anyhow::Result<()> {
    let mut rows = read(opts)?;
    let _neighbour = opts.neighbour.then(Neighbour::start).transpose()?;
    let mut output = File::options().create(true).append(true).open(&opts.output)?;
    for seed in 1..=opts.comparisons {
        if rows.iter().any(|row| row.seed == seed) {
            continue;
        }
        let found = compare(opts, seed)?;
        // All pairs of a seed in one write, after a line end that closes whatever a killed experiment left.
        let mut lines = b"\n".to_vec();
        for row in &found {
            serde_json::to_writer(&mut lines, row)?;
            lines.push(b'\n');
        }
        output.write_all(&lines)?;
        rows.extend(found);
        if seed % 10 == 0 {
            say(&format!("{seed} of {}", opts.comparisons));
        }
    }
    summarise(&rows);
    Ok(())
}

fn read(opts: &NoiseOpts) -> anyhow::Result<Vec<Row>> {
    let Ok(file) = File::open(&opts.output) else { return Ok(Vec::new()) };
    let mut rows: Vec<Row> = Vec::new();
    for line in BufReader::new(file).lines() {
        // A killed experiment can leave an incomplete last line; that seed is measured again.
        let Ok(row) = serde_json::from_str::<Row>(&line?) else { continue };
        if row.kernel != opts.kernel || row.neighbour != opts.neighbour || row.asked != opts.launches {
            bail!("{} holds another experiment; name another --output", opts.output.display());
        }
        rows.push(row);
    }
    rows.retain(|row| row.seed <= opts.comparisons);
    Ok(rows)
}

fn compare(opts: &NoiseOpts, seed: u64) -> anyhow::Result<Vec<Row>> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let command = WorkerCommand {
        name: "experiment".into(),
        command: vec![program, "worker".into()],
        env: BTreeMap::new(),
        folder: None,
    };
    let mut executor = ProcessExecutor::new(vec![command.clone()], Arc::new(AtomicBool::new(false)));
    let options = LaunchOptions {
        seed,
        device: "none".into(),
        settings: BTreeMap::new(),
        memory_limit_bytes: None,
        deadline: Duration::from_secs(30),
    };
    let (hello, description) = match describe(&mut executor, 0, &options) {
        Ok(described) => described,
        Err(CallError::Ended(outcome)) => bail!("the worker failed: {outcome:?}"),
        Err(CallError::Interrupted) => bail!("interrupted"),
    };
    let mut catalog = Catalog::default();
    catalog.workers.push(WorkerState {
        command: command.clone(),
        digest: None,
        hello: Some(hello),
        outcome: Outcome::ok(),
    });
    catalog.add(0, description.workloads);
    let request = RunRequest {
        patterns: vec![format!("{}/*/{{a,a-again,plus10}}", opts.kernel)],
        effort: Effort::Quick,
        time_budget: None,
        seed,
        device: "none".into(),
        settings: BTreeMap::new(),
        workers: vec![command],
        launches: Some(opts.launches),
        memory_limit_bytes: None,
        timeout: Duration::from_mins(1),
    };
    let patterns: Vec<Pattern> = request.patterns.iter().map(|p| p.parse()).collect::<Result<_, _>>()?;
    let mut selection = select(&catalog, &patterns, Effort::Quick)?;
    // One case is enough: the experiment is about noise, not about sizes.
    selection.cases.truncate(1);
    let plan = request.plan(selection);
    let mut state = RunState::new(plan.cases.iter().map(|c| c.sides.len()));
    let start = clock::now();
    run_plan(&plan, &|_| Vec::new(), &mut executor, &mut state, &mut |_| {});
    let seconds = start.elapsed().as_secs_f64();
    PAIRS.iter().map(|(variant, _)| row(opts, &plan, &state, seed, variant, seconds)).collect()
}

fn row(
    opts: &NoiseOpts,
    plan: &Plan,
    state: &RunState,
    seed: u64,
    variant: &str,
    seconds: f64,
) -> anyhow::Result<Row> {
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
    Ok(Row {
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

fn summarise(rows: &[Row]) {
    for (variant, truth) in PAIRS {
        let of: Vec<&Row> = rows.iter().filter(|row| row.variant == variant).collect();
        let count = |test: fn(&Row, f64) -> bool| of.iter().filter(|row| test(row, truth)).count();
        let covers = count(|row, truth| row.lower <= truth && truth <= row.upper);
        let above = count(|row, _| row.lower > 0.0);
        let below = count(|row, _| row.upper < 0.0);
        let welch = of.iter().filter(|row| row.welch_excludes_zero).count();
        let figure =
            |f: fn(&Row) -> f64| median(&of.iter().map(|row| f(row)).collect::<Vec<_>>()).unwrap_or(f64::NAN);
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
