// Keys: labels as unsigned numbers in the same order.
//
// A kernel that sorts or searches declares `var<workgroup> keys`, which these functions use.

const LABEL_TO_KEY = 0x80000000u;

fn key_of(label: i32) -> u32 {
    return bitcast<u32>(label) ^ LABEL_TO_KEY;
}

fn label_of(key: u32) -> i32 {
    return bitcast<i32>(key ^ LABEL_TO_KEY);
}

// Fibonacci hashing: the upper `bits` bits of a product with 2^32 / golden ratio.
fn slot_of(key: u32, bits: u32) -> u32 {
    return (key * 2654435769u) >> (32u - bits);
}
