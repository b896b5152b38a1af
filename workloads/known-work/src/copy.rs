//! Copies on the host: blocks go through a staging buffer that each iteration allocates.

use std::hint::black_box;

use perfharness_contract::{Check, Failure, Setup};

use crate::kernel::{CopyCounters, Input, Kernel, Work, buffer_seed, word};

const BLOCK: usize = 8 << 10;
const WORDS: u64 = BLOCK as u64 / 8;
/// Number of blocks in the source.
const SOURCE: u64 = 256;
/// Number of blocks in the staging buffer.
const STAGED: u64 = 32;

/// Copies blocks to a staging buffer and from there to their targets.
#[derive(Debug)]
pub(crate) struct Copy {
    seed: u64,
    source: Vec<u8>,
    /// The result, followed by the same amount of room for unneeded blocks.
    target: Vec<u8>,
    staging_bytes: usize,
    counters: CopyCounters,
}

impl Copy {
    /// Creates the kernel with a staging buffer of `peak` times its size, of which no more is used.
    pub(crate) fn new(useful: u64, peak: u64, setup: &Setup) -> Self {
        let seed = buffer_seed(setup);
        Self {
            seed,
            source: (0..SOURCE * WORDS).flat_map(|i| word(seed, i).to_le_bytes()).collect(),
            target: vec![0; 2 * useful as usize * BLOCK],
            staging_bytes: (STAGED * peak) as usize * BLOCK,
            counters: CopyCounters::new(setup),
        }
    }

    /// Block of the source that a step copies.
    fn block(input: Input, step: u64) -> u64 {
        input.state().wrapping_add(step) % SOURCE
    }
}

fn range(block: u64) -> std::ops::Range<usize> {
    block as usize * BLOCK..(block as usize + 1) * BLOCK
}

impl Kernel for Copy {
    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure> {
        // Not filled, so that a larger buffer costs memory but no time.
        let mut staging: Vec<u8> = Vec::with_capacity(self.staging_bytes);
        let steps = work.useful + work.extra;
        for step in 0..steps {
            let block = &self.source[range(Self::block(input, step))];
            let staged = range(step % STAGED);
            if staging.len() < staged.end {
                staging.extend_from_slice(block);
            } else {
                staging[staged.clone()].copy_from_slice(block);
            }
            let to = if step < work.useful { step } else { work.useful + step % work.useful };
            self.target[range(to)].copy_from_slice(&black_box(&staging)[staged]);
        }
        self.counters.add(2 * steps, 2 * steps as usize * BLOCK);
        Ok(())
    }

    fn check(&mut self, input: Input, useful: u64) -> Result<Check, Failure> {
        let block = |step| {
            let first = Self::block(input, step) * WORDS;
            (first..first + WORDS).flat_map(|i| word(self.seed, i).to_le_bytes())
        };
        let due: Vec<u8> = (0..useful).flat_map(block).collect();
        Ok(Check::exact(&due, &self.target[..due.len()]))
    }
}
