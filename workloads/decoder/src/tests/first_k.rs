//! Tests of `first-k`.

use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::first_k::tokens::{PAD, pool};
use crate::first_k::variants::{Build, documented, optimized, slow};
use crate::first_k::{FirstK, Params, define};

const BUILDS: [(&str, Build); 3] = [(SLOW, slow), (DOCUMENTED, documented), (OPTIMIZED, optimized)];

pub(super) fn params(model: Model, sequences: usize, prompt: usize, answer: usize) -> Params {
    Params { model, sequences, prompt, answer }
}

#[test]
fn every_variant_is_right_and_a_stale_result_is_found() {
    if require_adapter().is_none() {
        return;
    }
    for params in [params(Model::SMALL, 3, 5, 4), params(TINY, 1, 1, 1), params(TINY, 8, 70, 33)] {
        all_are_right(&params);
    }
}

/// Runs every variant, and looks whether stale results are found.
pub(super) fn all_are_right(params: &Params) {
    for (variant, build) in BUILDS {
        let mut bench = FirstK::new(params, &setup(7), build).unwrap();
        right_and_never_stale(&mut bench, &format!("{variant}, {params:?}"));
    }
}

#[test]
fn answers_of_padding_alone_have_no_loss_and_equal_tokens_no_error() {
    if require_adapter().is_none() {
        return;
    }
    let params = params(TINY, 4, 6, 5);
    for (variant, build) in BUILDS {
        let mut bench = FirstK::new(&params, &setup(7), build).unwrap();
        bench.load(1).unwrap();
        for sequence in bench.pool[0].chunks_exact_mut(params.positions()) {
            sequence[params.prompt..].fill(PAD);
        }
        bench.pool[1].fill(PAD);
        bench.pool[2].fill(63);
        for index in 0..3 {
            bench.run(index).unwrap();
            let check = bench.check(index).unwrap();
            assert!(check.passed && check.nan_count == Some(0), "{variant}, input {index}: {check:?}");
        }
    }
}

#[test]
fn each_variant_takes_exactly_these_passes_and_dispatches() {
    if require_adapter().is_none() {
        return;
    }
    // A prompt of 64 tokens with answers of 4 and 32: the document's path in figures.
    for (prompt, answer, slow_forwards, forwards) in [(64, 4, 262, 67), (64, 32, 2544, 95), (16, 4, 70, 19)] {
        let params = params(TINY, 2, prompt, answer);
        let workload = define(vec![perfharness_contract::Case::new("case", params)]).build();
        let of_variant = |forwards, submits, dispatches| {
            due([
                ("token-forwards", forwards),
                ("targets", 2 * answer),
                ("submits", submits),
                ("dispatches", dispatches),
                ("upload-copies", 1),
                ("upload-bytes", 4 * 2 * (prompt + answer)),
            ])
        };
        // A pass is an embedding and eight kernels of the layer; then norm, head, log-likelihoods and their choice.
        assert_eq!(counts(&workload, SLOW), of_variant(slow_forwards, answer, 13 * answer + 1));
        assert_eq!(counts(&workload, DOCUMENTED), of_variant(forwards, 1, 14));
        assert_eq!(counts(&workload, OPTIMIZED), of_variant(forwards, 1, 13));
    }
}

#[test]
fn only_optimized_keeps_logits_of_the_targets_alone() {
    if require_adapter().is_none() {
        return;
    }
    let workload = crate::first_k();
    let peak = |variant| metered(&workload, "p16-k4", variant)["device-peak"].value().unwrap();
    // 19 rows of 512 logits in each of 8 sequences, against 4. The shapes of the kernels take some bytes, too.
    let logits = f64::from(4 * 8 * (19 - 4) * 512);
    for variant in [SLOW, DOCUMENTED] {
        assert!((peak(variant) - peak(OPTIMIZED) - logits).abs() < 2048.0, "{variant}");
    }
}

#[test]
fn inputs_have_steps_that_the_mean_of_steps_would_weigh_wrongly() {
    let params = params(Model::SMALL, 8, 16, 8);
    let inputs = pool(&params, 7, 1);
    let targets = |input: &[u32], step: usize| {
        let of_step = input.chunks_exact(params.positions()).map(|sequence| sequence[params.prompt + step]);
        of_step.filter(|token| *token != PAD).count()
    };
    for input in &inputs {
        let counts: Vec<usize> = (0..params.answer).map(|step| targets(input, step)).collect();
        assert_eq!(counts[0], params.sequences);
        assert!(counts.iter().any(|count| *count != counts[0]), "{counts:?}");
    }
    assert_eq!(targets(&inputs[3], params.answer - 1), 0, "a step of padding alone");
    assert!(inputs.iter().flatten().all(|token| *token < 512));
}
