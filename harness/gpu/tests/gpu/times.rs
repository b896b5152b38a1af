//! Tests of device time against the clock of the host. They need an adapter.

use std::time::Duration;

use perfharness_gpu::metric::{COPY_TIME, GPU_BUSY, GPU_BUSY_SHARE, HOST_WAIT};
use perfharness_gpu::{Gpu, GpuOptions, Timestamps, list_adapters, probe_adapter};
use perfharness_platform::clock;

use crate::support::{Adder, absence, counted, metered, require_adapter, require_adapter_with, value};

/// Long enough that the times of submitting and waking up do not matter.
const LONG: Duration = Duration::from_millis(60);

/// Returns an adder with so many rounds that one dispatch takes long.
fn long_adder(gpu: &Gpu) -> Adder {
    let adder = Adder::new(gpu, 1 << 16);
    let mut rounds = 64;
    loop {
        gpu.write_buffer(&adder.params, &[0, rounds, 0, 0]).unwrap();
        let start = clock::now();
        gpu.commands("long").dispatch(&adder.kernel, adder.groups()).submit().unwrap().wait().unwrap();
        if start.elapsed() >= LONG || rounds >= 1 << 30 {
            return adder;
        }
        rounds *= 2;
    }
}

#[test]
fn device_time_agrees_with_wall_time_on_a_long_kernel() {
    let Some(gpu) = require_adapter() else { return };
    let adder = long_adder(&gpu);
    let (readings, wall) = metered(&gpu, || {
        let start = clock::now();
        gpu.commands("long").dispatch(&adder.kernel, adder.groups()).submit().unwrap().wait().unwrap();
        start.elapsed().as_nanos() as f64
    });
    let busy = value(&readings, GPU_BUSY);
    assert!(busy <= wall && busy >= 0.5 * wall, "busy {busy}, wall {wall}");
    let share = value(&readings, GPU_BUSY_SHARE);
    assert!((0.5..=1.0).contains(&share), "{share}");
    let waited = value(&readings, HOST_WAIT);
    assert!(waited <= wall && waited >= 0.5 * wall, "waited {waited}, wall {wall}");
    assert_eq!(value(&readings, COPY_TIME), 0.0, "it copies nothing");
}

#[test]
fn copies_take_device_time_of_their_own() {
    let Some(gpu) = require_adapter() else { return };
    let bytes = gpu.max_binding().min(32 << 20);
    let from = gpu.buffer("from", bytes).unwrap();
    let to = gpu.buffer("to", bytes).unwrap();
    gpu.commands("touch").copy(&from, &to).submit().unwrap().wait().unwrap();
    let (readings, ()) = metered(&gpu, || {
        gpu.commands("copy").copy(&from, &to).copy(&to, &from).submit().unwrap().wait().unwrap();
    });
    let (copying, busy) = (value(&readings, COPY_TIME), value(&readings, GPU_BUSY));
    assert!(copying > 0.0 && copying == busy, "copying {copying}, busy {busy}");
}

#[test]
fn every_span_comes_back_when_there_are_more_than_a_query_set_holds() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 64);
    let (readings, ()) = metered(&gpu, || {
        for _ in 0..2500 {
            gpu.commands("step").dispatch(&adder.kernel, [1, 1, 1]).clear(&adder.output).submit().unwrap();
        }
        gpu.fence().unwrap();
    });
    assert!(value(&readings, GPU_BUSY) > 0.0);
    assert_eq!(counted(&readings).get("syncs"), None, "a fence is none");
    let share = value(&readings, GPU_BUSY_SHARE);
    assert!(share > 0.0 && share <= 1.0, "{share}");
    // The sets are in rotation by now, and must not return spans of the last sample.
    let (readings, ()) = metered(&gpu, || ());
    assert_eq!(value(&readings, GPU_BUSY), 0.0);
}

#[test]
fn without_timestamps_results_are_right_and_times_absent() {
    let options = GpuOptions { hide_timestamps: true, ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    let adder = Adder::new(&gpu, 100);
    let (readings, result) = metered(&gpu, || {
        gpu.commands("add")
            .upload(&adder.input, &[5_u32; 100])
            .dispatch(&adder.kernel, [2, 1, 1])
            .submit()
            .unwrap();
        gpu.read::<u32>(&adder.output).unwrap()
    });
    assert_eq!(result, [12; 100]);
    for metric in [GPU_BUSY, GPU_BUSY_SHARE, COPY_TIME] {
        assert!(absence(&readings, metric).contains("no timestamp queries"), "{metric}");
    }
    assert_eq!(counted(&readings)["dispatches"], 1.0);
    assert!(value(&readings, HOST_WAIT) > 0.0);
}

#[test]
fn a_device_that_is_never_metered_has_no_queries() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 64);
    let run = || gpu.commands("add").dispatch(&adder.kernel, [1, 1, 1]).submit().unwrap().wait().unwrap();
    let query_sets = || gpu.device().get_internal_counters().hal.query_sets.read();
    run();
    assert_eq!(query_sets(), 0);
    metered(&gpu, run);
    // Some backends do not count query sets.
    assert!(query_sets() <= 1);
}

#[test]
fn the_adapters_of_this_machine_are_listed_with_whether_their_timestamps_work() {
    let Some(gpu) = require_adapter() else { return };
    let list = list_adapters();
    assert_eq!(list[0], *gpu.facts());
    for (at, facts) in list.iter().enumerate() {
        let adapter = probe_adapter(at).unwrap();
        assert_eq!(adapter.facts, *facts);
        let Timestamps::Work { period_ns } = adapter.timestamps else { continue };
        assert!(
            period_ns > 0.0 && adapter.facts.features.iter().any(|f| f == "timestamp-query"),
            "{adapter:?}"
        );
    }
}
