//! The natural logarithm as arithmetic without branches or tables, so that a loop over lanes becomes vector instructions.
//! The standard library calls a function for each number, and a z-score takes 18 logarithms for every shift.

use std::f64::consts::LN_2;

/// Bits of sqrt(1/2): the mantissa is taken between it and sqrt(2), where the series is shortest.
const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;
/// Bits of 1.0, which are also the bias of an exponent.
const ONE: u64 = 0x3FF0_0000_0000_0000;
/// 2^52: its bits, added to a small integer's, give the float64 of their sum. AVX2 converts no 64-bit integers.
const TO_FLOAT: f64 = 4_503_599_627_370_496.0;
/// Coefficients of ln(1 + f) for s = f / (2 + f), from FreeBSD's `e_log.c`; the error is below 1 ulp there.
const SERIES: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// Returns the logarithm of a normal positive number, and minus infinity for 0.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it has to be compiled with the vector instructions of its caller")]
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = bits.wrapping_sub(SQRT_HALF).wrapping_add(ONE) >> 52;
    let power = f64::from_bits(exponent | TO_FLOAT.to_bits()) - (TO_FLOAT + 1023.0);
    let f = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(ONE)) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let series = SERIES.into_iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * z);
    let logarithm = power * LN_2 + (f - s * (f - series));
    if x > 0.0 { logarithm } else { f64::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_logarithm_of_the_standard_library() {
        let near_1 = (1..2000).map(|i| 1.0 + (f64::from(i) - 1000.0) * 1e-7);
        let wide = (-1000..1000).map(|i| (f64::from(i) * 0.37).exp2() * 1.234_567);
        for x in near_1.chain(wide).chain([1.0, 0.5, 2.0, f64::MIN_POSITIVE, f64::MAX]) {
            let due = x.ln();
            assert!((ln(x) - due).abs() <= 4e-16 * due.abs().max(1e-3), "{x}: {} instead of {due}", ln(x));
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn an_empty_bin_makes_its_product_nan_like_0_ln_0() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!((0.0 * ln(0.0)).is_nan());
    }
}
