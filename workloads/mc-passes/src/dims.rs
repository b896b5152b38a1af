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
