//! Adapters and placements for tests, and what a worker answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_contract::protocol::SampleReply;
use perfharness_contract::{Case, Check, Measured, Setup, serve_on};
use perfharness_gpu::{Gpu, GpuError, GpuOptions};
use perfharness_platform::env;
use serde_json::{Value, json};

use crate::delivery::{Delivery, Loop, Params};
use crate::documented::Documented;
use crate::history::History;
use crate::optimized::Optimized;
use crate::shipped::Shipped;
use crate::slow::Slow;
use crate::{DOCUMENTED, OPTIMIZED, SHIPPED, SLOW, define};

pub(crate) const SEED: u64 = 7;

/// A device of the best adapter, or `None` where a test has to be skipped.
pub(crate) fn require_adapter_with(options: &GpuOptions) -> Option<Gpu> {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    match Gpu::new("auto", options) {
        Ok(gpu) => Some(gpu),
        Err(error @ GpuError::NoAdapter { .. }) => {
            assert!(!env::is_set_nonempty("PERFHARNESS_REQUIRE_ADAPTER"), "{error}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            eprintln!("skipped ({skipped} so far): {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn require_adapter() -> Option<Gpu> {
    require_adapter_with(&GpuOptions::default())
}

/// A placement of any variant.
pub(crate) trait Bench: Measured {
    fn history(&mut self) -> &mut History;

    /// One iteration and its check.
    fn checked(&mut self, index: u64) -> Check {
        self.run(index).unwrap();
        self.fence().unwrap();
        self.check(index).unwrap()
    }
}

impl<D: Delivery> Bench for Loop<D> {
    fn history(&mut self) -> &mut History {
        &mut self.history
    }
}

fn bench<D: Delivery + 'static>(gpu: &Gpu, steps: u64, seed: u64) -> Box<dyn Bench> {
    let setup = Setup::new(seed, "auto", ".");
    let mut bench = Loop::<D>::on(gpu.clone(), &Params { steps }, &setup).unwrap();
    bench.load(5).unwrap();
    Box::new(bench)
}

/// A placement of each variant outside a worker, loaded with round 5.
pub(crate) fn benches(gpu: &Gpu, steps: u64, seed: u64) -> [(&'static str, Box<dyn Bench>); 4] {
    [
        (SLOW, bench::<Slow>(gpu, steps, seed)),
        (DOCUMENTED, bench::<Documented>(gpu, steps, seed)),
        (SHIPPED, bench::<Shipped>(gpu, steps, seed)),
        (OPTIMIZED, bench::<Optimized>(gpu, steps, seed)),
    ]
}

/// What a worker's samples of these modes and iterations read, of a loop of so many steps.
pub(crate) fn samples(steps: u64, variant: &str, samples: &[(&str, u64)]) -> Vec<BTreeMap<String, Value>> {
    let workload = define(vec![Case::new("case", Params { steps })]).build();
    let folder = tempfile::tempdir().unwrap();
    let hello = json!({"op": "hello", "protocols": [1], "harness": "test", "seed": SEED, "device": "auto",
        "scratch_dir": folder.path()});
    let prepare =
        json!({"op": "prepare", "benchmark": format!("metrics-sync/case/{variant}"), "placement": 0});
    let requests = samples.iter().map(|(mode, iterations)| {
        json!({"op": "sample", "handle": 1, "mode": mode, "round": 2, "offset": 3, "lead_in": 1,
            "iterations": iterations})
    });
    let mut input = String::new();
    for (id, request) in [hello, prepare].into_iter().chain(requests).enumerate() {
        let mut frame = json!({"perfharness": 1, "id": id});
        frame.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        input += &frame.to_string();
        input.push('\n');
    }
    let mut output = Vec::new();
    serve_on(vec![workload], input.as_bytes(), &mut output).unwrap();
    let answers = String::from_utf8(output).unwrap();
    let readings = |answer: &str| {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let reply = answer.get("ok").unwrap_or_else(|| panic!("{answer}"));
        let reply: SampleReply = serde_json::from_value(reply.clone()).unwrap();
        reply.readings.into_iter().map(|(id, reading)| (id, serde_json::to_value(reading).unwrap())).collect()
    };
    answers.lines().skip(2).map(readings).collect()
}

/// The exact metrics of one iteration that are not 0.
pub(crate) fn counts(steps: u64, variant: &str) -> BTreeMap<String, u64> {
    let exact: Vec<String> = crate::delivery::metrics()
        .into_iter()
        .filter(|metric| metric.kind == perfharness_contract::MetricKind::Exact)
        .map(|metric| metric.id.to_string())
        .collect();
    let readings = samples(steps, variant, &[("metered", 1)]).remove(0);
    let value = |id: &String| (id.clone(), readings[id].as_f64().unwrap() as u64);
    exact.iter().map(value).filter(|(_, value)| *value != 0).collect()
}
