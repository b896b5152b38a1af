//! Kernels that only move values.

use perfharness_gpu::{Gpu, GpuError, Pipeline};

use super::Stages;
use crate::gpu::{COMPLEX, COMPLEX_BYTES, SIZES};

const REAL_BYTES: u64 = size_of::<f32>() as u64;
const REAL: [&str; 2] = ["real_in", "real_out"];
const COMPLEX_VALUES: [&str; 2] = ["complex_in", "complex_out"];

/// A kernel that moves rows from one buffer to another.
pub(crate) struct Stage {
    pub(super) pipeline: Pipeline,
    /// Names of the two bindings.
    pub(super) input: &'static str,
    pub(super) output: &'static str,
    /// Number of values in a row of the output.
    pub(super) length: u32,
    /// Size of a row of the output in bytes.
    pub(super) row_bytes: u64,
    /// Bytes of a row that are copied unchanged.
    pub(super) copied_bytes: u64,
}

/// Kernels between the transforms, each from one buffer to another.
pub(crate) struct Separate {
    pub(crate) extend: Stage,
    pub(crate) widen: Stage,
    pub(crate) real_part: Stage,
    pub(crate) flip: Stage,
    pub(crate) cut: Stage,
    pub(crate) pad: Stage,
}

/// The same moves in as few kernels as two passes of transforms allow.
pub(crate) struct Joined {
    pub(crate) begin: Stage,
    pub(crate) turn_around: Stage,
    pub(crate) keep: Stage,
}

/// Values of a row, and how many of them.
struct Values {
    bindings: [&'static str; 2],
    bytes: u64,
    length: u32,
}

/// Makes stages of one plan.
struct Maker<'a> {
    gpu: &'a Gpu,
    real: Values,
    extended: Values,
    circle: Values,
    padded: Values,
}

impl<'a> Maker<'a> {
    fn new(stages: &'a Stages) -> Self {
        let sizes = &stages.sizes;
        let real = |length| Values { bindings: REAL, bytes: REAL_BYTES, length };
        let complex = |length| Values { bindings: COMPLEX_VALUES, bytes: COMPLEX_BYTES, length };
        Self {
            gpu: &stages.gpu,
            real: real(sizes.samples),
            extended: real(sizes.samples + 2 * sizes.extension),
            circle: complex(sizes.circle),
            padded: complex(sizes.padded),
        }
    }

    /// Returns the stage of an entry point of `stages.wgsl`, in which `moved` values of a row come from the input.
    fn stage(&self, entry: &str, from: &Values, to: &Values, moved: &Values) -> Result<Stage, GpuError> {
        let source = [COMPLEX, SIZES, include_str!("../../shaders/stages.wgsl")].concat();
        Ok(Stage {
            pipeline: self.gpu.pipeline(entry, &source, entry)?,
            input: from.bindings[0],
            output: to.bindings[1],
            length: to.length,
            row_bytes: u64::from(to.length) * to.bytes,
            copied_bytes: u64::from(moved.length) * to.bytes,
        })
    }
}

impl Separate {
    pub(crate) fn new(stages: &Stages) -> Result<Self, GpuError> {
        let make = Maker::new(stages);
        let Maker { real, extended, circle, padded, .. } = &make;
        Ok(Self {
            // The ends are computed and not copied.
            extend: make.stage("extend", real, extended, real)?,
            widen: make.stage("widen", extended, circle, extended)?,
            real_part: make.stage("real_part", circle, extended, extended)?,
            flip: make.stage("flip", extended, extended, extended)?,
            cut: make.stage("cut", extended, real, real)?,
            pad: make.stage("pad", real, padded, real)?,
        })
    }
}

impl Joined {
    pub(crate) fn new(stages: &Stages) -> Result<Self, GpuError> {
        let make = Maker::new(stages);
        let Maker { real, extended, circle, padded, .. } = &make;
        Ok(Self {
            begin: make.stage("begin", real, circle, real)?,
            turn_around: make.stage("turn_around", circle, circle, extended)?,
            keep: make.stage("keep", circle, padded, real)?,
        })
    }
}
