//! Results of other methods for the same pair, measured for the same time: Welch's test on sequential samples, and
//! criterion against its own saved baseline.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use criterion::Criterion;
use perfharness_contract::protocol::{Mode, Prepared, Request, SampleReply, SampleRequest};
use perfharness_engine::measure::{CallError, Executor as _, LaunchOptions, Opened, ProcessExecutor};
use perfharness_known_work::workload;
use perfharness_platform::clock;
use serde::{Deserialize, Serialize};

use super::pair::{Conditions, VARIANT, workers};
use crate::welch::Moments;

const DEADLINE: Duration = Duration::from_mins(1);
const BASELINE: &str = "base";

/// Criterion's verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Said {
    Regressed,
    Improved,
    WithinNoise,
    NoChange,
}

/// Results of both methods for one kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rival {
    pub(super) kernel: String,
    /// Seconds that each was given.
    pub(super) seconds: f64,
    /// Seconds that each took.
    pub(super) welch_seconds: f64,
    pub(super) criterion_seconds: f64,
    pub(super) base: Moments,
    pub(super) head: Moments,
    pub(super) criterion: Said,
}

impl Rival {
    /// Runs both methods, for `seconds` seconds each.
    pub(super) fn measure(
        kernel: &str,
        seconds: f64,
        seed: u64,
        conditions: &Conditions,
    ) -> anyhow::Result<Self> {
        let half = Duration::from_secs_f64(seconds / 2.0);
        let start = clock::now();
        let base = sequential(kernel, 0, half, seed, conditions)?;
        let head = sequential(kernel, 1, half, seed, conditions)?;
        let welch_seconds = start.elapsed().as_secs_f64();
        let start = clock::now();
        let criterion = by_criterion(kernel, half, conditions)?;
        let criterion_seconds = start.elapsed().as_secs_f64();
        Ok(Self { kernel: kernel.into(), seconds, welch_seconds, criterion_seconds, base, head, criterion })
    }
}

/// Measures samples of one side, one after the other in one process.
fn sequential(
    kernel: &str,
    worker: usize,
    time: Duration,
    seed: u64,
    conditions: &Conditions,
) -> anyhow::Result<Moments> {
    let start = clock::now();
    let mut executor = ProcessExecutor::new(workers(conditions.planted)?.to_vec(), std::sync::Arc::default());
    let options = LaunchOptions {
        seed,
        device: "auto".into(),
        settings: std::collections::BTreeMap::new(),
        memory_limit_bytes: None,
        deadline: DEADLINE,
        layout: 0,
    };
    let failed = |error: CallError| anyhow::anyhow!("{kernel}: {error:?}");
    let Opened { mut session, .. } = executor.launch(worker, &options).map_err(failed)?;
    let benchmark = format!("known-work/{kernel}/{VARIANT}").parse()?;
    let mut call = |request: Request| session.call(&request, DEADLINE).map_err(failed);
    let prepared: Prepared = serde_json::from_str(&call(Request::Prepare { benchmark, placement: 0 })?)?;
    let mut sample = |round: u64, iterations: u64| -> anyhow::Result<f64> {
        let request = SampleRequest {
            handle: prepared.handle,
            mode: Mode::Timed,
            round,
            offset: 0,
            lead_in: iterations,
            iterations,
        };
        let reply: SampleReply = serde_json::from_str(&call(Request::Sample(request))?)?;
        Ok(reply.wall_ns as f64 / iterations as f64)
    };
    // The first samples warm up and determine the number of iterations of the others.
    let mut fastest = f64::INFINITY;
    for round in 0..5 {
        fastest = fastest.min(sample(round, 4)?);
    }
    let iterations = (conditions.sample.as_nanos() as f64 / fastest).ceil().max(1.0) as u64;
    let mut values = Vec::new();
    // A variance needs at least two values.
    while start.elapsed() < time || values.len() < 2 {
        values.push(sample(5 + values.len() as u64, iterations)?);
    }
    session.finish();
    Ok(Moments::of(&values))
}

/// Saves criterion's baseline with base and compares head with it, each in its own process.
fn by_criterion(kernel: &str, time: Duration, conditions: &Conditions) -> anyhow::Result<Said> {
    let folder = tempfile::tempdir()?;
    let mut said = None;
    for (worker, compare) in workers(conditions.planted)?.iter().zip([false, true]) {
        let mut command = Command::new(&worker.command[0]);
        command.arg("criterion-side").args(["--kernel", kernel, "--folder"]).arg(folder.path());
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

/// One process of criterion: warms up for three eighths of the time and measures for five eighths, which is how
/// criterion divides its default of 8 s.
pub(crate) fn side(kernel: &str, folder: &Path, seconds: f64, compare: bool) {
    let time = Duration::from_secs_f64(seconds.max(0.01));
    let criterion = Criterion::default()
        .warm_up_time(time.mul_f64(3.0 / 8.0))
        .measurement_time(time.mul_f64(5.0 / 8.0))
        // Criterion compares its p-value with 5 %. With the default of 100,000, analysing takes longer than measuring.
        .nresamples(2_000)
        .without_plots()
        .output_directory(folder)
        .with_filter(format!("^known-work/{kernel}/{VARIANT}$"));
    let mut criterion = if compare {
        criterion.retain_baseline(BASELINE.into(), true)
    } else {
        criterion.save_baseline(BASELINE.into())
    };
    perfharness_criterion::bench_all(&mut criterion, &[workload()]);
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
