// Digits of keys, least significant first.

const DIGIT_BITS = 4u;
const DIGITS = 16u;

fn digit_of(key: u32, pass_number: u32) -> u32 {
    return (key >> (pass_number * DIGIT_BITS)) % DIGITS;
}
