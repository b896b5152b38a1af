//! Tests of traces of a device.

use perfharness_contract::protocol::{Trace, TraceKind, TraceSpan};
use perfharness_gpu::metric::{GPU_BUSY, HOST_WAIT};
use perfharness_gpu::{Gpu, GpuOptions};
use perfharness_platform::clock;

use crate::support::{Adder, counted, metered, require_adapter, require_adapter_with, traced, value};

/// Returns the spans of a track, in the order of time.
fn spans<'a>(trace: &'a Trace, track: &str) -> Vec<&'a TraceSpan> {
    let mut spans: Vec<&TraceSpan> = trace.spans.iter().filter(|span| span.track == track).collect();
    spans.sort_by_key(|span| span.start_ns);
    spans
}

fn names<'a>(spans: &[&'a TraceSpan]) -> Vec<&'a str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

/// Returns the largest offset of the device's spans.
fn uncertainty_ns(trace: &Trace) -> u64 {
    let place = trace.tracks["gpu"];
    assert!(!place.own_clock, "{trace:?}");
    place.uncertainty_ns.unwrap()
}

#[test]
fn passes_and_copies_have_names_and_lie_between_their_submit_and_the_wait_for_them() {
    let Some(gpu) = require_adapter() else { return };
    let count = gpu.max_binding().min(16 << 20) / 4;
    let adder = Adder::new(&gpu, count);
    gpu.write_buffer(&adder.params, &[7_u32, 20, 0, 0]).unwrap();
    let (trace, (before, after)) = traced(&gpu, || {
        let before = clock::monotonic_ns();
        let mut commands = gpu.commands("step");
        commands.upload(&adder.input, &vec![1_u32; count as usize]);
        commands.dispatch(&adder.kernel, adder.groups()).dispatch(&adder.kernel, adder.groups());
        commands.copy(&adder.output, &adder.input).clear(&adder.output);
        commands.submit().unwrap().wait().unwrap();
        (before, clock::monotonic_ns())
    });
    let device = spans(&trace, "gpu");
    assert_eq!(names(&device), ["upload input", "add and 1 more", "copy output to input", "clear output"]);
    let kinds: Vec<TraceKind> = device.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [TraceKind::Copy, TraceKind::Compute, TraceKind::Copy, TraceKind::Clear]);
    let slack = uncertainty_ns(&trace);
    assert!(slack < 20_000_000, "{slack} ns");
    for span in &device {
        assert!(span.start_ns + slack >= before, "{span:?} begins before {before}, by more than {slack}");
        let end = span.start_ns + span.duration_ns;
        assert!(end <= after + slack, "{span:?} ends after {after}, by more than {slack}");
    }
    // The spans do not overlap.
    assert!(device.windows(2).all(|pair| pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns));
    assert!(device[1].duration_ns > 0);
    assert_eq!(trace.facts["adapter"], gpu.facts().name);
    assert!(trace.absent.is_empty(), "{:?}", trace.absent);
    assert_eq!(trace.dropped, 0);
}

#[test]
fn waits_of_the_host_say_what_for() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 1000);
    let mut readback = gpu.readback::<u32>("sums", 1000).unwrap();
    let (trace, wall) = traced(&gpu, || {
        let start = clock::now();
        gpu.commands("a").dispatch(&adder.kernel, adder.groups()).submit().unwrap().wait().unwrap();
        gpu.commands("b").download(&adder.output, &mut readback).submit().unwrap();
        readback.wait().unwrap();
        gpu.wait().unwrap();
        gpu.fence().unwrap();
        start.elapsed().as_nanos() as u64
    });
    let waits = spans(&trace, "host");
    let due =
        ["a submit", "sums", "everything submitted", "the fence"].map(|what| format!("wait for {what}"));
    assert_eq!(names(&waits), due);
    assert!(waits.iter().all(|span| span.kind == TraceKind::Wait));
    let waited: u64 = waits.iter().map(|span| span.duration_ns).sum();
    assert!(waited > 0 && waited <= wall, "waited {waited} of {wall}");
}

#[test]
fn memory_is_drawn_and_its_holders_are_named() {
    let Some(gpu) = require_adapter() else { return };
    let held = gpu.buffer("held", 1 << 10).unwrap();
    let (trace, ()) = traced(&gpu, || {
        let first = gpu.buffer("large", 1 << 16).unwrap();
        drop(first);
        let _both = [gpu.buffer("large", 1 << 16).unwrap(), gpu.buffer("large", 1 << 16).unwrap()];
    });
    drop(held);
    let [memory] = &trace.counters[..] else { panic!("{:?}", trace.counters) };
    assert_eq!((memory.name.as_str(), memory.relative), ("device-live", false));
    let values: Vec<i64> = memory.points.iter().map(|(_, value)| *value - (1 << 10)).collect();
    let one = 1 << 16;
    assert_eq!(values, [0, one, 0, one, 2 * one, one, 0, 0]);
    let holders: Vec<(&str, u64, u64)> =
        trace.holders.iter().map(|held| (held.label.as_str(), held.count, held.bytes)).collect();
    assert_eq!(holders, [("large", 2, 1 << 17), ("held", 1, 1 << 10)]);
}

#[test]
fn a_trace_and_a_meter_find_the_same_device_time() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, gpu.max_binding().min(4 << 20) / 4);
    gpu.write_buffer(&adder.params, &[7_u32, 200, 0, 0]).unwrap();
    let run = || {
        for _ in 0..3 {
            gpu.commands("step").dispatch(&adder.kernel, adder.groups()).submit().unwrap().wait().unwrap();
        }
    };
    run();
    let (trace, ()) = traced(&gpu, run);
    let (readings, ()) = metered(&gpu, run);
    let device = spans(&trace, "gpu");
    assert_eq!(device.len(), 3);
    // Two runs on a busy machine differ in the nanoseconds; the same magnitude is enough here.
    let traced: u64 = device.iter().map(|span| span.duration_ns).sum();
    let ratio = traced as f64 / value(&readings, GPU_BUSY);
    assert!((0.1..10.0).contains(&ratio), "{ratio}");
    // Nothing of the trace remains in the meter.
    assert_eq!(counted(&readings), [("dispatches", 3.0), ("submits", 3.0), ("syncs", 3.0)].into());
    assert!(value(&readings, HOST_WAIT) > 0.0);
}

#[test]
fn every_span_comes_back_by_its_name_when_there_are_more_than_a_query_set_holds() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 64);
    // The second time, the sets are in rotation.
    for _ in 0..2 {
        let (trace, ()) = traced(&gpu, || {
            for _ in 0..2500 {
                let mut commands = gpu.commands("step");
                commands.dispatch(&adder.kernel, [1, 1, 1]).clear(&adder.output).submit().unwrap();
            }
            gpu.fence().unwrap();
        });
        let device = spans(&trace, "gpu");
        let named = |name: &str| device.iter().filter(|span| span.name == name).count();
        assert_eq!((device.len(), named("add"), named("clear output")), (5000, 2500, 2500));
        assert_eq!(trace.dropped, 0);
    }
}

#[test]
fn without_timestamps_the_device_is_absent_and_the_host_is_not() {
    let options = GpuOptions { hide_timestamps: true, ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    let adder = Adder::new(&gpu, 100);
    let (trace, ()) = traced(&gpu, || {
        gpu.commands("add").dispatch(&adder.kernel, [2, 1, 1]).submit().unwrap().wait().unwrap();
    });
    assert!(spans(&trace, "gpu").is_empty() && trace.tracks.is_empty());
    assert!(trace.absent[GPU_BUSY].contains("no timestamp queries"), "{:?}", trace.absent);
    assert_eq!(names(&spans(&trace, "host")), ["wait for a submit"]);
}

#[test]
fn timestamps_that_are_never_written_are_no_spans_of_no_length() {
    let gpu = Gpu::new("noop", &GpuOptions::default()).unwrap();
    let adder = Adder::new(&gpu, 16);
    let mut early = gpu.commands("early");
    early.dispatch(&adder.kernel, [1, 1, 1]);
    let (trace, ()) = traced(&gpu, || {
        gpu.commands("add").dispatch(&adder.kernel, [1, 1, 1]).submit().unwrap();
        gpu.commands("given up").dispatch(&adder.kernel, [1, 1, 1]);
    });
    assert!(spans(&trace, "gpu").is_empty());
    assert!(trace.absent[GPU_BUSY].starts_with("1 of 1 spans did not come back"), "{:?}", trace.absent);
    let (trace, ()) = traced(&gpu, || {
        early.submit().unwrap();
    });
    assert!(trace.absent[GPU_BUSY].contains("recorded before the sample"), "{:?}", trace.absent);
}
