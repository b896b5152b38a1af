//! Tests every variant against a reference on the host, and its exact counts. All tests need an adapter.

mod orders;

use std::collections::BTreeMap;

use perfharness_contract::testing::exact_counts;
use perfharness_contract::{Failure, Measured, Reading, Setup};
use perfharness_gpu::testing::{require_adapter, require_adapter_with};
use perfharness_gpu::{Gpu, GpuOptions};
use proptest::prelude::*;

use super::*;
use crate::documented::Documented;
use crate::optimized::Optimized;
use crate::slow::Slow;

const VARIANTS: [&str; 3] = [SLOW, DOCUMENTED, OPTIMIZED];

/// Creates a placement of a variant outside any case.
fn place(gpu: &Gpu, variant: &str, n: usize) -> Result<Box<dyn Remapping>, Failure> {
    let params = Params { n: n as u64, classes: 0, values: Values::Any };
    let setup = Setup::new(1, "auto", ".");
    Ok(match variant {
        SLOW => Box::new(Remap::new(gpu, &params, &setup, Slow::new)?),
        DOCUMENTED => Box::new(Remap::new(gpu, &params, &setup, Documented::new)?),
        _ => Box::new(Remap::new(gpu, &params, &setup, Optimized::new)?),
    })
}

/// A placement with labels that the test chooses.
trait Remapping: Measured {
    fn set(&mut self, pool: Vec<Vec<i32>>);
}

impl<V: remap::Variant> Remapping for Remap<V> {
    fn set(&mut self, pool: Vec<Vec<i32>>) {
        self.labels.set(pool).unwrap();
    }
}

/// Runs variants on labels, twice and with other labels in between, and checks each result.
fn remap_all(gpu: &Gpu, variants: &[&str], labels: &[i32]) {
    let reversed: Vec<i32> = labels.iter().rev().map(|label| label.wrapping_mul(3)).collect();
    for variant in variants {
        let mut placement = place(gpu, variant, labels.len()).unwrap();
        placement.set([labels, &reversed, labels, &reversed].map(<[i32]>::to_vec).into());
        for index in [0, 1, 2, 0] {
            placement.run(index).unwrap();
            let check = placement.check(index).unwrap();
            assert!(check.passed, "{variant}, {} labels, input {index}: {:?}", labels.len(), check.message);
        }
    }
}

fn labels(kind: u8, n: usize, seed: i32) -> Vec<i32> {
    let n = n as i32;
    let scatter = |i: i32| i.wrapping_mul(-1_640_531_527).wrapping_add(seed);
    match kind {
        0 => vec![seed; n as usize],
        1 => (0..n).map(scatter).collect(),
        2 => (0..n).map(|i| i - n / 2).collect(),
        3 => {
            (0..n).map(|i| [i32::MAX, i32::MIN, 0, -1, 1][(scatter(i).unsigned_abs() % 5) as usize]).collect()
        }
        4 => (0..n).map(|i| scatter(i) % 7).collect(),
        _ => (0..n).map(|i| scatter(i) % 1000).collect(),
    }
}

#[test]
fn ranks_are_dense_and_ascend() {
    assert_eq!(labels::dense_ranks(&[7, -3, 7, 90, i32::MIN]), [2, 1, 2, 3, 0]);
    assert!(labels::dense_ranks(&[]).is_empty());
}

#[test]
fn every_variant_ranks_every_kind_of_labels() {
    let Some(gpu) = require_adapter() else { return };
    for n in [0, 1, 2, 63, 1024, 1025, 2048, 2049, 4097] {
        for kind in 0..6 {
            // One pass per class would take long and show nothing more.
            let many = n > 1025 && [1, 2].contains(&kind);
            let variants = if many { &[SLOW, OPTIMIZED][..] } else { &VARIANTS };
            remap_all(&gpu, variants, &labels(kind, n, -5));
        }
    }
}

#[test]
fn many_labels_of_few_classes_are_ranked_by_every_variant() {
    let Some(gpu) = require_adapter() else { return };
    // Several tiles, the last of them not full.
    for kind in [0, 3, 4] {
        remap_all(&gpu, &VARIANTS, &labels(kind, 70_001, 3));
    }
}

#[test]
fn labels_of_more_classes_than_a_workgroup_holds_are_ranked_too() {
    let Some(gpu) = require_adapter() else { return };
    for kind in [1, 2] {
        remap_all(&gpu, &[OPTIMIZED], &labels(kind, 70_001, 3));
    }
    // The capacity of the set, and one more.
    for classes in [2048, 2049] {
        let few: Vec<i32> = (0..5000).map(|i| (i % classes) - 1000).collect();
        remap_all(&gpu, &[OPTIMIZED], &few);
    }
}

#[test]
fn many_classes_leave_nothing_behind_for_the_next_batch() {
    let Some(gpu) = require_adapter() else { return };
    let mut placement = place(&gpu, OPTIMIZED, 5000).unwrap();
    placement.set([1, 3, 2, 0].map(|kind| labels(kind, 5000, 9)).into());
    for index in [0, 1, 2, 3, 1, 0, 3, 2] {
        placement.run(index).unwrap();
        let check = placement.check(index).unwrap();
        assert!(check.passed, "input {index}: {:?}", check.message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_agrees_with_the_reference(
        values in prop::collection::vec(prop_oneof![any::<i32>(), -3..3_i32, Just(i32::MIN), Just(i32::MAX)], 0..1500),
    ) {
        if let Some(gpu) = require_adapter() {
            remap_all(&gpu, &VARIANTS, &values);
        }
    }
}

#[test]
fn a_rank_that_is_wrong_is_found() {
    let Some(gpu) = require_adapter() else { return };
    let mut placement = place(&gpu, OPTIMIZED, 100).unwrap();
    placement.set([4, 3, 4, 3].map(|kind| labels(kind, 100, 0)).into());
    placement.run(0).unwrap();
    assert!(placement.check(0).unwrap().passed);
    let stale = placement.check(1).unwrap();
    assert!(!stale.passed && stale.message.is_some(), "the ranks of another input passed");
}

#[test]
fn every_copy_and_sync_is_accounted_for() {
    let Some(_) = require_adapter() else { return };
    let workload = workload();
    for (case, n, classes, dispatches, sorting) in [
        ("b64", 64.0, 3.0, 1.0, 1.0),
        ("n4096", 4096.0, 6.0, 3.0, 27.0),
        ("n4096-c1000", 4096.0, 1000.0, 3.0, 27.0),
    ] {
        let expect = |counts: &[(&str, f64)]| -> BTreeMap<String, f64> {
            counts.iter().map(|(id, each)| ((*id).to_owned(), *each)).collect()
        };
        let read_back = |bytes| {
            [
                (metric::SYNCS, 1.0),
                (metric::SUBMITS, 2.0),
                (metric::DOWNLOAD_BYTES, bytes),
                (metric::DOWNLOAD_COPIES, 1.0),
                (LABELS, n),
            ]
        };
        let uploads = [(metric::UPLOAD_COPIES, 1.0), (metric::UPLOAD_BYTES, 4.0 * n)];
        let slow = [&read_back(4.0 * n)[..], &uploads].concat();
        assert_eq!(exact_counts(&workload, case, SLOW), expect(&slow), "{case}");
        // The number of classes is all that the host learns.
        let documented = [&read_back(4.0)[..], &[(metric::DISPATCHES, sorting + classes)]].concat();
        assert_eq!(exact_counts(&workload, case, DOCUMENTED), expect(&documented), "{case}");
        let optimized = [(metric::SUBMITS, 1.0), (metric::DISPATCHES, dispatches), (LABELS, n)];
        assert_eq!(exact_counts(&workload, case, OPTIMIZED), expect(&optimized), "{case}");
    }
}

#[test]
fn an_adapter_without_timestamps_gives_right_ranks_and_says_what_is_absent() {
    let options = GpuOptions { hide_timestamps: true, ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    for variant in VARIANTS {
        let mut placement = place(&gpu, variant, 3000).unwrap();
        placement.set(vec![labels(5, 3000, 1); 4]);
        let mut meter = gpu.meter();
        let mut readings = BTreeMap::new();
        meter.start();
        placement.run(0).unwrap();
        meter.stop(&mut readings);
        assert!(placement.check(0).unwrap().passed, "{variant}");
        for absent in [metric::GPU_BUSY, metric::GPU_BUSY_SHARE, metric::COPY_TIME] {
            assert!(matches!(&readings[absent], Reading::Absent { .. }), "{variant}: {absent}");
        }
        assert!(readings[metric::SUBMITS].value().is_some(), "{variant}");
    }
}

#[test]
fn an_adapter_with_small_bindings_says_what_it_lacks_where_the_device_computes() {
    let options = GpuOptions { max_binding_bytes: Some(16 << 20), ..GpuOptions::default() };
    let Some(gpu) = require_adapter_with(&options) else { return };
    let n = (16 << 20) / 4 + 1000;
    let mut placement = place(&gpu, SLOW, n).unwrap();
    placement.set(vec![labels(3, n, 1); 4]);
    placement.run(0).unwrap();
    assert!(placement.check(0).unwrap().passed);
    for variant in [DOCUMENTED, OPTIMIZED] {
        let Err(Failure::Unavailable(reason)) = place(&gpu, variant, n) else {
            panic!("{variant} bound {n} labels")
        };
        assert!(reason.contains("16777216") && reason.contains("--device"), "{reason}");
    }
}

#[test]
fn inputs_have_the_classes_that_their_case_says() {
    for case in workload().definition().cases.iter().filter(|case| case.params["n"].as_u64() <= Some(65_536))
    {
        let count = |id: &str| case.params[id].as_u64().unwrap();
        let values = if case.params["values"] == "source" { Values::Source } else { Values::Any };
        let params = Params { n: count("n"), classes: count("classes"), values };
        for round in 0..3 {
            let mut rng = perfharness_contract::input_rng(1, "label-remap", round);
            let labels = labels::draw(&params, &mut rng);
            let unique: std::collections::BTreeSet<_> = labels.iter().collect();
            assert_eq!((labels.len() as u64, unique.len() as u64), (params.n, params.classes), "{}", case.id);
        }
    }
}
