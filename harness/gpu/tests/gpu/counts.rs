//! Tests of right results and of counts. They need an adapter.

use perfharness_contract::protocol::Kernels;
use perfharness_gpu::Commands;

use crate::support::{Adder, Readings, counted, metered, require_adapter};

const COUNT: u64 = 1000;
const BYTES: f64 = 4.0 * COUNT as f64;

fn data() -> Vec<u32> {
    (0..COUNT as u32).collect()
}

fn expected() -> Vec<u32> {
    data().iter().map(|x| x + 7).collect()
}

#[test]
fn a_round_trip_is_right_and_counted_exactly() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, COUNT);
    let (readings, result) = metered(&gpu, || {
        gpu.commands("add")
            .upload(&adder.input, &data())
            .dispatch(&adder.kernel, adder.groups())
            .submit()
            .unwrap();
        gpu.read::<u32>(&adder.output).unwrap()
    });
    assert_eq!(result, expected());
    let counts = [
        ("upload-bytes", BYTES),
        ("upload-copies", 1.0),
        ("download-bytes", BYTES),
        ("download-copies", 1.0),
        ("syncs", 1.0),
        ("submits", 2.0),
        ("dispatches", 1.0),
        // The staging buffer and the readback buffer.
        ("buffer-creates", 2.0),
    ];
    assert_eq!(counted(&readings), counts.into());
}

#[test]
fn buffers_that_are_kept_cost_no_creates() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, COUNT);
    let copy = gpu.buffer_for::<u32>("copy", COUNT).unwrap();
    let mut staging = gpu.staging("staging", 4 * COUNT, 2).unwrap();
    let mut readback = gpu.readback::<u32>("result", COUNT).unwrap();
    let (readings, ()) = metered(&gpu, || {
        let mut result = vec![0; COUNT as usize];
        for step in 0..5 {
            gpu.write_buffer(&adder.params, &[step, 0, 0, 0]).unwrap();
            gpu.commands("add")
                .upload_through(&mut staging, &adder.input, &data())
                .dispatch(&adder.kernel, adder.groups())
                .copy(&adder.output, &copy)
                .download(&copy, &mut readback)
                .submit()
                .unwrap();
            readback.wait_into(&mut result).unwrap();
            assert!(result.iter().zip(data()).all(|(actual, x)| *actual == x + step));
        }
        gpu.fence().unwrap();
    });
    let counts = [
        ("upload-bytes", 5.0 * BYTES),
        ("upload-copies", 5.0),
        ("device-copy-bytes", 5.0 * BYTES),
        ("device-copies", 5.0),
        ("download-bytes", 5.0 * BYTES),
        ("download-copies", 5.0),
        ("write-buffer-bytes", 80.0),
        ("write-buffer-calls", 5.0),
        ("syncs", 5.0),
        ("submits", 5.0),
        ("dispatches", 5.0),
    ];
    assert_eq!(counted(&readings), counts.into());
}

#[test]
fn downloads_of_one_submit_are_read_with_one_sync() {
    let Some(gpu) = require_adapter() else { return };
    let values: Vec<_> = (1..=3_u32).map(|x| gpu.upload("value", &[x]).unwrap()).collect();
    let mut readback = gpu.readback::<u32>("values", 3).unwrap();
    let (readings, result) = metered(&gpu, || {
        let mut commands = gpu.commands("values");
        for value in &values {
            commands.download(value, &mut readback);
        }
        commands.submit().unwrap();
        readback.wait().unwrap()
    });
    assert_eq!(result, [1, 2, 3]);
    let counts = [("download-bytes", 12.0), ("download-copies", 3.0), ("syncs", 1.0), ("submits", 1.0)];
    assert_eq!(counted(&readings), counts.into());
}

#[test]
fn results_can_be_polled_for_without_a_sync() {
    let Some(gpu) = require_adapter() else { return };
    let values = gpu.upload("value", &[1_u32, 2, 3, 4]).unwrap();
    let mut ring: Vec<_> = (0..4).map(|_| gpu.readback::<u32>("ring", 1).unwrap()).collect();
    let (readings, seen) = metered(&gpu, || {
        for (i, readback) in ring.iter_mut().enumerate() {
            let at = i as u64;
            gpu.commands("step").download(values.range::<u32>(at..at + 1), readback).submit().unwrap();
        }
        let mut seen = Vec::new();
        for readback in &mut ring {
            loop {
                if let Some(values) = readback.poll().unwrap() {
                    seen.extend(values);
                    break;
                }
                std::thread::yield_now();
            }
        }
        seen
    });
    assert_eq!(seen, [1, 2, 3, 4]);
    assert_eq!(counted(&readings).get("syncs"), None);
}

#[test]
fn each_dispatch_of_a_pass_sees_what_those_before_it_wrote() {
    let Some(gpu) = require_adapter() else { return };
    let data = gpu.buffer_for::<u32>("data", 256).unwrap();
    let source = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
            data[id.x] = data[255u - id.x] + 1u;
        }";
    // Within a dispatch of one workgroup of 64 out of 256, each invocation reads elements that no other writes.
    let kernel = gpu.pipeline("mirror", source, "main").unwrap().bind([("data", &data)]).unwrap();
    let mut commands = gpu.commands("mirror");
    for _ in 0..10 {
        commands.dispatch(&kernel, [1, 1, 1]);
    }
    commands.submit().unwrap();
    assert_eq!(gpu.read::<u32>(data.range::<u32>(0..64)).unwrap(), [1; 64]);
    gpu.commands("clear").clear(&data).submit().unwrap();
    assert_eq!(gpu.read::<u32>(&data).unwrap(), [0; 256]);
}

#[test]
fn items_beyond_one_dimension_are_spread_over_two() {
    let Some(gpu) = require_adapter() else { return };
    let count = 65_536 * 64 + 5;
    let adder = Adder::new(&gpu, count);
    assert_eq!(adder.groups()[1], if gpu.facts().max_workgroups == 65_535 { 2 } else { 1 });
    gpu.commands("add").dispatch(&adder.kernel, adder.groups()).submit().unwrap();
    assert_eq!(gpu.read::<u32>(&adder.output).unwrap(), vec![7; count as usize]);
}

#[test]
fn each_kernel_is_listed_once_with_its_dispatches() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, COUNT);
    let add = |commands: &mut Commands| {
        commands.dispatch(&adder.kernel, adder.groups());
    };
    let mut early = gpu.commands("early");
    add(&mut early);
    let mut meter = gpu.meter();
    meter.start();
    let mut commands = gpu.commands("add");
    (0..3).for_each(|_| add(&mut commands));
    commands.submit().unwrap();
    let mut dropped = gpu.commands("dropped");
    add(&mut dropped);
    drop(dropped);
    meter.stop(&mut Readings::new());
    let Some(Kernels::Known(kernels)) = meter.kernels() else { panic!("all are known") };
    let [kernel] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((kernel.label.as_str(), kernel.entry_point.as_str(), kernel.dispatches), ("add", "main", 3));
    assert!(kernel.wgsl.contains("@compute"), "{}", kernel.wgsl);

    meter.start();
    early.submit().unwrap();
    meter.stop(&mut Readings::new());
    let Some(Kernels::Absent { absent }) = meter.kernels() else { panic!("it was recorded before") };
    assert!(absent.contains("recorded before"), "{absent}");
}
