//! The document's "after": a tensor is its values.

use std::hint::black_box;

use super::Mode;
use super::chain::{Chain, axpy};

/// Under `inference_mode`.
#[derive(Debug)]
pub(super) struct Plain;

impl Mode for Plain {
    fn new(_width: usize) -> Self {
        Self
    }

    fn run(&mut self, chain: &Chain, n: u64, result: &mut [f32]) -> u64 {
        let mut state = chain.start.clone();
        for operation in 0..n {
            let row = black_box(chain.row(operation));
            state = black_box(axpy(chain.scale(operation), row, &state).collect());
        }
        result.copy_from_slice(&state);
        0
    }
}
