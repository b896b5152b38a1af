//! Inputs as a function of the round.

use rand_pcg::Pcg64Mcg;
use sha2::{Digest as _, Sha256};

/// Returns the generator for the inputs of a round: a fixed algorithm (PCG XSL 128/64, multiplicative) seeded with a
/// digest of its arguments, so that a round has the same input on every machine, in every process and for every
/// variant.
///
/// `stream` separates different inputs of the same round, e.g. `"weights"` and `"images"`.
pub fn input_rng(seed: u64, stream: &str, round: u64) -> Pcg64Mcg {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(round.to_le_bytes());
    hash.update(stream.as_bytes());
    let digest = hash.finalize();
    let mut state = [0; 16];
    state.copy_from_slice(&digest[..16]);
    Pcg64Mcg::new(u128::from_le_bytes(state))
}
