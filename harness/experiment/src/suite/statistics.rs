//! Statistics of the summary.

use perfharness_verdict::student;

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Standard error of the mean.
pub(super) fn error(values: &[f64]) -> f64 {
    (variance(values) / values.len() as f64).sqrt()
}

pub(super) fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    perfharness_verdict::median(&values.into_iter().collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// A location with its squared standard error and degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Location {
    pub(super) center: f64,
    pub(super) squared_error: f64,
    pub(super) df: f64,
}

impl Location {
    /// The mean of the values without a share at each end, with the standard error of Yuen (1974).
    pub(super) fn trimmed(values: &[f64], share: f64) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let cut = (share * n as f64) as usize;
        let kept = &sorted[cut..n - cut];
        let winsorized: Vec<f64> =
            sorted.iter().map(|value| value.clamp(kept[0], kept[kept.len() - 1])).collect();
        let h = kept.len() as f64;
        let squared_error = (n as f64 - 1.0) * variance(&winsorized) / (h * (h - 1.0));
        Self { center: mean(kept), squared_error, df: h - 1.0 }
    }

    /// The mean of two strata of equal weight.
    pub(super) fn both(a: Self, b: Self) -> Self {
        Self {
            center: a.center.midpoint(b.center),
            squared_error: (a.squared_error + b.squared_error) / 4.0,
            df: a.df + b.df,
        }
    }

    /// Half-width of the interval of this confidence.
    pub(super) fn half_width(&self, confidence: f64) -> f64 {
        let t = student::quantile(0.5 + confidence / 2.0, self.df).unwrap_or(f64::NAN);
        t * self.squared_error.sqrt()
    }
}

/// Spearman's rank correlation.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let products: f64 = a.iter().zip(&b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    products / ((a.len() as f64 - 1.0) * (variance(&a) * variance(&b)).sqrt())
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|value| **value < x).count();
    let equal = |x: f64| values.iter().filter(|value| **value == x).count();
    values.iter().map(|x| below(*x) as f64 + f64::midpoint(equal(*x) as f64, 1.0)).collect()
}

/// Returns the largest rate that is compatible with so few successes: the one-sided upper bound of Clopper and Pearson.
pub(super) fn upper_bound(successes: usize, trials: usize, confidence: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    // The probability of so few successes falls with the rate; at the bound it equals 1 - confidence.
    let at_most = |rate: f64| {
        let mut term = (1.0 - rate).powi(trials as i32);
        let mut sum = term;
        for k in 0..successes {
            term *= (trials - k) as f64 / (k + 1) as f64 * rate / (1.0 - rate);
            sum += term;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let rate = f64::midpoint(low, high);
        if at_most(rate) > 1.0 - confidence { low = rate } else { high = rate }
    }
    high
}

/// Returns the smallest rate that is compatible with so many successes.
pub(super) fn lower_bound(successes: usize, trials: usize, confidence: f64) -> f64 {
    1.0 - upper_bound(trials - successes, trials, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, due: f64) {
        assert!((value - due).abs() < 1e-6, "{value} is not {due}");
    }

    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        // Without a success: 1 - 0.05^(1/n).
        close(upper_bound(0, 299, 0.95), 1.0 - 0.05_f64.powf(1.0 / 299.0));
        assert!(upper_bound(0, 299, 0.95) < 0.01 && upper_bound(0, 298, 0.95) > 0.01);
        // One success in ten, from the tables of the binomial distribution.
        close(upper_bound(1, 10, 0.95), 0.394_163_3);
        close(lower_bound(9, 10, 0.95), 1.0 - 0.394_163_3);
        assert_eq!((upper_bound(3, 3, 0.95), lower_bound(0, 3, 0.95)), (1.0, 0.0));
    }

    #[test]
    fn a_trimmed_mean_and_its_error_are_those_of_a_worked_example() {
        // One value is cut at each end; winsorized: 2, 2, 3, 4, 4 with variance 1; (5 - 1) 1 / (3 x 2).
        let trimmed = Location::trimmed(&[1.0, 2.0, 3.0, 4.0, 100.0], 0.2);
        assert_eq!((trimmed.center, trimmed.df), (3.0, 2.0));
        close(trimmed.squared_error, 2.0 / 3.0);
        // Without trimming it is the mean, with variance over n.
        let plain = Location::trimmed(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0);
        assert_eq!((plain.center, plain.df), (3.0, 4.0));
        close(plain.squared_error, 0.5);
        close(plain.half_width(0.95), 2.776_445_105 * 0.5_f64.sqrt());
        let both = Location::both(plain, Location { center: 5.0, ..plain });
        assert_eq!((both.center, both.df), (4.0, 8.0));
        close(both.squared_error, 0.25);
    }

    #[test]
    fn ranks_correlate_whatever_the_scale() {
        close(rank_correlation(&[(1.0, 10.0), (2.0, 100.0), (3.0, 1000.0)]), 1.0);
        close(rank_correlation(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), -1.0);
        // Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
        close(rank_correlation(&[(1.0, 1.0), (5.0, 2.0), (5.0, 3.0), (9.0, 4.0)]), 0.9_f64.sqrt());
    }
}
