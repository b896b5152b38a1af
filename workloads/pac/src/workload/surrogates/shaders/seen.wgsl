// Mean of the indexes of a block of shifts, and the sum of their squared distances from it, for four amplitude bands.
// Negative squares mean that an index is NaN.
struct Seen {
    mean: vec4f,
    squares: vec4f,
}

// Position by (phase band, channel), block of shifts, and vector of four bands.
fn seen_at(signal: u32, block: u32, vector: u32) -> u32 {
    return (signal * (BLOCKS + 1u) + block) * VECTORS + vector;
}
