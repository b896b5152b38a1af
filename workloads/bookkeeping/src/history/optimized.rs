//! The best implementation that we know: a ring of steps, each of which has the values of all keys side by side.

use super::{History, KEYS, Step, WINDOW};

/// The last [`WINDOW`] steps.
#[derive(Debug)]
pub(super) struct Ring {
    steps: Vec<Step>,
    /// Place of the next step, and of the oldest one once all places are taken.
    next: usize,
    len: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self { steps: vec![[0.0; KEYS]; WINDOW], next: 0, len: 0 }
    }
}

impl History for Ring {
    fn push(&mut self, step: &Step) -> u64 {
        self.steps[self.next] = *step;
        // A branch, because a remainder would be a division.
        self.next = if self.next + 1 == WINDOW { 0 } else { self.next + 1 };
        self.len = WINDOW.min(self.len + 1);
        0
    }

    fn window(&self) -> Vec<Step> {
        let (new, old) = self.steps[..self.len].split_at(self.next % self.len.max(1));
        [old, new].concat()
    }
}
