//! A kernel that is ready to run.

use perfharness_gpu::{Bound, Commands};

/// A kernel with its buffers and its number of workgroups.
#[derive(Debug)]
pub struct Ready {
    pub(crate) bound: Bound,
    pub(crate) groups: [u32; 3],
}

impl Ready {
    /// Makes a kernel of a workload's own ready.
    pub fn new(bound: Bound, groups: [u32; 3]) -> Self {
        Self { bound, groups }
    }

    /// Records kernels in their order.
    pub fn record_all(kernels: &[Self], commands: &mut Commands) {
        for kernel in kernels {
            kernel.record(commands);
        }
    }

    /// Records one dispatch.
    pub fn record(&self, commands: &mut Commands) {
        commands.dispatch(&self.bound, self.groups);
    }
}

/// WGSL for kernels with one workgroup for each row: the number `GROUP` of its threads, and the functions `largest` and
/// `total` over their values.
pub const REDUCE: &str = include_str!("shaders/reduce.wgsl");

/// Returns the workgroups for `rows` rows, one for each. More than the smallest limit of any adapter are spread over y,
/// and the shader finds its row at `id.y * 32768 + id.x`.
pub fn group_per_row(rows: u32) -> [u32; 3] {
    const ACROSS: u32 = 32_768;
    [rows.min(ACROSS), rows.div_ceil(ACROSS), 1]
}
