//! Dropout masks of the encoder, from a counter.

use perfharness_layers::dropout::{self, scatter};

/// Offsets of the elements of each dropout layer. Images up to 1024 x 1024 pixels have fewer
/// elements between two, and with all layers of a large encoder images of 224 x 224.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer {
    /// Values that are mixed into a token from the others.
    Mixed = 0,
    /// Values that the perceptron adds to a token.
    Perceptron = 1 << 20,
    /// Mean of the tokens.
    Pooled = 2 << 20,
}

/// Returns the key of one pass of one trial of an iteration.
pub(crate) fn pass_key(iteration: u32, trial: u64, pass: u64) -> u32 {
    scatter(scatter(iteration ^ scatter(trial as u32)) ^ scatter(pass as u32))
}

/// The mask of one image in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(u32);

impl Mask {
    /// Returns the mask of the image at this position of the iteration's order.
    pub(crate) fn new(pass_key: u32, image: usize) -> Self {
        Self(scatter(pass_key ^ scatter(image as u32)))
    }

    /// Returns the factor of an element: 0, or the factor that compensates for the dropped elements.
    pub(crate) fn factor(self, layer: Layer, element: usize) -> f64 {
        dropout::factor(self.0, layer as u32 + element as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_dropped_whatever_the_key() {
        for key in 0..20 {
            let mask = Mask::new(pass_key(key, 1, 2), 3);
            let dropped = (0..32_768).filter(|i| mask.factor(Layer::Mixed, *i) == 0.0).count();
            assert!((3050..3500).contains(&dropped), "{dropped}");
        }
    }

    #[test]
    fn every_part_of_the_counter_changes_the_mask() {
        let bits = |mask: Mask, layer| (0..256).map(|i| mask.factor(layer, i) == 0.0).collect::<Vec<_>>();
        let base = bits(Mask::new(pass_key(1, 0, 0), 0), Layer::Mixed);
        for (key, image, layer) in [
            (pass_key(2, 0, 0), 0, Layer::Mixed),
            (pass_key(1, 1, 0), 0, Layer::Mixed),
            (pass_key(1, 0, 1), 0, Layer::Mixed),
            (pass_key(1, 0, 0), 1, Layer::Mixed),
            (pass_key(1, 0, 0), 0, Layer::Perceptron),
            (pass_key(1, 0, 0), 0, Layer::Pooled),
        ] {
            assert_ne!(bits(Mask::new(key, image), layer), base);
        }
    }
}
