//! Tests that right results pass and wrong ones are found.

use perfharness_contract::Setup;
use perfharness_gpu::GpuOptions;
use perfharness_gpu::testing::{require_adapter, require_adapter_with};

use super::*;
use crate::dims::FEATURES;
use crate::encoder::Sink;
use crate::moments::{Moments, Sums, snapshots};
use crate::plan::Plan;
use crate::tensor::Tensor;

/// Runs all variants on a case, and checks two iterations of each.
fn all_are_right(gpu: &Gpu, params: &Params) {
    variants_are_right(gpu, params, &VARIANTS);
}

pub(super) fn variants_are_right(gpu: &Gpu, params: &Params, variants: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), params.images);
    for variant in variants {
        let Some(mut placed) = place_if_able(gpu, variant, params, &files) else { continue };
        for round in 1..3 {
            placed.load(round).unwrap();
            placed.run(round).unwrap();
            placed.fence().unwrap();
            let check = placed.check(round).unwrap();
            assert!(check.passed, "{variant}, {params:?}: {:?}", check.message);
        }
    }
}

#[test]
fn every_variant_is_right_whatever_the_batches() {
    let Some(gpu) = require_adapter() else { return };
    for (images, batch) in [(1, 1), (1, 64), (3, 1), (5, 2), (4, 4)] {
        all_are_right(&gpu, &params(images, 5, 1, batch));
    }
    all_are_right(&gpu, &params(2, 1, 1, 2));
    all_are_right(&gpu, &params(2, 4, 3, 2));
    all_are_right(&gpu, &params(2, 17, 2, 1).in_separate_runs());
}

#[test]
fn every_variant_is_right_with_larger_images_and_many_passes() {
    let Some(gpu) = require_adapter() else { return };
    all_are_right(&gpu, &Params::new(384, 2, 4, 1, 2, BUDGET));
    all_are_right(&gpu, &params(1, 64, 1, 1));
}

#[test]
fn the_large_encoder_is_right_and_a_stale_result_is_found() {
    let Some(gpu) = require_adapter() else { return };
    let size = vit::Size { width: 128, layers: 2 };
    let case = params(3, 5, 2, 2).with_encoder(size);
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 3);
    for variant in [SLOW, DOCUMENTED, OPTIMIZED, UNIFIED] {
        let Some(mut placed) = place_if_able(&gpu, variant, &case, &files) else { continue };
        placed.load(1).unwrap();
        // Two batches of two kernels before the layers, nine in each, and the head.
        let dispatches = reading(&metered(&gpu, &mut *placed, 0), metric::DISPATCHES);
        assert_eq!(dispatches, 2.0 * 5.0 * (2.0 * (2.0 + 9.0 * 2.0 + 1.0) + 1.0), "{variant}");
        let check = placed.check(0).unwrap();
        assert!(check.passed, "{variant}: {check:?}");
        assert!(!placed.check(1).unwrap().passed, "{variant}");
    }
}

#[test]
fn pixels_that_do_not_fit_are_streamed() {
    let Some(gpu) = require_adapter() else { return };
    let small = Params::new(224, 5, 5, 1, 2, 2_600_000);
    all_are_right(&gpu, &small);
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 5);
    let bytes = |variant: &str| {
        let mut placed = place(&gpu, variant, &small, &files).unwrap();
        placed.load(1).unwrap();
        reading(&metered(&gpu, &mut *placed, 0), metric::UPLOAD_BYTES)
    };
    let keys = f64::from(4 * (5 + 1));
    for variant in [DOCUMENTED, OPTIMIZED] {
        assert_eq!(bytes(variant), 5.0 * small.pixel_bytes as f64 + keys, "{variant}");
    }
    // Tokens take the place of the pixels after the first pass.
    assert_eq!(bytes(PREFIX_ONCE), small.pixel_bytes as f64 + keys);
    let Err(Failure::Unavailable(reason)) = place(&gpu, UNIFIED, &small, &files) else {
        panic!("pixels beyond the budget were placed")
    };
    assert!(!reason.is_empty());
}

#[test]
fn an_adapter_with_small_bindings_gets_more_batches_and_the_same_result() {
    let options = GpuOptions { max_binding_bytes: Some(16 << 20), ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    let case = params(30, 4, 1, 64);
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 4);
    for (variant, syncs) in [(SLOW, 4.0 * 2.0), (DOCUMENTED, 4.0 * 2.0), (OPTIMIZED, 1.0)] {
        let mut placed = place(&gpu, variant, &case, &files).unwrap();
        placed.load(1).unwrap();
        let readings = metered(&gpu, &mut *placed, 0);
        // 16 MiB hold 27 images of 602,112 bytes, so each pass has two batches of four kernels.
        assert_eq!(reading(&readings, metric::DISPATCHES), 4.0 * (2.0 * 4.0 + 1.0), "{variant}");
        assert_eq!(reading(&readings, SYNCS), syncs, "{variant}");
        assert!(placed.check(0).unwrap().passed, "{variant}");
    }
}

#[test]
fn an_adapter_without_timestamps_gives_the_same_result() {
    let options = GpuOptions { hide_timestamps: true, ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 2);
    for variant in [SLOW, DOCUMENTED, OPTIMIZED] {
        let mut placed = place(&gpu, variant, &params(2, 4, 1, 2), &files).unwrap();
        placed.load(1).unwrap();
        let readings = metered(&gpu, &mut *placed, 0);
        assert!(readings[metric::GPU_BUSY].value().is_none(), "{variant}");
        assert!(placed.check(0).unwrap().passed, "{variant}");
    }
}

#[test]
fn the_result_of_another_iteration_is_found() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    // A single image, so that only the masks distinguish the iterations.
    let files = made(folder.path(), 1);
    for variant in VARIANTS {
        let Some(mut placed) = place_if_able(&gpu, variant, &params(1, 64, 1, 1), &files) else { continue };
        placed.load(1).unwrap();
        placed.run(0).unwrap();
        assert!(placed.check(0).unwrap().passed, "{variant}");
        assert!(!placed.check(1).unwrap().passed, "{variant}: the next iteration's");
        placed.load(2).unwrap();
        assert!(!placed.check(0).unwrap().passed, "{variant}: the next round's");
    }
}

/// Fails to advance to the next pass once, so that the masks of one pass are used twice and the last ones never.
struct Stale {
    gpu: Gpu,
    tensor: Tensor,
    encoder: encoder::Encoder,
    passes: u64,
    repeated: u64,
}

impl Variant for Stale {
    fn run(&mut self, order: &[usize], key: u32) -> Result<Vec<Moments>, Failure> {
        self.tensor.load(order)?;
        let batch = self.encoder.bind(self.tensor.buffer(0), &(0..order.len()))?;
        let mut sums = Sums::new(order.len() * FEATURES);
        let mut result = Vec::new();
        for pass in 0..self.passes {
            let mut commands = self.gpu.commands("pass");
            if pass == 0 {
                self.encoder.start_trial(&mut commands, key, 0, self.passes);
            }
            self.encoder.forward(&mut commands, &batch);
            if pass + 1 != self.repeated {
                self.encoder.end_pass(&mut commands);
            }
            commands.submit()?;
            sums.add(0, self.gpu.read::<f32>(&self.encoder.output)?.into_iter().map(f64::from));
            if snapshots(self.passes).contains(&(pass + 1)) {
                result.push(sums.moments(pass + 1));
            }
        }
        Ok(result)
    }

    fn plan(&self) -> &Plan {
        &self.tensor.plan
    }
}

#[test]
fn one_pass_of_many_with_the_masks_of_another_is_found() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 1);
    let params = params(1, 64, 1, 1);
    let setup = Setup::new(1, "auto", ".");
    for tolerance in [SINGLE, STORED_IN_HALF] {
        for (repeated, right) in [(0, true), (40, false)] {
            let make = |kit: &Kit| {
                let tensor = Tensor::new(kit, Storage::Single, 1)?;
                let encoder = kit.encoder(1, Storage::Single, Sink::Features, Kernels::Four)?;
                Ok(Stale { gpu: kit.gpu.clone(), tensor, encoder, passes: 64, repeated })
            };
            let mut placed =
                Trials::with_folder(gpu.clone(), &params, &setup, tolerance, &files, make).unwrap();
            placed.load(1).unwrap();
            placed.run(0).unwrap();
            let check = placed.check(0).unwrap();
            assert_eq!(check.passed, right, "pass {repeated}, {tolerance:?}: {:?}", check.error);
        }
    }
}

#[test]
fn missing_statistics_are_found() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), 2);
    let setup = Setup::new(1, "auto", ".");
    let make = |kit: &Kit| Optimized::new(kit, Storage::Single, Kernels::Four);
    let mut placed = Trials::with_folder(gpu, &params(2, 4, 2, 2), &setup, SINGLE, &files, make).unwrap();
    placed.load(1).unwrap();
    placed.run(0).unwrap();
    placed.result.pop();
    assert!(!placed.check(0).unwrap().passed);
}

#[test]
fn over_the_rounds_every_image_is_checked_even_where_samples_have_one_iteration() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let few = params(6, 64, 2, 2);
    let folder = made(folder.path(), few.images);
    let setup = Setup::new(1, "auto", ".");
    let slow = Slow::new;
    let mut trials = Trials::with_folder(gpu, &few, &setup, SINGLE, &folder, slow).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..60 {
        trials.load(round).unwrap();
        seen.extend(trials.checked(0));
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}
