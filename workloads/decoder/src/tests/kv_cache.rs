//! Tests of `kv-cache`.

use perfharness_contract::Case;
use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::kv_cache::{Documented, Generation, Optimized, Params, Slow, define};

pub(super) fn params(model: Model, prompt: usize, answer: usize) -> Params {
    Params { model, prompt, answer }
}

#[test]
fn every_variant_is_right_and_a_stale_answer_is_found() {
    if require_adapter().is_none() {
        return;
    }
    for params in [params(Model::SMALL, 5, 6), params(TINY, 1, 1), params(TINY, 70, 3), params(TINY, 1, 40)] {
        all_are_right(&params);
    }
}

/// Runs every variant, and looks whether stale answers are found.
pub(super) fn all_are_right(params: &Params) {
    let setup = setup(7);
    right_and_never_stale(&mut Generation::<Slow>::new(params, &setup).unwrap(), SLOW);
    right_and_never_stale(&mut Generation::<Documented>::new(params, &setup).unwrap(), DOCUMENTED);
    right_and_never_stale(&mut Generation::<Optimized>::new(params, &setup).unwrap(), OPTIMIZED);
}

#[test]
fn a_token_that_is_not_the_most_likely_one_is_found() {
    if require_adapter().is_none() {
        return;
    }
    let mut bench = Generation::<Optimized>::new(&params(TINY, 4, 5), &setup(7)).unwrap();
    bench.load(1).unwrap();
    bench.run(0).unwrap();
    assert!(bench.check(0).unwrap().passed);
    let answer = bench.answer.clone();
    // The last token has no successors whose logits could show the mistake.
    for (at, wrong) in [(0, (answer[0] + 1) % 64), (4, (answer[4] + 1) % 64), (2, u32::MAX)] {
        bench.answer[at] = wrong;
        assert!(!bench.check(0).unwrap().passed, "token {at}");
        bench.answer.clone_from(&answer);
    }
    assert!(bench.check(0).unwrap().passed);
}

#[test]
fn each_variant_takes_exactly_these_passes_copies_and_waits() {
    if require_adapter().is_none() {
        return;
    }
    // The document's path in figures: a prompt of 64 tokens and an answer of 16, and one of 512 and 128.
    for (prompt, answer, slow_forwards, forwards) in [(64, 16, 1144, 79), (512, 128, 73_664, 639)] {
        let workload = define(vec![Case::new("case", params(TINY, prompt, answer))]).build();
        let row = 4 * TINY.vocabulary;
        let upload = 4 * (prompt + answer - 1);
        let slow = due([
            ("tokens", answer),
            ("token-forwards", slow_forwards),
            // An embedding, eight kernels of the layer, norm and head.
            ("dispatches", 11 * answer),
            ("submits", answer),
            ("syncs", answer),
            ("upload-copies", answer),
            ("upload-bytes", upload),
            ("download-copies", answer),
            ("download-bytes", row * answer),
        ]);
        assert_eq!(counts(&workload, SLOW), slow);
        let position = 4 * 2 * TINY.width;
        let appended: usize = (1..answer).map(|step| (prompt + step) * position).sum();
        let mut documented = slow.clone();
        documented.extend(due([
            ("token-forwards", forwards),
            ("buffer-creates", answer - 1),
            ("device-copies", 2 * (answer - 1)),
            ("device-copy-bytes", appended),
        ]));
        assert_eq!(counts(&workload, DOCUMENTED), documented);
        let optimized = due([
            ("tokens", answer),
            ("token-forwards", forwards),
            ("dispatches", 12 * answer),
            ("submits", 1),
            ("syncs", 1),
            ("upload-copies", 1),
            ("upload-bytes", 4 * prompt),
            ("download-copies", 1),
            ("download-bytes", 4 * answer),
        ]);
        assert_eq!(counts(&workload, OPTIMIZED), optimized);
    }
}
