//! Random numbers of inputs.

use perfharness_contract::input_rng;
use rand_pcg::rand_core::Rng as _;

/// Returns a source of uniform numbers from -1 to 1, with the 24 bits of a float32's mantissa.
pub(crate) fn uniform(seed: u64, stream: &str, round: u64) -> impl FnMut() -> f32 + use<> {
    let mut rng = input_rng(seed, stream, round);
    move || (rng.next_u32() >> 8) as f32 / (1_u32 << 23) as f32 - 1.0
}
