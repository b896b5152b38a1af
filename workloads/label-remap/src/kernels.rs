//! Parts of shaders that several kernels share.

use perfharness_gpu::{Bound, Gpu, GpuError, Pipeline};

/// A bound kernel and its number of workgroups.
pub(crate) type Dispatch = (Bound, [u32; 3]);

pub(crate) const KEYS: &str = include_str!("shaders/keys.wgsl");
/// Sorts and searches keys in the memory of a workgroup.
pub(crate) const SHARED_KEYS: &str = include_str!("shaders/shared_keys.wgsl");
/// Number of threads in a workgroup.
pub(crate) const SIZE: &str = "const SIZE = 256u;\n";
/// Adds over the threads of a workgroup; needs [`SIZE`].
pub(crate) const SUMS: &str = include_str!("shaders/sums.wgsl");
pub(crate) const DIGITS: &str = include_str!("shaders/digits.wgsl");
/// Turns counts of digits into places; needs [`SUMS`] and [`DIGITS`].
pub(crate) const OFFSETS: &str = include_str!("shaders/offsets.wgsl");

/// Creates a pipeline for the entry point `main` of a shader that consists of several parts.
///
/// # Errors
/// Returns an error if the device rejects the shader.
pub(crate) fn pipeline(gpu: &Gpu, label: &str, parts: &[&str]) -> Result<Pipeline, GpuError> {
    gpu.pipeline(label, &parts.concat(), "main")
}
