//! Tests of the limits of the input, and of the errors beyond them.

use crate::{Band, Normalisation, PacError, Settings, Shape, oracle};

pub(super) fn settings(phase: Band, amplitude: Band) -> Settings {
    Settings {
        sf_hz: 512.0,
        phase: vec![phase],
        amplitude: vec![amplitude],
        bins: 18,
        normalisation: Normalisation::Textbook,
    }
}

pub(super) fn usual() -> Settings {
    settings(Band::new(4.0, 8.0), Band::new(60.0, 90.0))
}

/// Returns a signal of noise.
pub(crate) fn noise(count: usize) -> Vec<f64> {
    let mut state = 7_u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / 2_147_483_648.0 - 1.0
    };
    (0..count).map(|_| draw()).collect()
}

#[test]
fn every_mistake_has_an_error_that_says_what_is_wrong() {
    let shape = Shape::new(1, 600);
    let x = noise(600);
    let told = |settings: &Settings, shape: Shape, x: &[f64]| oracle(settings, shape, x).unwrap_err();
    for (lo, hi) in
        [(0.0, 8.0), (-1.0, 8.0), (8.0, 8.0), (8.0, 4.0), (f64::NAN, 8.0), (4.0, f64::NAN), (4.0, 256.1)]
    {
        let error = told(&settings(Band::new(lo, hi), Band::new(60.0, 90.0)), shape, &x);
        assert!(matches!(error, PacError::Band { nyquist_hz: 256.0, .. }), "{lo} {hi}: {error}");
    }
    assert_eq!(
        told(&usual(), Shape::new(1, 3), &x[..3]).to_string(),
        "3 samples are too few for a filter; it needs at least 4"
    );
    assert_eq!(told(&usual(), Shape::new(0, 600), &[]), PacError::NoChannels);
    assert!(matches!(told(&usual(), shape, &x[1..]), PacError::Length { given: 599, due: 600, .. }));
    assert_eq!(told(&Settings { phase: vec![], ..usual() }, shape, &x), PacError::NoBands { which: "phase" });
    assert_eq!(
        told(&Settings { amplitude: vec![], ..usual() }, shape, &x),
        PacError::NoBands { which: "amplitude" }
    );
    for bins in [0, 1, 129] {
        assert_eq!(told(&Settings { bins, ..usual() }, shape, &x), PacError::Bins { bins });
    }
    for sf_hz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(told(&Settings { sf_hz, ..usual() }, shape, &x), PacError::Rate { .. }));
    }
}

#[test]
fn a_sample_that_is_no_number_is_named() {
    for (value, word) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let mut x = noise(1200);
        x[700] = value;
        let error = oracle(&usual(), Shape::new(2, 600), &x).unwrap_err();
        assert!(error.to_string().starts_with(&format!("sample 100 of channel 1 is {word};")), "{error}");
    }
}

#[test]
fn the_least_that_is_allowed_has_an_index() {
    let x = noise(4);
    let least = oracle(&usual(), Shape::new(1, 4), &x).unwrap();
    assert!(least.index[0].is_finite());
    let flat = oracle(&usual(), Shape::new(1, 600), &[0.0; 600]).unwrap();
    assert!(flat.index[0].is_nan(), "no amplitude has no distribution");
}
