//! Results of other methods for the same pair of programs, measured for the same time: Welch's test on sequential
//! samples, criterion against its own saved baseline, and tango's paired alternation.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use perfharness_contract::protocol::{Mode, Prepared, Request, SampleReply, SampleRequest};
use perfharness_engine::measure::{
    CallError, Executor as _, LaunchOptions, Opened, ProcessExecutor, Session,
};
use perfharness_platform::clock;
use perfharness_record::WorkerCommand;
use serde::{Deserialize, Serialize};

use super::measure::WORKLOAD;
use super::tango::Tango;
use crate::welch::Moments;

const DEADLINE: Duration = Duration::from_mins(1);
/// Length of a sample for Welch's test, as that of effort quick.
const SAMPLE: Duration = Duration::from_millis(3);
/// Most time of a sample of tango, for both sides together.
const TANGO_SAMPLE: Duration = Duration::from_millis(10);

/// Criterion's verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Said {
    Regressed,
    Improved,
    WithinNoise,
    NoChange,
}

/// Results of the other methods for one benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rival {
    pub(super) case: String,
    /// Seconds that each was given.
    pub(super) seconds: f64,
    /// Seconds that each took: Welch, criterion, tango.
    pub(super) took: [f64; 3],
    pub(super) base: Moments,
    pub(super) head: Moments,
    pub(super) criterion: Said,
    pub(super) tango: Tango,
}

impl Rival {
    /// Runs the methods in turns, for `seconds` seconds each.
    pub(super) fn measure(
        workers: &[WorkerCommand; 2],
        case: &str,
        seconds: f64,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let whole = Duration::from_secs_f64(seconds);
        let mut took = [0.0; 3];
        let (mut welch, mut criterion, mut tango) = (None, None, None);
        // None of them always has the machine as another left it.
        for turn in 0..3 {
            let start = clock::now();
            let method = (turn + seed as usize) % 3;
            match method {
                0 => {
                    let base = sequential(workers, 0, case, whole / 2, seed)?;
                    welch = Some((base, sequential(workers, 1, case, whole / 2, seed)?));
                }
                1 => criterion = Some(by_criterion(workers, case, whole / 2)?),
                _ => tango = Some(alternating(workers, case, whole, seed)?),
            }
            took[method] = start.elapsed().as_secs_f64();
        }
        let (base, head) = welch.context("Welch had no turn")?;
        let criterion = criterion.context("criterion had no turn")?;
        let tango = tango.context("tango had no turn")?;
        Ok(Self { case: case.into(), seconds, took, base, head, criterion, tango })
    }
}

/// A worker with a prepared benchmark.
struct Live {
    session: Box<dyn Session>,
    handle: u64,
    /// Best time of an iteration in ns.
    iteration_ns: f64,
}

impl Live {
    fn open(workers: &[WorkerCommand; 2], worker: usize, case: &str, seed: u64) -> anyhow::Result<Self> {
        let mut executor = ProcessExecutor::new(workers.to_vec(), std::sync::Arc::default());
        let options = LaunchOptions {
            seed,
            device: "auto".into(),
            settings: std::collections::BTreeMap::new(),
            memory_limit_bytes: None,
            deadline: DEADLINE,
            layout: 0,
        };
        let Opened { mut session, .. } = executor.launch(worker, &options).map_err(|error| failed(&error))?;
        let benchmark = format!("{WORKLOAD}/{case}/w100").parse()?;
        let reply = session
            .call(&Request::Prepare { benchmark, placement: 0 }, DEADLINE)
            .map_err(|error| failed(&error))?;
        let prepared: Prepared = serde_json::from_str(&reply)?;
        let mut live = Self { session, handle: prepared.handle, iteration_ns: f64::INFINITY };
        for round in 0..5 {
            live.iteration_ns = live.iteration_ns.min(live.sample(round, 4, 4)? / 4.0);
        }
        Ok(live)
    }

    /// Time of a sample in ns.
    fn sample(&mut self, round: u64, lead_in: u64, iterations: u64) -> anyhow::Result<f64> {
        let (handle, mode) = (self.handle, Mode::Timed);
        let request = SampleRequest { handle, mode, round, offset: 0, lead_in, iterations };
        let reply = self.session.call(&Request::Sample(request), DEADLINE).map_err(|error| failed(&error))?;
        let reply: SampleReply = serde_json::from_str(&reply)?;
        Ok(reply.wall_ns as f64)
    }

    fn iterations(&self, time: Duration) -> u64 {
        (time.as_nanos() as f64 / self.iteration_ns).ceil().max(1.0) as u64
    }
}

fn failed(error: &CallError) -> anyhow::Error {
    anyhow::anyhow!("a worker failed: {error:?}")
}

/// Measures samples of one side, one after the other in one process.
fn sequential(
    workers: &[WorkerCommand; 2],
    worker: usize,
    case: &str,
    time: Duration,
    seed: u64,
) -> anyhow::Result<Moments> {
    let start = clock::now();
    let mut live = Live::open(workers, worker, case, seed)?;
    let iterations = live.iterations(SAMPLE);
    let mut values = Vec::new();
    // A variance needs at least two values.
    while start.elapsed() < time || values.len() < 2 {
        values.push(live.sample(5 + values.len() as u64, iterations, iterations)? / iterations as f64);
    }
    live.session.finish();
    Ok(Moments::of(&values))
}

/// Measures both sides alternately from one thread, as tango does: with a random number of iterations, equal for both, on
/// equal inputs, and whoever comes first in one sample comes second in the next.
fn alternating(workers: &[WorkerCommand; 2], case: &str, time: Duration, seed: u64) -> anyhow::Result<Tango> {
    let start = clock::now();
    let mut sides = [Live::open(workers, 0, case, seed)?, Live::open(workers, 1, case, seed)?];
    let most = sides[0].iterations(TANGO_SAMPLE / 2);
    let mut state = seed;
    let mut samples = Vec::new();
    while start.elapsed() < time || samples.len() < 8 {
        let round = samples.len() as u64;
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let iterations = 1 + (state >> 33) % most;
        let mut ns = [0.0; 2];
        for turn in 0..2 {
            let side = (turn + samples.len()) % 2;
            ns[side] = sides[side].sample(round, (iterations / 10).max(1), iterations)? / iterations as f64;
        }
        samples.push(ns);
    }
    for side in sides {
        side.session.finish();
    }
    Ok(Tango::of(&samples))
}

/// Saves criterion's baseline with base and compares head with it, each in its own process.
fn by_criterion(workers: &[WorkerCommand; 2], case: &str, time: Duration) -> anyhow::Result<Said> {
    let folder = tempfile::tempdir()?;
    let mut said = None;
    for (worker, compare) in workers.iter().zip([false, true]) {
        let mut command = Command::new(&worker.command[0]);
        command.arg("criterion").args(["--case", case, "--folder"]).arg(folder.path());
        command.args(["--seconds", &time.as_secs_f64().to_string()]).envs(&worker.env);
        if compare {
            command.arg("--compare");
        }
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("criterion: {}{text}", String::from_utf8_lossy(&output.stderr));
        }
        said = read(&text);
    }
    said.context("the output of criterion has no verdict")
}

/// Parses criterion's verdict from its output.
fn read(text: &str) -> Option<Said> {
    let sentences = [
        ("No change in performance detected", Said::NoChange),
        ("Change within noise threshold", Said::WithinNoise),
        ("regressed", Said::Regressed),
        ("improved", Said::Improved),
    ];
    sentences.into_iter().find(|(sentence, _)| text.contains(sentence)).map(|(_, said)| said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_criterion_prints_is_understood() {
        let of =
            |sentence: &str| read(&format!("time: [1 ms 1 ms 1 ms]\n change: [+1% +2% +3%]\n {sentence}\n"));
        assert_eq!(of("Performance has \u{1b}[31mregressed\u{1b}[0m."), Some(Said::Regressed));
        assert_eq!(of("Performance has improved."), Some(Said::Improved));
        assert_eq!(of("No change in performance detected."), Some(Said::NoChange));
        assert_eq!(of("Change within noise threshold."), Some(Said::WithinNoise));
        assert_eq!(of(""), None);
    }
}
