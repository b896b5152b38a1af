//! A batch that several experts process one after the other: document 003, sections 1.1 and 1.2.
//!
//! Two workloads: the inputs of the experts, each rotated differently, and the masks of attention, which are the same
//! for all of them. The source defines both improvements and calls neither.

mod masks;
mod rotation;

pub use masks::workload as masks;
pub use rotation::workload as rotation;

/// Number of different inputs in a round.
const POOL: usize = 4;
/// Rows that a check computes again for each expert, or all if there are fewer.
const CHECKED: usize = 64;

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const SHIPPED: &str = "shipped";
const OPTIMIZED: &str = "optimized";

/// Position in the pool of the input of an iteration.
fn input_of(index: u64) -> usize {
    index as usize % POOL
}

/// Returns the rows that the check of an iteration computes again, spread over all; others in the next iteration.
fn checked(rows: usize, index: u64) -> impl Iterator<Item = usize> + Clone {
    let apart = rows.div_ceil(CHECKED).max(1);
    (index as usize % apart..rows).step_by(apart)
}

/// Returns `count` uniform numbers from -1 to 1, with the 24 bits of a float32's mantissa.
fn uniform(rng: &mut impl rand_pcg::rand_core::Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| (rng.next_u32() >> 8) as f32 / (1_u32 << 23) as f32 - 1.0).collect()
}
