//! Welch's test over single samples, as in tools that treat each sample as independent evidence.

use perfharness_verdict::student;
use serde::{Deserialize, Serialize};

/// Moments of a side for Welch's test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(crate) samples: usize,
    pub(crate) mean: f64,
    /// Variance of the samples, not of their mean.
    pub(crate) variance: f64,
}

impl Moments {
    /// Computes the moments of at least two samples.
    pub(crate) fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { samples: values.len(), mean, variance }
    }

    /// Whether Student's t of the difference to a reference exceeds the quantile of probability `p`.
    pub(crate) fn exceeds(&self, reference: &Self, p: f64) -> bool {
        let [(v1, n1), (v2, n2)] = [self, reference].map(|m| {
            let n = m.samples as f64;
            (m.variance / n, n)
        });
        let df = (v1 + v2).powi(2) / (v1.powi(2) / (n1 - 1.0) + v2.powi(2) / (n2 - 1.0));
        student::quantile(p, df).is_ok_and(|t| (self.mean - reference.mean) / (v1 + v2).sqrt() > t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Means 3 and 5, variances 2.5 and 10 of 5 samples each: t = 2 / sqrt(2.5) = 1.265 with 5.88 degrees of freedom.
        let a = Moments::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let b = Moments::of(&[1.0, 3.0, 5.0, 7.0, 9.0]);
        assert_eq!((a.mean, a.variance, b.mean, b.variance), (3.0, 2.5, 5.0, 10.0));
        // Half of the probability beyond that t is 0.1269.
        assert!(b.exceeds(&a, 0.872) && !b.exceeds(&a, 0.874));
        assert!(!a.exceeds(&b, 0.5));
    }
}
