//! Tests of the fast computation against the golden data and the definition.

use proptest::prelude::*;

use super::edges::{noise, settings, usual};
use super::golden::{CASES, F64_TOLERANCE, Golden, assert_close};
use crate::{Band, Normalisation, PacError, Plan, Scalar, Settings, Shape, oracle};

/// Allowed deviation of an index in f32, if no sample is near the edge of a bin.
const F32_TOLERANCE: f64 = 1e-6;

fn fast<T: Scalar>(settings: &Settings, shape: Shape, x: &[f64], threads: usize) -> Vec<f64> {
    let x: Vec<T> = x.iter().map(|&x| T::narrow(x)).collect();
    let mut index = vec![-1.0; settings.indexes(shape.channels)];
    Plan::new(settings, shape, threads).unwrap().index(&x, &mut index).unwrap();
    index
}

#[test]
fn both_precisions_give_the_golden_indexes_and_their_nans() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let due = golden.file::<f64>("mi.npy");
        let in_f64 = fast::<f64>(&golden.settings, golden.shape, &golden.wide(), 1);
        assert_close(case, &in_f64, &due, F64_TOLERANCE);
        let in_f32 = fast::<f32>(&golden.settings, golden.shape, &golden.wide(), 1);
        assert_close(case, &in_f32, &due, F32_TOLERANCE);
    }
}

#[test]
fn both_precisions_give_the_textbook_index() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Textbook);
        let due = golden.oracle().index;
        assert_close(
            case,
            &fast::<f64>(&golden.settings, golden.shape, &golden.wide(), 1),
            &due,
            F64_TOLERANCE,
        );
        assert_close(
            case,
            &fast::<f32>(&golden.settings, golden.shape, &golden.wide(), 1),
            &due,
            F32_TOLERANCE,
        );
    }
}

#[test]
fn threads_change_nothing() {
    for normalisation in [Normalisation::Textbook, Normalisation::Tensorpac] {
        let golden = Golden::open("medium", normalisation);
        let alone = fast::<f32>(&golden.settings, golden.shape, &golden.wide(), 1);
        for threads in [0, 2, 3, 100] {
            assert_eq!(fast::<f32>(&golden.settings, golden.shape, &golden.wide(), threads), alone);
        }
    }
}

#[test]
fn a_plan_remembers_nothing_of_earlier_calls() {
    let golden = Golden::open("small_wavelet", Normalisation::Tensorpac);
    let mut plan = Plan::new(&golden.settings, golden.shape, 1).unwrap();
    let mut index = vec![0.0; golden.settings.indexes(golden.shape.channels)];
    plan.index(&golden.wide(), &mut index).unwrap();
    let first = index.clone();
    let reversed: Vec<f64> = golden.wide().into_iter().rev().collect();
    plan.index(&reversed, &mut index).unwrap();
    assert_ne!(index, first);
    plan.index(&golden.wide(), &mut index).unwrap();
    assert_eq!(index, first);
}

#[test]
fn a_mean_far_from_zero_costs_no_digits() {
    let golden = Golden::open("small", Normalisation::Textbook);
    // A power of two, and the largest that f32 can add to these samples without rounding most of them.
    let x: Vec<f64> = golden.x.iter().map(|x| f64::from(x + 4096.0)).collect();
    let due = oracle(&golden.settings, golden.shape, &x).unwrap().index;
    assert_close("f64", &fast::<f64>(&golden.settings, golden.shape, &x, 1), &due, 1e-11);
    assert_close("f32", &fast::<f32>(&golden.settings, golden.shape, &x, 1), &due, F32_TOLERANCE);
}

#[test]
fn ends_of_what_is_allowed_agree_with_the_definition() {
    let nyquist = settings(Band::new(4.0, 8.0), Band::new(200.0, 256.0));
    let three_bands = Settings {
        phase: Band::adjoining(2.0, 20.0, 3),
        amplitude: Band::adjoining(60.0, 160.0, 3),
        ..usual()
    };
    for (what, settings, shape) in [
        ("a prime number of samples", usual(), Shape::new(1, 1009)),
        ("an odd padded length", usual(), Shape::new(1, 611)),
        ("a band up to half the sampling rate", nyquist, Shape::new(1, 700)),
        ("as few samples as can be", usual(), Shape::new(2, 4)),
        ("an odd number of bands", three_bands, Shape::new(3, 500)),
        ("an odd number of bins", Settings { bins: 7, ..usual() }, Shape::new(1, 500)),
        ("two bins", Settings { bins: 2, ..usual() }, Shape::new(1, 500)),
    ] {
        let x = noise(shape.len());
        let due = oracle(&settings, shape, &x).unwrap().index;
        assert_close(what, &fast::<f64>(&settings, shape, &x, 1), &due, 1e-11);
    }
}

#[test]
fn mistakes_are_the_same_as_those_of_the_definition() {
    let shape = Shape::new(2, 600);
    let mut plan = Plan::<f32>::new(&usual(), shape, 1).unwrap();
    let mut index = [7.0; 2];
    let mut x = vec![1.0; 1200];
    x[700] = f32::NAN;
    let error = plan.index(&x, &mut index).unwrap_err();
    assert_eq!(error, PacError::NotFinite { channel: 1, sample: 100, value: "NaN".into() });
    assert_eq!(index, [7.0; 2]);
    assert!(matches!(plan.index(&x[1..], &mut index), Err(PacError::Length { what: "samples", .. })));
    assert!(matches!(plan.index(&x, &mut index[1..]), Err(PacError::Length { what: "indexes", .. })));
    let refused = |shape| Plan::<f32>::new(&usual(), shape, 1).unwrap_err();
    assert_eq!(refused(Shape::new(1, 3)), PacError::TooFewSamples { samples: 3 });
    assert_eq!(refused(Shape::new(0, 600)), PacError::NoChannels);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_path_agrees_with_the_definition(
        samples in 4..400_usize,
        channels in 1..4_usize,
        lows in prop::collection::vec((1.0..60.0_f64, 2.0..80.0_f64), 2..6),
        bins in 2..24_usize,
        tensorpac: bool,
    ) {
        let bands: Vec<Band> = lows.iter().map(|&(lo, width)| Band::new(lo, lo + width)).collect();
        let (phase, amplitude) = bands.split_at(bands.len() / 2);
        let normalisation = if tensorpac { Normalisation::Tensorpac } else { Normalisation::Textbook };
        let settings = Settings {
            sf_hz: 400.0, phase: phase.to_vec(), amplitude: amplitude.to_vec(), bins, normalisation,
        };
        let shape = Shape::new(channels, samples);
        let x = noise(shape.len());
        let due = oracle(&settings, shape, &x).unwrap().index;
        assert_close("index", &fast::<f64>(&settings, shape, &x, 1), &due, 1e-10);
    }
}
