//! Mean and deviation of numbers that are not stored.

/// Count, mean, and sum of the squared distances from the mean, updated with each number (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Welford {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Welford {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    /// Adds all numbers of another one (Chan et al. 1979).
    pub(super) fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if count > 0.0 {
            let off = other.mean - self.mean;
            self.mean += off * (other.count / count);
            self.squares += other.squares + off * off * (self.count * other.count / count);
            self.count = count;
        }
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the distance of a value from the mean, in standard deviations of the population.
    pub(super) fn score(&self, value: f64) -> f64 {
        (value - self.mean) / (self.squares / self.count).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Welford {
        let mut seen = Welford::default();
        for value in values {
            seen.add(*value);
        }
        seen
    }

    #[test]
    fn parts_that_are_merged_give_the_score_of_the_whole() {
        let values = [3.0, -1.0, 4.0, 1.0, 5.0, -9.0, 2.0];
        let due = of(&values).score(7.0);
        for cut in 0..=values.len() {
            let mut seen = of(&values[..cut]);
            seen.merge(&of(&values[cut..]));
            assert!((seen.score(7.0) - due).abs() < 1e-14, "{cut}");
        }
    }

    #[test]
    fn equal_or_no_values_have_no_finite_score() {
        assert_eq!(of(&[2.0, 2.0]).score(3.0), f64::INFINITY);
        assert!(of(&[2.0, 2.0]).score(2.0).is_nan());
        let mut none = Welford::default();
        none.merge(&Welford::default());
        assert!(none.score(1.0).is_nan());
    }
}
