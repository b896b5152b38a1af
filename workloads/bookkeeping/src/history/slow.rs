//! The document's "before": every step is kept.

use std::collections::LinkedList;

use super::{History, KEYS, Step, WINDOW};

/// Values of each key in blocks of [`WINDOW`].
///
/// One vector would double now and then, and copy all that it has. Blocks grow steadily and copy nothing, so that the
/// growth of an iteration is exact and `slow` is not slower than it has to be.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    #[expect(clippy::linkedlist, reason = "a vector of blocks would double as well")]
    keys: [LinkedList<Vec<f64>>; KEYS],
}

impl History for Blocks {
    fn push(&mut self, step: &Step) -> u64 {
        for (blocks, value) in self.keys.iter_mut().zip(step) {
            match blocks.back_mut() {
                Some(block) if block.len() < WINDOW => block.push(*value),
                _ => {
                    let mut block = Vec::with_capacity(WINDOW);
                    block.push(*value);
                    blocks.push_back(block);
                }
            }
        }
        0
    }

    fn window(&self) -> Vec<Step> {
        let mut latest = self.keys.each_ref().map(|blocks| blocks.iter().rev().flat_map(|b| b.iter().rev()));
        let all = std::iter::from_fn(|| {
            let step = latest.each_mut().map(|values| values.next().copied());
            step[0].map(|_| step.map(Option::unwrap_or_default))
        });
        let mut window: Vec<Step> = all.take(WINDOW).collect();
        window.reverse();
        window
    }
}
