//! Overhead of measuring within a timed sample: the same kernel in a bare loop and through the contract.

use std::collections::BTreeMap;
use std::io::{BufReader, Cursor};

use anyhow::Context as _;
use perfharness_contract::protocol::{
    Hello, Mode, PROTOCOL_VERSION, Request, RequestFrame, ResponseFrame, SampleReply, SampleRequest,
};
use perfharness_contract::{Case, Check, Failure, Measured, Role, Setup, Workload, serve_on};
use perfharness_platform::clock;
use perfharness_verdict::median;

use crate::say;

/// Number of steps in an iteration of about 100 ns, shorter than any useful benchmark, so that the overhead shows.
const STEPS: u64 = 100;
/// Number of iterations in a sample; about the 3 ms of effort quick.
const ITERATIONS: u64 = 30_000;
const SAMPLES: u64 = 301;

fn kernel(mut state: u64) -> u64 {
    for _ in 0..STEPS {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    state
}

struct Kernel {
    state: u64,
}

impl Measured for Kernel {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.state = round;
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.state = kernel(self.state ^ index);
        Ok(())
    }

    fn check(&mut self, _index: u64) -> Result<Check, Failure> {
        Ok(Check::exact(&[], &[]))
    }
}

#[derive(serde::Serialize)]
struct NoParams {}

/// Compares samples through `serve` with a bare loop between two clock readings, alternately.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut ratios = Vec::new();
    let mut direct = Vec::new();
    for sample in 0..SAMPLES {
        let through = through_serve(sample)?;
        let bare = bare_loop(sample);
        ratios.push(through / bare);
        direct.push(bare);
    }
    let ratio = median(&ratios).context("no samples")?;
    let bare = median(&direct).context("no samples")?;
    say(&format!(
        "a timed sample of {ITERATIONS} iterations of {:.0} ns costs {:+.2} % over a bare loop (median of {SAMPLES})",
        bare / ITERATIONS as f64,
        (ratio - 1.0) * 100.0
    ));
    Ok(())
}

fn bare_loop(round: u64) -> f64 {
    let mut state = round;
    let start = clock::now();
    for index in 0..ITERATIONS {
        state = kernel(state ^ index);
    }
    let spent = start.elapsed().as_nanos() as f64;
    std::hint::black_box(state);
    spent
}

fn through_serve(round: u64) -> anyhow::Result<f64> {
    let workload = Workload::builder("cost", 1, "the cost of measuring")
        .case(Case::new("c", NoParams {}))
        .variant("v", Role::Other, "a chain of multiplications", |_: &NoParams, _: &Setup| {
            Ok(Kernel { state: 0 })
        })
        .build();
    let hello = Hello {
        protocols: vec![PROTOCOL_VERSION],
        harness: "experiment".into(),
        seed: 1,
        device: "none".into(),
        scratch_dir: std::env::temp_dir().display().to_string(),
        memory_limit_bytes: None,
        settings: BTreeMap::new(),
        modes: vec![Mode::Timed],
    };
    let sample = SampleRequest {
        handle: 1,
        mode: Mode::Timed,
        round,
        offset: 0,
        lead_in: ITERATIONS / 10,
        iterations: ITERATIONS,
    };
    let requests = [
        Request::Hello(hello),
        Request::Prepare { benchmark: "cost/c/v".parse()?, placement: 0 },
        Request::Sample(sample),
    ];
    let mut input = Vec::new();
    for (id, request) in (1..).zip(requests) {
        let frame = RequestFrame { perfharness: PROTOCOL_VERSION, id, deadline_ms: None, request };
        serde_json::to_writer(&mut input, &frame)?;
        input.push(b'\n');
    }
    let mut output = Vec::new();
    serve_on(vec![workload], BufReader::new(Cursor::new(input)), &mut output)?;
    let last = output.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).context("no answer")?;
    let frame: ResponseFrame = serde_json::from_slice(last)?;
    let reply: SampleReply = serde_json::from_value(frame.ok.context("the sample failed")?)?;
    Ok(reply.wall_ns as f64)
}
