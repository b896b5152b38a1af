//! Tests of everything around the device, on wgpu's backend that executes nothing.

use perfharness_contract::{Failure, Setup};
use perfharness_gpu::metric::GPU_BUSY;
use perfharness_gpu::{AdapterKind, Gpu, GpuError, GpuOptions, gpu_metrics};

use crate::support::{Adder, absence, counted, metered};

fn noop() -> Gpu {
    Gpu::new("noop", &GpuOptions::default()).unwrap()
}

#[test]
fn a_setup_chooses_the_device_and_gets_its_meter() {
    let gpu = Gpu::open(&Setup::new(1, "noop", ".")).unwrap();
    assert_eq!(gpu.facts().kind, AdapterKind::Noop);
    let refused = Gpu::open(&Setup::new(1, "none", ".")).map_err(Failure::from);
    assert!(matches!(refused, Err(Failure::Unavailable(reason)) if reason.contains("--device auto")));
    let refused = Gpu::open(&Setup::new(1, "no such adapter", ".")).map_err(Failure::from);
    assert!(matches!(refused, Err(Failure::Unavailable(_))));
}

#[test]
fn a_metered_sample_has_a_reading_of_every_metric() {
    let gpu = noop();
    let adder = Adder::new(&gpu, 1000);
    let (readings, ()) = metered(&gpu, || {
        gpu.commands("step")
            .upload(&adder.input, &[1_u32; 1000])
            .dispatch(&adder.kernel, [1, 1, 1])
            .submit()
            .unwrap();
        gpu.read::<u32>(&adder.output).unwrap();
    });
    let defined: Vec<String> = gpu_metrics().into_iter().map(|m| m.id.to_string()).collect();
    let mut sorted = defined.clone();
    sorted.sort();
    assert_eq!(readings.keys().cloned().collect::<Vec<_>>(), sorted);
    // Its timestamps are never written: 3 spans are missing, which must not become a time of 0.
    assert!(absence(&readings, GPU_BUSY).starts_with("3 of 3 spans did not come back"), "{readings:?}");
}

#[test]
fn only_what_is_submitted_counts_and_only_while_metered() {
    let gpu = noop();
    let adder = Adder::new(&gpu, 16);
    let (readings, ()) = metered(&gpu, || {
        gpu.commands("given up").upload(&adder.input, &[1_u32; 16]).dispatch(&adder.kernel, [1, 1, 1]);
    });
    assert_eq!(counted(&readings), [("buffer-creates", 1.0)].into());
    gpu.commands("timed").upload(&adder.input, &[1_u32; 16]).submit().unwrap().wait().unwrap();
    let (readings, ()) = metered(&gpu, || ());
    assert_eq!(counted(&readings), [].into());
}

#[test]
fn commands_recorded_before_a_sample_make_its_device_time_absent() {
    let gpu = noop();
    let adder = Adder::new(&gpu, 16);
    let mut commands = gpu.commands("early");
    commands.dispatch(&adder.kernel, [1, 1, 1]);
    let (readings, ()) = metered(&gpu, || {
        commands.submit().unwrap();
    });
    assert!(absence(&readings, GPU_BUSY).contains("recorded before the sample"));
}

#[test]
fn a_list_can_be_filled_again_after_its_submit() {
    let gpu = noop();
    let adder = Adder::new(&gpu, 16);
    let mut commands = gpu.commands("steps");
    let (readings, ()) = metered(&gpu, || {
        for _ in 0..3 {
            commands.dispatch(&adder.kernel, [1, 1, 1]).submit().unwrap();
        }
    });
    assert_eq!(counted(&readings), [("dispatches", 3.0), ("submits", 3.0)].into());
}

#[test]
fn more_spans_than_a_query_set_holds_all_come_back_as_expected() {
    let gpu = noop();
    let adder = Adder::new(&gpu, 16);
    let (readings, ()) = metered(&gpu, || {
        for _ in 0..3000 {
            gpu.commands("step").dispatch(&adder.kernel, [1, 1, 1]).submit().unwrap();
        }
        let mut many = gpu.commands("many");
        for _ in 0..1500 {
            many.dispatch(&adder.kernel, [1, 1, 1]).clear(&adder.output);
        }
        many.submit().unwrap();
    });
    assert!(absence(&readings, GPU_BUSY).starts_with("6000 of 6000 spans"), "{readings:?}");
}

#[test]
fn a_readback_tells_what_is_wrong_with_its_use() {
    let gpu = noop();
    let source = gpu.buffer_for::<f32>("source", 4).unwrap();
    let mut readback = gpu.readback::<f32>("metrics", 4).unwrap();
    let text = readback.wait().unwrap_err().to_string();
    assert_eq!(text, "the buffer `metrics` has nothing to wait for");
    let mut commands = gpu.commands("x");
    commands.download(source.range::<f32>(0..3), &mut readback);
    assert!(readback.wait().unwrap_err().to_string().contains("not submitted"));
    commands.submit().unwrap();
    let error = gpu.commands("y").download(&source, &mut readback).submit().unwrap_err();
    assert!(error.to_string().contains("not read yet"), "{error}");
    assert_eq!(readback.wait().unwrap().len(), 3);
    let error = gpu
        .commands("z")
        .download(&source, &mut readback)
        .download(source.range::<f32>(0..1), &mut readback)
        .submit()
        .unwrap_err();
    assert!(error.to_string().contains("cannot take 4 bytes after byte 16"), "{error}");
    // After a failed submit it is free again.
    gpu.commands("again").download(&source, &mut readback).submit().unwrap();
    assert_eq!(readback.poll().unwrap().map(|v| v.len()), Some(4));
}

#[test]
fn staging_slots_go_round_and_may_be_given_up() {
    let gpu = noop();
    let target = gpu.buffer_for::<u32>("target", 4).unwrap();
    let mut staging = gpu.staging("staging", 16, 2).unwrap();
    for _ in 0..5 {
        gpu.commands("x").upload_through(&mut staging, &target, &[1_u32; 4]).submit().unwrap();
        gpu.commands("given up").upload_through(&mut staging, &target, &[1_u32; 4]);
    }
    let mut commands = gpu.commands("too many");
    for _ in 0..3 {
        commands.upload_through(&mut staging, &target, &[1_u32; 4]);
    }
    assert!(commands.submit().unwrap_err().to_string().contains("more uploads in one submit than slots"));
    let small = gpu.commands("x").upload_through(&mut staging, &target, &[1_u32; 3]).submit();
    assert!(
        matches!(small, Err(GpuError::Invalid(text)) if text.contains("12 bytes of data do not fit 16 bytes"))
    );
}

#[test]
fn bindings_are_checked_by_name_and_size() {
    let gpu = noop();
    let pipeline = gpu.pipeline("add", crate::support::ADD, "main").unwrap();
    let data = gpu.buffer_for::<u32>("data", 256).unwrap();
    let params = gpu.uniform("params", &[0_u32; 4]).unwrap();
    let small = gpu.uniform("small", &[0_u32; 2]).unwrap();
    let error = |bindings: &[(&str, perfharness_gpu::Slice<'_>)]| {
        pipeline.bind(bindings.iter().copied()).map(|_| ()).unwrap_err().to_string()
    };
    let (d, p) = ((&data).into(), (&params).into());
    assert_eq!(error(&[("input", d), ("params", p)]), "pipeline `add`, binding `output`: is not bound");
    let text = error(&[("input", d), ("output", d), ("params", (&small).into())]);
    assert_eq!(text, "pipeline `add`, binding `params`: needs 16 bytes, and `small` gives 8");
    let text = error(&[("input", d), ("output", d), ("params", p), ("extra", d)]);
    assert!(text.contains("`extra`") && text.contains("input, output, params"), "{text}");
    let text = error(&[("input", data.range::<u32>(200..300)), ("output", d), ("params", p)]);
    assert!(text.contains("400 bytes from byte 800 on are not in the buffer `data`"), "{text}");
}

#[test]
fn sizes_that_are_no_whole_words_are_kept_and_copied_up_to_the_word() {
    let gpu = noop();
    let bytes = gpu.upload("bytes", &[1_u8, 2, 3, 4, 5]).unwrap();
    assert_eq!((bytes.bytes(), bytes.count::<u8>(), gpu.live_bytes()), (5, 5, 8));
    assert_eq!(gpu.read::<u8>(&bytes).unwrap().len(), 5);
    let error = gpu.commands("x").clear(bytes.range::<u8>(0..3)).submit().unwrap_err();
    assert!(error.to_string().contains("multiples of 4"), "{error}");
    assert!(matches!(gpu.buffer("empty", 0), Err(GpuError::Invalid(_))));
}
