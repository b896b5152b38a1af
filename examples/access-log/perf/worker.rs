//! The worker: it makes logs, has them summarized both ways, and checks the sums.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use access_log::{Traffic, summarize, summarize_records};
use perfharness_contract::{
    Case, Check, Counter, Digest, Failure, Measured, MetricDef, Role, Setup, Workload, counting_allocator,
    serve,
};

// Counts heap allocations.
counting_allocator!();

type Summary = BTreeMap<String, Traffic>;

/// The parameters of a case by name, as they are shown with its results.
type Params = BTreeMap<&'static str, u64>;

const PATHS: u64 = 50;

/// Logs of one round, one way to summarize them, and its last result.
struct Logs {
    way: fn(&str) -> Summary,
    seed: u64,
    lines: u64,
    /// Two logs, so that a way that remembers its last result is found out.
    logs: [String; 2],
    /// The sums that are due for each log, added up while it is made.
    due: [Summary; 2],
    result: Summary,
    summarized: Counter,
}

impl Measured for Logs {
    // Makes the inputs of a round. It is not timed.
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        for (at, (log, due)) in self.logs.iter_mut().zip(&mut self.due).enumerate() {
            log.clear();
            due.clear();
            let mut state = self.seed ^ (round << 8) ^ at as u64;
            for _ in 0..self.lines {
                // A generator of two lines, so that a run has the same logs everywhere.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let (path, bytes) = (format!("/article/{}", mixed % PATHS), mixed >> 48);
                writeln!(
                    log,
                    "10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET {path} HTTP/1.1\" 200 {bytes}"
                )
                .map_err(|error| Failure::Failed(error.to_string()))?;
                let traffic = due.entry(path).or_default();
                traffic.requests += 1;
                traffic.bytes += bytes;
            }
        }
        Ok(())
    }

    // One iteration. This is what is timed.
    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.result = (self.way)(&self.logs[index as usize % 2]);
        self.summarized.add(self.lines);
        Ok(())
    }

    // Compares what `run(index)` left with the sums that are due. It is not timed.
    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let at = index as usize % 2;
        let check =
            Check::exact(format!("{:?}", self.due[at]).as_bytes(), format!("{:?}", self.result).as_bytes());
        Ok(check.with_input(Digest::of(self.logs[at].as_bytes())))
    }
}

fn prepare(way: fn(&str) -> Summary) -> impl Fn(&Params, &Setup) -> Result<Logs, Failure> {
    move |params, setup| {
        let (lines, summarized) = (params["lines"], setup.counter("lines"));
        let (seed, logs, due) = (setup.seed(), Default::default(), Default::default());
        Ok(Logs { way, seed, lines, logs, due, result: Summary::new(), summarized })
    }
}

fn main() -> ExitCode {
    let case = |id, lines| Case::new(id, Params::from([("lines", lines)])).items(lines, "lines");
    let workload = Workload::builder("access-log", 1, "Requests and bytes for each path of an access log")
        .metric(MetricDef::work("lines", "lines summarized"))
        .case(case("n1000", 1000))
        .variant(
            "slow",
            Role::Slow,
            "a record with fields of its own for each line",
            prepare(summarize_records),
        )
        .variant("optimized", Role::Optimized, "fields are borrowed from the log", prepare(summarize))
        .build();
    serve(vec![workload])
}
