//! A kernel that is ready to run.

use perfharness_gpu::{Bound, Commands};

/// A kernel with its buffers and its number of workgroups.
#[derive(Debug)]
pub struct Ready {
    pub(crate) bound: Bound,
    pub(crate) groups: [u32; 3],
}

impl Ready {
    /// Records one dispatch.
    pub fn record(&self, commands: &mut Commands) {
        commands.dispatch(&self.bound, self.groups);
    }
}

/// Source for kernels with one workgroup for each row: the number of its threads, and their sum.
pub(crate) const REDUCE: &str = include_str!("shaders/reduce.wgsl");

/// Returns the workgroups for `rows` rows, one for each. More than the smallest limit of any adapter are spread over y,
/// and the shader finds its row at `id.y * 32768 + id.x`.
pub(crate) fn group_per_row(rows: u32) -> [u32; 3] {
    const ACROSS: u32 = 32_768;
    [rows.min(ACROSS), rows.div_ceil(ACROSS), 1]
}
