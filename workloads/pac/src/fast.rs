//! Fast computation on the CPU: one transform of a channel for all bands, and vector instructions for the rest.
//!
//! Filtering forwards and backwards multiplies the spectrum by the squared gain |H|^2, which is real. The two passes
//! affect the ends only within the extension, which is cut off, and the extension of the highest order contains those
//! of all others. One circle of samples therefore serves all bands: the signal, then its extension, and at the end the
//! extension before it. The transforms process the signals of two bands at a time, as the real and the imaginary part
//! of one.

mod channel;
mod histogram;
mod index;
mod kernels;
mod plan;
mod scalar;
mod sectors;
mod spectrum;

pub(crate) use histogram::add_rows;
pub(crate) use index::index_of_sums;
pub use plan::Plan;
pub use scalar::Scalar;
pub(crate) use spectrum::{Pair, Spectrum};
