//! The best implementation that we know: results in two arenas, one of which is reset when the other is full.
//!
//! An operation needs the result before it and nothing older. Two small arenas therefore suffice for a chain of any
//! length, and their memory stays in the first cache, which one arena for a whole chain would leave.

use std::hint::black_box;
use std::ops::Range;

use bumpalo::Bump;

use super::Mode;
use super::chain::Chain;

/// Bytes of results in an arena, unless one result is larger: half of a usual first cache.
const ARENA_BYTES: usize = 16 << 10;

/// Results in an arena.
fn results(width: usize) -> usize {
    (ARENA_BYTES / (width.max(1) * size_of::<f32>())).max(1)
}

/// Bytes of an arena.
pub(super) fn bytes(width: usize) -> usize {
    results(width) * width * size_of::<f32>()
}

/// Two arenas, used in turns.
#[derive(Debug)]
pub(super) struct Arena {
    even: Bump,
    odd: Bump,
    results: u64,
}

/// Computes one operation into an arena.
fn result<'a>(arena: &'a Bump, chain: &Chain, operation: u64, state: &[f32]) -> &'a [f32] {
    let (scale, x) = (chain.scale(operation), black_box(chain.row(operation)));
    let y = &state[..x.len()];
    black_box(arena.alloc_slice_fill_with(x.len(), |i| scale * x[i] + y[i]))
}

/// Computes operations, of which there is at least one, into an arena that holds nothing yet, and returns the last
/// result.
fn fill<'a>(arena: &'a mut Bump, chain: &Chain, operations: Range<u64>, state: &[f32]) -> &'a [f32] {
    arena.reset();
    let arena: &'a Bump = arena;
    let first = result(arena, chain, operations.start, state);
    (operations.start + 1..operations.end)
        .fold(first, |state, operation| result(arena, chain, operation, state))
}

impl Mode for Arena {
    fn new(width: usize) -> Self {
        let arena = || Bump::with_capacity(bytes(width));
        Self { even: arena(), odd: arena(), results: results(width) as u64 }
    }

    fn run(&mut self, chain: &Chain, n: u64, last: &mut [f32]) -> u64 {
        let mut state = &chain.start[..];
        let mut done = 0;
        while done < n {
            let middle = n.min(done + self.results);
            let even = fill(&mut self.even, chain, done..middle, state);
            done = n.min(middle + self.results);
            if middle == done {
                last.copy_from_slice(even);
                return 0;
            }
            state = fill(&mut self.odd, chain, middle..done, even);
        }
        last.copy_from_slice(state);
        0
    }
}
