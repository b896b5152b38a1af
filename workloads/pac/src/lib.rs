//! Phase-amplitude coupling: Tort's modulation index for all pairs of phase and amplitude bands.
//!
//! Slow waves can modulate the amplitude of fast ones. To test this, a signal is filtered to a slow and to a fast band,
//! the phase of the slow band is divided into bins, and the mean amplitude of the fast band is taken in each bin. The
//! index is 0 if these means are equal, and 1 if one bin holds everything.
//!
//! - [`Settings`] define the computation, and [`Shape`] the size of the signal.
//! - [`Plan`] computes the index fast, repeatedly for signals of one shape, in f32 or f64.
//! - [`GpuPlan`] computes it on the GPU.
//! - [`oracle`] computes it by the definition, in float64.
//! - [`workload`] measures it in several ways, and [`surrogates`] its z-scores.

mod design;
mod error;
mod fast;
mod gpu;
pub mod npy;
mod oracle;
mod settings;
#[cfg(test)]
mod tests;
mod workload;

pub use design::Filters;
pub use error::PacError;
pub use fast::{Plan, Scalar};
pub use gpu::GpuPlan;
pub use oracle::{Oracle, oracle};
pub use settings::{Band, MAX_BINS, MIN_SAMPLES, Normalisation, Settings, Shape};
pub use workload::{surrogates, workload};
