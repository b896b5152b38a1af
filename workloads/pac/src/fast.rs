//! The fast path on the CPU: one transform of a channel for all bands, and vector instructions for the rest.
//!
//! Filtering forwards and backwards multiplies the spectrum by the squared gain |H|^2, which is real. What the two
//! passes do at the ends is seen in the extension alone, which is cut off; and the extension of the highest order
//! holds those of all others. So one circle of samples serves all bands: the signal, its extension behind it, and the
//! one before it at the end. A signal of two bands at a time is carried through the transforms, as the real and the
//! imaginary part of one.

mod channel;
mod histogram;
mod index;
mod kernels;
mod plan;
mod scalar;
mod sectors;
mod spectrum;

pub(crate) use index::index_of_sums;
pub use plan::Plan;
pub use scalar::Scalar;
pub(crate) use spectrum::{Pair, Spectrum};
