//! The rule of tango (<https://github.com/bazhenov/tango>, `tango-bench/src/lib.rs` at 2b0bf5d): both functions run
//! alternately in one thread, and the difference of their times is significant if its z-score is at least 2.6 and it
//! exceeds half a percent of the baseline's mean. Its filter of outliers is off by default.

use serde::{Deserialize, Serialize};

const Z_SCORE: f64 = 2.6;
const SHARE: f64 = 0.005;

/// Moments of the differences in time of an iteration, head minus base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tango {
    pub(super) samples: usize,
    /// Mean difference as a share of the mean of base.
    pub(super) share: f64,
    /// Mean difference in standard errors.
    pub(super) z_score: f64,
}

impl Tango {
    /// Computes the moments of samples of base and head, of which there are at least two.
    pub(super) fn of(samples: &[[f64; 2]]) -> Self {
        let n = samples.len() as f64;
        let differences: Vec<f64> = samples.iter().map(|[base, head]| head - base).collect();
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let base = samples.iter().map(|[base, _]| base).sum::<f64>() / n;
        Self { samples: samples.len(), share: mean / base, z_score: mean / (variance / n).sqrt() }
    }

    /// Whether head is slower by this rule.
    pub(super) fn slower(&self) -> bool {
        self.z_score >= Z_SCORE && self.share > SHARE
    }

    /// Whether head is faster by this rule.
    pub(super) fn faster(&self) -> bool {
        self.z_score <= -Z_SCORE && self.share < -SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_if_it_is_significant_and_above_half_a_percent() {
        // Differences 1, 2, 3 of a mean base of 100: mean 2, variance 1, so z = 2 sqrt(3).
        let tango = Tango::of(&[[99.0, 100.0], [100.0, 102.0], [101.0, 104.0]]);
        assert!((tango.share - 0.02).abs() < 1e-12 && (tango.z_score - 2.0 * 3_f64.sqrt()).abs() < 1e-12);
        assert!(tango.slower() && !tango.faster());
        let swapped = Tango::of(&[[100.0, 99.0], [102.0, 100.0], [104.0, 101.0]]);
        assert!(swapped.faster() && !swapped.slower());
        assert!(!Tango { z_score: 2.5, ..tango }.slower());
        assert!(!Tango { share: 0.004, ..tango }.slower());
    }
}
