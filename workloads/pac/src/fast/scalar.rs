//! The two precisions.

use rustfft::FftNum;
use rustfft::num_traits::Float;

/// Precision of the computation, f32 or f64. Sums over many samples are f64 in both.
pub trait Scalar: FftNum + Float {
    /// Rounds to this precision.
    fn narrow(value: f64) -> Self;
    /// Widens exactly.
    fn widen(self) -> f64;
}

impl Scalar for f32 {
    fn narrow(value: f64) -> Self {
        value as Self
    }
    fn widen(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    fn narrow(value: f64) -> Self {
        value
    }
    fn widen(self) -> f64 {
        self
    }
}
