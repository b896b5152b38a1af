//! Tests the moments, the lines and the exact counts.

use perfharness_contract::testing::exact_counts;
use proptest::prelude::*;

use super::*;
use crate::progress::report::{FILE_WRITE_BYTES, FILE_WRITES};

/// Runs a loop of three images, and returns its lines.
fn lines(when: When, passes: usize) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(1, "none", folder.path());
    let mut placement = Passes::new(when, &Params { images: 3, passes }, &setup).unwrap();
    for round in 0..2 {
        placement.load(round).unwrap();
        placement.run(0).unwrap();
        assert!(placement.check(0).unwrap().passed, "{when:?}");
    }
    let text = std::fs::read_to_string(folder.path().join("progress")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_loop_shows_the_passes_that_are_due() {
    assert!(lines(When::Never, 4).is_empty());
    assert_eq!(lines(When::EachPass, 3), ["pass 1/3", "pass 2/3", "pass 3/3"]);
    assert_eq!(lines(When::Every(50), 101), ["pass 50/101", "pass 100/101", "pass 101/101"]);
    assert_eq!(lines(When::Every(50), 50), ["pass 50/50"]);
    assert_eq!(lines(When::Every(50), 640).len(), 13);
    let items = lines(When::EachItem, 2);
    assert_eq!((items.len(), items[4].as_str()), (6, "pass 2/2, image 2/3"));
}

fn feature() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -1.0_f32..1.0, 1 => Just(0.0), 1 => Just(f32::MIN_POSITIVE), 1 => Just(1.0)]
}

fn moments(features: &[f32], passes: usize) -> Vec<f64> {
    let images = features.len() / FEATURES;
    let mut moments = Moments::new(images);
    for _ in 0..passes {
        (0..images).for_each(|image| moments.add(features, image));
        moments.end_pass();
    }
    moments.results()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moments_agree_with_their_definition(
        values in prop::collection::vec(feature(), 7..50),
        images in 1..6_usize,
        passes in 1..70_usize,
    ) {
        let features: Vec<f32> = values.iter().copied().cycle().take(images * FEATURES).collect();
        let check = Check::compare(&reference(&features, passes), &moments(&features, passes), TOLERANCE);
        prop_assert!(check.passed, "{:?}", check.message);
    }
}

#[test]
fn a_constant_has_no_variance_and_what_is_not_finite_stays_so() {
    let of = |value| {
        let results = moments(&[value; FEATURES], 5);
        (results[0], results[FEATURES])
    };
    assert_eq!(of(0.5), (0.5, 0.0));
    for value in [f32::NAN, f32::INFINITY] {
        let (mean, variance) = of(value);
        assert!(!mean.is_finite() && variance.is_nan());
    }
}

#[test]
fn the_check_finds_a_stale_result_and_a_lost_pass() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(1, "none", folder.path());
    let mut placement = Passes::new(When::EachPass, &Params { images: 3, passes: 64 }, &setup).unwrap();
    placement.load(0).unwrap();
    placement.run(1).unwrap();
    assert!(placement.check(1).unwrap().passed);
    assert!(!placement.check(2).unwrap().passed, "the result of another input");
    placement.params.passes = 63;
    assert!(!placement.check(1).unwrap().passed, "one pass more than is due");
}

#[test]
fn each_line_is_one_write() {
    for (variant, lines) in [(SLOW, 0), (DOCUMENTED, 64), (EACH_ITEM, 1280), (OPTIMIZED, 2)] {
        let counts = exact_counts(&workload(), "n20-p64", variant);
        assert_eq!(counts[ITEMS], 1280.0, "{variant}");
        assert_eq!(counts.get(FILE_WRITES).copied().unwrap_or(0.0), f64::from(lines), "{variant}");
    }
    let bytes = |variant| exact_counts(&workload(), "n20-p64", variant)[FILE_WRITE_BYTES];
    // "pass 1/64\n" has 10 bytes; the numbers from 10 on have one more digit.
    assert_eq!((bytes(DOCUMENTED), bytes(OPTIMIZED)), (9.0 * 10.0 + 55.0 * 11.0, 22.0));
}
