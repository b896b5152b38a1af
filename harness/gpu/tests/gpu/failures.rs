//! Tests that failures become outcomes and never panics. They need an adapter.

use perfharness_contract::Failure;
use perfharness_gpu::{GpuError, gpu_metrics, wgpu};

use crate::support::{Adder, metered, require_adapter};

#[test]
fn a_buffer_larger_than_the_adapter_has_is_out_of_memory() {
    let Some(gpu) = require_adapter() else { return };
    for bytes in [gpu.facts().max_buffer_bytes.saturating_add(1), u64::MAX, u64::MAX - 3] {
        let refused = gpu.buffer("one-hot", bytes).map_err(Failure::from);
        assert!(matches!(refused, Err(Failure::OutOfMemory(reason)) if reason.contains("`one-hot`")));
    }
    assert!(matches!(gpu.buffer_for::<f32>("one-hot", u64::MAX), Err(GpuError::OutOfMemory(_))));
    assert_eq!(gpu.live_bytes(), 0);
    gpu.buffer("small", 16).unwrap();
}

#[test]
fn what_wgpu_objects_to_is_a_failure_with_its_words() {
    let Some(gpu) = require_adapter() else { return };
    let buffer = gpu.buffer("buffer", 64).unwrap();
    let read_only = gpu.buffer_with("read only", 64, wgpu::BufferUsages::COPY_SRC).unwrap();
    let error = gpu.commands("copy").copy(&buffer, &read_only).submit().unwrap_err();
    let GpuError::Invalid(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("read only") && text.contains("COPY_DST") && !text.contains('\n'), "{text}");
    assert!(matches!(Failure::from(error), Failure::Failed(_)));
    // The error is reported once, and the device stays usable.
    let adder = Adder::new(&gpu, 64);
    gpu.commands("add").dispatch(&adder.kernel, [1, 1, 1]).submit().unwrap();
    assert_eq!(gpu.read::<u32>(&adder.output).unwrap(), [7; 64]);
}

#[test]
fn the_first_mistake_is_told_and_nothing_is_submitted() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 64);
    let error = gpu
        .commands("add")
        .dispatch(&adder.kernel, [1, 1, 1])
        .dispatch(&adder.kernel, [1, u32::MAX, 1])
        .upload(&adder.input, &[0_u32; 63])
        .submit()
        .unwrap_err();
    assert!(
        error.to_string().contains("pipeline `add`") && error.to_string().contains("Pipeline::groups"),
        "{error}"
    );
    assert_eq!(gpu.read::<u32>(&adder.output).unwrap(), [0; 64]);
}

#[test]
fn a_broken_shader_is_told_with_its_place() {
    let Some(gpu) = require_adapter() else { return };
    let error =
        gpu.pipeline("broken", "@compute @workgroup_size(1)\nfn main() { let x = y; }", "main").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`broken`") && text.contains("2:21") && text.contains('y'), "{text}");
}

#[test]
fn a_shader_that_asks_too_much_of_the_adapter_skips() {
    let Some(gpu) = require_adapter() else { return };
    let [bytes, invocations] = [gpu.facts().workgroup_bytes, gpu.facts().max_invocations];
    for (tile, size) in [(1, invocations + 1), (bytes / 4 + 1, 1)] {
        let source = format!(
            "var<workgroup> tile: array<u32, {tile}>;
             @group(0) @binding(0) var<storage, read_write> out: u32;
             @compute @workgroup_size({size}) fn main() {{ tile[out] = 1; out = tile[0]; }}"
        );
        let refused = gpu.pipeline("large", &source, "main").map(|_| ()).map_err(Failure::from);
        let Err(Failure::Unavailable(reason)) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("`large`"), "{reason}");
    }
}

#[test]
fn a_lost_device_fails_and_keeps_failing() {
    let Some(gpu) = require_adapter() else { return };
    let adder = Adder::new(&gpu, 64);
    gpu.device().destroy();
    for _ in 0..2 {
        // wgpu silently accepts commands for a lost device; the wait reports the loss.
        let outcome = gpu.commands("add").dispatch(&adder.kernel, [1, 1, 1]).submit().and_then(|s| s.wait());
        assert!(matches!(outcome, Err(GpuError::Lost(_))), "{outcome:?}");
    }
    assert!(matches!(gpu.buffer("late", 64), Err(GpuError::Lost(_))));
    assert!(matches!(gpu.read::<u32>(&adder.output), Err(GpuError::Lost(_))));
    let (readings, ()) = metered(&gpu, || ());
    assert_eq!(readings.len(), gpu_metrics().len());
}
