//! Shapes of the encoder, the same in Rust and in the shaders.

/// Edge of a patch in pixels.
pub(crate) const PATCH: usize = 32;
/// Number of colour channels of an image.
pub(crate) const COLORS: usize = 3;
/// Number of values in a patch.
pub(crate) const PATCH_VALUES: usize = COLORS * PATCH * PATCH;
/// Width of a token.
pub(crate) const WIDTH: usize = 16;
/// Width between the two layers of the perceptron.
pub(crate) const HIDDEN: usize = 32;
/// Number of features of an image.
pub(crate) const FEATURES: usize = 512;

/// Number of tokens of a square image with an edge of `size` pixels, a multiple of [`PATCH`].
pub(crate) fn tokens(size: usize) -> usize {
    (size / PATCH) * (size / PATCH)
}

/// Number of values in a square image.
pub(crate) fn image_values(size: usize) -> usize {
    COLORS * size * size
}

/// Floating-point operations of a forward pass of the small encoder on a square image with an edge of `size` pixels, and those of them that
/// precede any dropout. A multiplication and an addition count as two; norm, mean and dropout are not counted.
pub(crate) fn operations(size: usize) -> (f64, f64) {
    let tokens = tokens(size);
    let embedding = tokens * PATCH_VALUES * WIDTH;
    let rest = tokens * tokens * WIDTH + 2 * tokens * WIDTH * HIDDEN + WIDTH * FEATURES;
    (2.0 * (embedding + rest) as f64, 2.0 * embedding as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_operations_precede_any_dropout() {
        let (all, prefix) = operations(224);
        assert_eq!(prefix, f64::from(2 * 49 * 3072 * 16));
        assert!((all - 5.01e6).abs() < 1e4 && prefix / all > 0.95, "{all} {prefix}");
    }
}
