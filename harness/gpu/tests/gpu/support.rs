//! Adapters for tests, and samples on them.

use std::collections::BTreeMap;

use perfharness_contract::Reading;
use perfharness_contract::protocol::Trace;
pub(crate) use perfharness_gpu::testing::{require_adapter, require_adapter_with};
use perfharness_gpu::{Bound, Buffer, Gpu};

/// Readings by metric id.
pub(crate) type Readings = BTreeMap<String, Reading>;

/// Takes a metered sample of `run`, and returns its readings and its result.
pub(crate) fn metered<T>(gpu: &Gpu, run: impl FnOnce() -> T) -> (Readings, T) {
    let mut meter = gpu.meter();
    let mut readings = Readings::new();
    meter.start();
    let result = run();
    meter.stop(&mut readings);
    (readings, result)
}

/// Takes a traced sample of `run`, and returns its trace and its result.
pub(crate) fn traced<T>(gpu: &Gpu, run: impl FnOnce() -> T) -> (Trace, T) {
    let mut meter = gpu.meter();
    let mut trace = Trace::default();
    meter.start_trace();
    let result = run();
    meter.stop_trace(&mut trace);
    (trace, result)
}

/// Returns the value of a metric, which must have one.
pub(crate) fn value(readings: &Readings, metric: &str) -> f64 {
    let reading = &readings[metric];
    reading.value().unwrap_or_else(|| panic!("{metric}: {reading:?}"))
}

/// Returns the reason for the absence of a metric, which must have no value.
pub(crate) fn absence(readings: &Readings, metric: &str) -> String {
    match &readings[metric] {
        Reading::Absent { absent } => absent.clone(),
        Reading::Value(number) => panic!("{metric} is {number:?}"),
    }
}

/// Returns the exact metrics that are not 0. Growth may be absent, because a single iteration cannot show it.
pub(crate) fn counted(readings: &Readings) -> BTreeMap<&str, f64> {
    let exact = perfharness_gpu::gpu_metrics();
    let exact = exact.iter().filter(|m| m.kind == perfharness_contract::MetricKind::Exact);
    let values = exact.filter_map(|m| {
        let (id, reading) = readings.get_key_value(m.id.as_str()).unwrap();
        let is_growth = id == perfharness_gpu::metric::DEVICE_GROWTH;
        if is_growth {
            Some((id.as_str(), reading.value()?))
        } else {
            Some((id.as_str(), reading.value().unwrap()))
        }
    });
    values.filter(|(_, value)| *value != 0.0).collect()
}

/// Adds a number to every element.
pub(crate) const ADD: &str = "
    @group(0) @binding(0) var<storage, read> input: array<u32>;
    @group(0) @binding(1) var<storage, read_write> output: array<u32>;
    @group(0) @binding(2) var<uniform> params: vec4u;
    @compute @workgroup_size(64) fn main(
        @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
    ) {
        let i = id.y * groups.x * 64 + id.x;
        if i >= arrayLength(&input) { return; }
        var x = input[i];
        for (var k = 0u; k < params.y; k++) { x = x * 1664525u + 1013904223u; }
        output[i] = x + params.x;
    }";

/// [`ADD`] with its buffers.
pub(crate) struct Adder {
    pub(crate) input: Buffer,
    pub(crate) output: Buffer,
    pub(crate) params: Buffer,
    pub(crate) kernel: Bound,
}

impl Adder {
    pub(crate) fn new(gpu: &Gpu, count: u64) -> Self {
        let input = gpu.buffer_for::<u32>("input", count).unwrap();
        let output = gpu.buffer_for::<u32>("output", count).unwrap();
        let params = gpu.uniform("params", &[7_u32, 0, 0, 0]).unwrap();
        let pipeline = gpu.pipeline("add", ADD, "main").unwrap();
        let kernel = pipeline.bind([("input", &input), ("output", &output), ("params", &params)]).unwrap();
        Self { input, output, params, kernel }
    }

    pub(crate) fn groups(&self) -> [u32; 3] {
        self.kernel.groups(self.input.count::<u32>())
    }
}
