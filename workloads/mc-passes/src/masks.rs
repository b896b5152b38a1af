//! Dropout masks from a counter: every variant, in every order and on every device, draws the same ones.

/// Drawn numbers below this drop their element: a tenth of all.
const THRESHOLD: u32 = 429_496_730;

/// Where the elements of each dropout layer start. Images up to 1024 x 1024 pixels have fewer elements between two.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer {
    /// What is mixed into a token from the others.
    Mixed = 0,
    /// What the perceptron adds to a token.
    Perceptron = 1 << 20,
    /// The mean of the tokens.
    Pooled = 2 << 20,
}

/// PCG's output function on 32 bits (RXS-M-XS): a bijection that spreads every bit over all.
fn scatter(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The key of one pass of one trial of an iteration.
pub(crate) fn pass_key(iteration: u32, trial: u64, pass: u64) -> u32 {
    scatter(scatter(iteration ^ scatter(trial as u32)) ^ scatter(pass as u32))
}

/// The mask of one image in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(u32);

impl Mask {
    /// The mask of the image at this place of the iteration's order.
    pub(crate) fn new(pass_key: u32, image: usize) -> Self {
        Self(scatter(pass_key ^ scatter(image as u32)))
    }

    /// What an element is multiplied by: 0, or what makes up for the dropped ones.
    pub(crate) fn factor(self, layer: Layer, element: usize) -> f64 {
        let drawn = scatter(self.0 ^ scatter(layer as u32 + element as u32));
        if drawn < THRESHOLD { 0.0 } else { 1.0 / 0.9 }
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
