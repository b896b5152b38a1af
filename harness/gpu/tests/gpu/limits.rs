//! Tests of adapters with smaller bindings, and of work that is divided to fit. They need an adapter.

use perfharness_contract::Failure;
use perfharness_gpu::{GpuError, GpuOptions, wgpu};

use crate::support::{ADD, require_adapter, require_adapter_with};

const LIMIT: u64 = 16 << 20;

#[test]
fn work_is_cut_into_what_can_be_bound() {
    let options = GpuOptions { max_binding_bytes: Some(LIMIT), ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    assert_eq!((gpu.max_binding(), gpu.facts().max_binding_bytes), (LIMIT, LIMIT));
    let count = 3 * (LIMIT / 4) + 10;
    let input = gpu.buffer_for::<u32>("input", count).unwrap();
    let output = gpu.buffer_for::<u32>("output", count).unwrap();
    let params = gpu.uniform("params", &[9_u32, 0, 0, 0]).unwrap();
    let pipeline = gpu.pipeline("add", ADD, "main").unwrap();
    let whole = pipeline.bind([("input", &input), ("output", &output), ("params", &params)]);
    assert!(
        matches!(whole, Err(GpuError::Invalid(text)) if text.contains("`input`") && text.contains("Gpu::chunks"))
    );
    let chunks = gpu.chunks(count, 4).unwrap();
    assert_eq!(chunks.len(), 4);
    let mut commands = gpu.commands("add in chunks");
    for chunk in chunks {
        let items = chunk.end - chunk.start;
        let bound = pipeline
            .bind([
                ("input", input.range::<u32>(chunk.clone())),
                ("output", output.range::<u32>(chunk)),
                ("params", (&params).into()),
            ])
            .unwrap();
        commands.dispatch(&bound, bound.groups(items));
    }
    commands.submit().unwrap();
    let tail = gpu.read::<u32>(output.range::<u32>(count - 20..count)).unwrap();
    assert_eq!(tail, [9; 20]);
    assert_eq!(gpu.chunks_within(1 << 20, count, 4).unwrap().len(), 49);
    assert!(matches!(gpu.require_binding(LIMIT + 4).map_err(Failure::from), Err(Failure::Unavailable(_))));
}

#[test]
fn a_feature_that_is_not_there_skips_with_its_name() {
    let Some(gpu) = require_adapter() else { return };
    gpu.require(wgpu::Features::empty()).unwrap();
    let refused = gpu.require(wgpu::Features::EXPERIMENTAL_RAY_QUERY).map_err(Failure::from);
    let Err(Failure::Unavailable(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("ray-query") && reason.contains(&gpu.facts().name), "{reason}");
}
