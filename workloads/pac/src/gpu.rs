//! The index on the GPU, in f32: transforms, bins and sums. Only the index itself is downloaded.
//!
//! The signals of two bands are the real and the imaginary part of one signal. A budget of bytes limits how many of
//! them, and how many channels, are processed at a time. The spectra of the current channels are kept, and one byte for
//! each sample of a phase. Amplitudes are added to the indexes as soon as they are computed.

mod cut;
mod kernels;
mod outcome;
mod plan;
mod planner;
mod transform;

use std::rc::Rc;

use bytemuck::{Pod, Zeroable};
use perfharness_gpu::Bound;

pub(crate) use kernels::{Constants, means};
pub(crate) use outcome::Outcome;
pub use plan::GpuPlan;
pub(crate) use planner::edges;
pub(crate) use transform::{Direction, Steps, Transform};

pub(crate) const COMPLEX: &str = include_str!("shaders/complex.wgsl");
pub(crate) const SIZES: &str = include_str!("shaders/sizes.wgsl");
pub(crate) const COMPLEX_BYTES: u64 = size_of::<[f32; 2]>() as u64;

/// A dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// Bindings for each input, or one for all if the input does not matter.
    pub(crate) bound: Vec<Rc<Bound>>,
    pub(crate) groups: [u32; 3],
}

impl Work {
    fn one(bound: Bound, groups: [u32; 3]) -> Self {
        Self { bound: vec![Rc::new(bound)], groups }
    }
}

/// Parameters of every kernel; see `sizes.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Sizes {
    pub(crate) samples: u32,
    pub(crate) extension: u32,
    pub(crate) circle: u32,
    pub(crate) padded: u32,
    pub(crate) all_channels: u32,
    pub(crate) channels: u32,
    pub(crate) first_channel: u32,
    pub(crate) bands: u32,
    pub(crate) first: u32,
}

/// Returns the workgroups of 64 threads for rows of `length` items.
pub(crate) fn rows(length: u32, count: u32) -> [u32; 3] {
    [length.div_ceil(64), count, 1]
}
