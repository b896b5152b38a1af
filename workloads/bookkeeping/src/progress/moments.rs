//! Mean and variance of each feature of each image over the passes.

/// Features of an image.
pub(super) const FEATURES: usize = 512;

/// Running moments (Welford), in float64 as in the source.
#[derive(Debug)]
pub(super) struct Moments {
    mean: Vec<f64>,
    /// Sum of the squared distances from the mean.
    squares: Vec<f64>,
    /// Passes that are complete.
    passes: usize,
}

impl Moments {
    pub(super) fn new(images: usize) -> Self {
        let zeros = || vec![0.0; images * FEATURES];
        Self { mean: zeros(), squares: zeros(), passes: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.mean.fill(0.0);
        self.squares.fill(0.0);
        self.passes = 0;
    }

    /// Adds an image in the current pass. It takes the features of another image in each pass, which stands for
    /// dropout: all passes differ.
    pub(super) fn add(&mut self, features: &[f32], image: usize) {
        let from = source(image, self.passes, features.len() / FEATURES) * FEATURES;
        let at = image * FEATURES..(image + 1) * FEATURES;
        let share = 1.0 / (self.passes + 1) as f64;
        let moments = self.mean[at.clone()].iter_mut().zip(&mut self.squares[at]);
        for ((mean, squares), x) in moments.zip(&features[from..from + FEATURES]) {
            let x = f64::from(*x);
            let distance = x - *mean;
            *mean += distance * share;
            *squares += distance * (x - *mean);
        }
    }

    pub(super) fn end_pass(&mut self) {
        self.passes += 1;
    }

    /// Returns all means, then all variances of the population.
    pub(super) fn results(&self) -> Vec<f64> {
        let variance = self.squares.iter().map(|squares| squares / self.passes.max(1) as f64);
        self.mean.iter().copied().chain(variance).collect()
    }
}

/// Image whose features an image takes in a pass, which counts from 0.
fn source(image: usize, pass: usize, images: usize) -> usize {
    (image + pass) % images
}

/// Returns the results of a number of passes by their definition: the mean, then the mean of the squared distances.
pub(super) fn reference(features: &[f32], passes: usize) -> Vec<f64> {
    let images = features.len() / FEATURES;
    let over_passes = |at: usize, term: &dyn Fn(f64) -> f64| {
        let (image, feature) = (at / FEATURES, at % FEATURES);
        let x = |pass| f64::from(features[source(image, pass, images) * FEATURES + feature]);
        (0..passes).map(|pass| term(x(pass))).sum::<f64>() / passes as f64
    };
    let means: Vec<f64> = (0..features.len()).map(|at| over_passes(at, &|x| x)).collect();
    let variances = means.iter().enumerate().map(|(at, mean)| over_passes(at, &|x| (x - mean).powi(2)));
    means.iter().copied().chain(variances).collect()
}
