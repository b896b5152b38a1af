//! Dropout from a counter: every variant draws the same masks, in every order and on every device.

/// WGSL functions `scatter`, `factor` and `factor4`, which agree with those of this module.
pub const SOURCE: &str = include_str!("shaders/dropout.wgsl");

/// A number below this threshold drops its element, which happens to a tenth of all.
const THRESHOLD: u32 = 429_496_730;

/// Output function of PCG on 32 bits (RXS-M-XS): a bijection in which every input bit affects all output bits.
pub fn scatter(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// Returns the factor of an element under a mask: 0, or the factor that compensates for the dropped elements.
pub fn factor(mask: u32, element: u32) -> f64 {
    if scatter(mask ^ scatter(element)) < THRESHOLD { 0.0 } else { 1.0 / 0.9 }
}
