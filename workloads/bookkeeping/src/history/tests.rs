//! Tests every history against a plain list of all steps, and its exact counts.

use perfharness_contract::testing::exact_counts;
use proptest::prelude::*;

use super::*;

/// Pushes steps, and returns the windows after the given numbers of steps.
fn windows<H: History>(steps: &[Step], at: &[usize]) -> Vec<Vec<Step>> {
    let mut history = H::default();
    let mut windows = vec![history.window()];
    for (done, step) in (1..).zip(steps) {
        history.push(step);
        if at.contains(&done) {
            windows.push(history.window());
        }
    }
    windows
}

fn bits(windows: &[Vec<Step>]) -> Vec<Vec<[u64; KEYS]>> {
    windows.iter().map(|window| window.iter().map(|step| step.map(f64::to_bits)).collect()).collect()
}

fn assert_all_agree(steps: &[Step], at: &[usize]) {
    let all = std::iter::once(0).chain(at.iter().copied());
    let due: Vec<_> = all.map(|end| steps[end.saturating_sub(WINDOW)..end].to_vec()).collect();
    for (variant, windows) in [
        (SLOW, windows::<Blocks>(steps, at)),
        (DOCUMENTED, windows::<Tail>(steps, at)),
        (OPTIMIZED, windows::<Ring>(steps, at)),
    ] {
        assert_eq!(bits(&windows), bits(&due), "{variant}");
    }
}

#[test]
fn a_window_is_the_last_thousand_steps() {
    let steps: Vec<Step> =
        (0..3500).map(|i| std::array::from_fn(|key| f64::from(i) + key as f64 / 8.0)).collect();
    assert_all_agree(&steps, &[1, 2, 999, 1000, 1001, 1999, 2000, 2001, 3500]);
    assert_all_agree(
        &vec![[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX]; 1003],
        &[1, 1000, 1003],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_agrees_on_any_bits(
        seeds in prop::collection::vec(any::<[f64; KEYS]>(), 1..20),
        steps in 0..2500_usize,
    ) {
        let steps: Vec<Step> =
            seeds.iter().cycle().take(steps).enumerate().map(|(i, seed)| seed.map(|value| value * i as f64)).collect();
        if !steps.is_empty() {
            assert_all_agree(&steps, &[steps.len()]);
        }
    }
}

#[test]
fn the_check_finds_a_stale_history_and_a_lost_step() {
    let setup = Setup::new(1, "none", ".");
    let mut placement = Training::<Ring>::new(&Params { steps: 1000 }, &setup);
    placement.load(0).unwrap();
    for index in 0..6 {
        placement.run(index).unwrap();
        assert!(placement.check(index).unwrap().passed);
    }
    assert!(!placement.check(6).unwrap().passed, "the history of another input");
    placement.history.push(&[0.5; KEYS]);
    assert!(!placement.check(5).unwrap().passed, "one step more");
}

#[test]
fn only_the_document_copies() {
    for (variant, copied) in [(SLOW, 0.0), (DOCUMENTED, 40e6), (OPTIMIZED, 0.0)] {
        let counts = exact_counts(&workload(), "s1000", variant);
        assert_eq!(counts[VALUES], 5000.0, "{variant}");
        assert_eq!(counts.get(COPIED_BYTES).copied().unwrap_or(0.0), copied, "{variant}");
    }
}
