//! A decoder of text: document 001, sections 6 and 8, and its advice on attention.
//!
//! `first-k` is the loss of the first tokens of an answer, `kv-cache` the generation of an answer, and `attention` the
//! attention of one layer. The decoder is pre-norm, with random weights and heads of 32 values.

mod attention;
mod first_k;
mod kv_cache;
mod model;
mod network;
mod reference;
#[cfg(test)]
mod tests;

pub use attention::attention;
pub use first_k::first_k;
pub use kv_cache::kv_cache;

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";

/// Number of different inputs in a round.
const POOL: u64 = 4;

/// Metric: positions that go through the decoder, of each sequence.
const TOKEN_FORWARDS: &str = "token-forwards";
