//! Kernels, compiled for GPUs that the machine does not have.
//!
//! Mesa's RADV is the Vulkan driver of AMD's GPUs, and compiles for a family of them that `RADV_FORCE_FAMILY` names: no device
//! is needed. A process that was started with this variable translates kernels as wgpu does, creates their pipelines, and
//! returns the compiler's statistics of the machine code. [`compile`] is its side and the rest that of the program that asks.

mod answer;
mod ask;
mod cache;
mod radv;
mod spirv;
mod statistics;

pub use answer::{FamilyCode, NamedCode, compile};
pub use ask::FAMILIES;
pub(crate) use ask::{Codes, codes};
