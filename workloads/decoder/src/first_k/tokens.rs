//! Prompts and answers as a function of seed, round and index.

use perfharness_contract::input_rng;
use rand_pcg::rand_core::Rng as _;

use super::Params;
use crate::POOL;

/// The token that fills an answer up; its loss does not count.
pub(crate) const PAD: u32 = 0;

/// Returns the inputs of a round, `[sequences][prompt + answer]` each. Answers have random lengths. In the last input
/// they reach at most half of the space, so that all targets of the last steps are padding.
pub(crate) fn pool(params: &Params, seed: u64, round: u64) -> Vec<Vec<u32>> {
    let mut rng = input_rng(seed, "first-k", round);
    // The upper half of a product maps 32 random bits to 0..n without a division.
    let mut below = |n: usize| ((u64::from(rng.next_u32()) * n as u64) >> 32) as u32;
    let inputs = 0..POOL;
    inputs
        .map(|input| {
            let longest = if input + 1 == POOL { params.answer.div_ceil(2) } else { params.answer };
            let mut tokens = Vec::with_capacity(params.sequences * params.positions());
            for _ in 0..params.sequences {
                let length = params.prompt + 1 + below(longest) as usize;
                tokens.extend((0..length).map(|_| 1 + below(params.model.vocabulary - 1)));
                tokens.resize(tokens.len() + params.positions() - length, PAD);
            }
            tokens
        })
        .collect()
}
