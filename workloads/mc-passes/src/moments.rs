//! Mean and variance of the features over passes.

use crate::dims::FEATURES;

/// Returns the numbers of passes after which the statistics are kept, in order: those of the document that do not
/// exceed `passes`, and `passes` itself.
pub(crate) fn snapshots(passes: u64) -> Vec<u64> {
    let mut list: Vec<u64> = [4, 16, 64].into_iter().filter(|t| *t < passes).collect();
    list.push(passes);
    list
}

/// Statistics of all images after a number of passes of a trial: `[images][FEATURES]` each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) mean: Vec<f64>,
    /// Variance over the passes as the whole population.
    pub(crate) variance: Vec<f64>,
}

impl Moments {
    /// Reads the sums of the device: four means, followed by the four sums of squared deviations from them.
    pub(crate) fn of_device(sums: &[f32], passes: u64) -> Self {
        let n = passes as f64;
        let eights = || sums.chunks_exact(8);
        Self {
            mean: eights().flat_map(|eight| &eight[..4]).map(|v| f64::from(*v)).collect(),
            variance: eights().flat_map(|eight| &eight[4..]).map(|v| f64::from(*v) / n).collect(),
        }
    }

    /// Statistics of one image: means first, then variances.
    pub(crate) fn of_image(&self, image: usize) -> impl Iterator<Item = f64> {
        let range = image * FEATURES..(image + 1) * FEATURES;
        let of = |values: &[f64]| values.get(range.clone()).unwrap_or_default().to_vec();
        of(&self.mean).into_iter().chain(of(&self.variance))
    }
}

/// Sums in float64.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    /// Creates sums for `values` values.
    pub(crate) fn new(values: usize) -> Self {
        Self { sum: vec![0.0; values], squares: vec![0.0; values] }
    }

    /// Adds the values of one pass, starting at `first`.
    pub(crate) fn add(&mut self, first: usize, values: impl IntoIterator<Item = f64>) {
        let sums = self.sum[first..].iter_mut().zip(&mut self.squares[first..]);
        for ((sum, squares), value) in sums.zip(values) {
            *sum += value;
            *squares += value * value;
        }
    }

    /// Returns the moments after `passes` passes.
    pub(crate) fn moments(&self, passes: u64) -> Moments {
        let n = passes as f64;
        let mean: Vec<f64> = self.sum.iter().map(|sum| sum / n).collect();
        let squares = self.squares.iter().zip(&mean);
        let variance = squares.map(|(squares, mean)| (squares / n - mean * mean).max(0.0)).collect();
        Moments { mean, variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_s_numbers_of_passes_are_kept_and_the_last() {
        assert_eq!(snapshots(1), [1]);
        assert_eq!(snapshots(4), [4]);
        assert_eq!(snapshots(8), [4, 8]);
        assert_eq!(snapshots(64), [4, 16, 64]);
    }

    #[test]
    fn moments_are_those_of_the_population() {
        let mut sums = Sums::new(2);
        for pass in [1.0, 2.0, 6.0] {
            sums.add(1, [pass]);
        }
        let moments = sums.moments(3);
        assert_eq!(moments.mean, [0.0, 3.0]);
        assert!((moments.variance[1] - 14.0 / 3.0).abs() < 1e-12);
    }
}
