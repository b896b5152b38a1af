//! Tests of live and peak bytes against wgpu's own counters. They need an adapter.

use perfharness_gpu::metric::{DEVICE_PEAK, DEVICE_RESERVED, FRAGMENTATION};
use perfharness_gpu::{Gpu, PeakBuffers};

use crate::support::{metered, require_adapter, value};

const MIB: u64 = 1 << 20;

/// Returns the bytes that wgpu reports for buffers; not all backends count them.
fn wgpu_bytes(gpu: &Gpu) -> Option<u64> {
    gpu.fence().unwrap();
    let bytes = gpu.device().get_internal_counters().hal.buffer_memory.read();
    (gpu.facts().backend != "metal").then_some(bytes as u64)
}

#[test]
fn live_bytes_agree_with_the_counters_of_wgpu() {
    let Some(gpu) = require_adapter() else { return };
    let before = (gpu.live_bytes(), wgpu_bytes(&gpu));
    let kept: Vec<_> = (1..=5).map(|i| gpu.buffer("kept", i * MIB + 12).unwrap()).collect();
    let gone = gpu.buffer("gone", 8 * MIB).unwrap();
    let agree = || {
        let ours = gpu.live_bytes() - before.0;
        if let (Some(theirs), Some(start)) = (wgpu_bytes(&gpu), before.1) {
            // An allocation is rounded up to its alignment.
            let rounding = 64 * 1024 * 6;
            let theirs = theirs - start;
            assert!(theirs >= ours && theirs <= ours + rounding, "ours {ours}, wgpu's {theirs}");
        }
        ours
    };
    assert_eq!(agree(), 15 * MIB + 60 + 8 * MIB);
    drop(gone);
    assert_eq!(agree(), 15 * MIB + 60);
    drop(kept);
    assert_eq!(agree(), 0);
}

#[test]
fn a_peak_names_its_buffers_and_starts_anew_with_each_sample() {
    let Some(gpu) = require_adapter() else { return };
    let kept = gpu.buffer("kept", MIB).unwrap();
    let (readings, at_peak) = metered(&gpu, || {
        let first = gpu.buffer("temporary", 4 * MIB).unwrap();
        let second = gpu.buffer("temporary", 2 * MIB).unwrap();
        let at_peak = wgpu_bytes(&gpu);
        drop((first, second));
        gpu.buffer("later", 3 * MIB).unwrap();
        at_peak
    });
    assert_eq!(value(&readings, DEVICE_PEAK), (7 * MIB) as f64);
    if let Some(at_peak) = at_peak {
        assert!((7 * MIB..=8 * MIB).contains(&at_peak), "{at_peak}");
    }
    let holder = |label: &str, count, bytes| PeakBuffers { label: label.into(), count, bytes };
    assert_eq!(gpu.peak_buffers(), [holder("temporary", 2, 6 * MIB), holder("kept", 1, MIB)]);
    let (readings, ()) = metered(&gpu, || ());
    assert_eq!(value(&readings, DEVICE_PEAK), kept.bytes() as f64);
}

#[test]
fn reserved_bytes_are_apart_from_live_ones() {
    let Some(gpu) = require_adapter() else { return };
    let buffer = gpu.buffer("buffer", MIB).unwrap();
    let (readings, ()) = metered(&gpu, || gpu.commands("clear").clear(&buffer).submit().map(|_| ()).unwrap());
    if gpu.device().generate_allocator_report().is_some() {
        assert!(value(&readings, DEVICE_RESERVED) > value(&readings, DEVICE_PEAK));
        let fragmentation = value(&readings, FRAGMENTATION);
        assert!(fragmentation > 0.0 && fragmentation < 1.0, "{fragmentation}");
    }
}

#[test]
fn what_is_bound_stays_alive() {
    let Some(gpu) = require_adapter() else { return };
    let crate::support::Adder { input, output, params, kernel } = crate::support::Adder::new(&gpu, 1024);
    let live = gpu.live_bytes();
    drop((input, output, params));
    assert_eq!(gpu.live_bytes(), live);
    drop(kernel);
    assert_eq!(gpu.live_bytes(), 0);
}

#[test]
fn dropped_buffers_count_until_the_device_is_done_with_them() {
    let Some(gpu) = require_adapter() else { return };
    let counted = || gpu.device().get_internal_counters().hal.buffer_memory.read() as u64;
    let (readings, used) = metered(&gpu, || {
        let before = counted();
        let adder = crate::support::Adder::new(&gpu, MIB);
        // Long enough that the device is still busy when the next buffer is created.
        let is_software = gpu.facts().kind == perfharness_gpu::AdapterKind::Software;
        let rounds = if is_software { 3_000 } else { 300_000 };
        gpu.write_buffer(&adder.params, &[7_u32, rounds, 0, 0]).unwrap();
        let groups = adder.groups();
        gpu.commands("long").dispatch(&adder.kernel, groups).submit().unwrap();
        drop(adder);
        let live = gpu.live_bytes();
        let next = gpu.buffer("next", MIB).unwrap();
        let held = counted() - before;
        let peak = gpu.peak_bytes();
        gpu.fence().unwrap();
        let after = gpu.buffer("after the fence", 2 * MIB).unwrap();
        assert_eq!(gpu.peak_bytes(), peak, "the fence freed the 8 MiB");
        drop((next, after));
        assert_eq!(live, 0, "nobody holds them");
        (held, peak)
    });
    let (held, peak) = used;
    assert_eq!(peak, 9 * MIB + 16, "two buffers, the parameters, and the next one");
    assert_eq!(value(&readings, DEVICE_PEAK), peak as f64);
    if gpu.facts().backend != "metal" {
        // An allocation is rounded up to its alignment.
        assert!((peak..=peak + 4 * 64 * 1024).contains(&held), "ours {peak}, wgpu's {held}");
    }
}

#[test]
fn buffers_of_finished_commands_are_freed_at_once() {
    let Some(gpu) = require_adapter() else { return };
    let (readings, ()) = metered(&gpu, || {
        for _ in 0..10 {
            let buffer = gpu.upload("uploaded", &vec![1_u8; MIB as usize]).unwrap();
            gpu.read::<u32>(&buffer).unwrap();
        }
    });
    assert_eq!(value(&readings, DEVICE_PEAK), (3 * MIB) as f64, "the buffer, its staging and its readback");
}
