// Merges the blocks of shifts (Chan et al. 1979), and computes the scores of four amplitude bands with a
// phase band of a channel in each thread.

@group(0) @binding(0) var<storage, read> seen: array<Seen>;
// (amplitude band, phase band, channel), as bits, because a shader may assume that there are no NaNs.
@group(0) @binding(1) var<storage, read_write> scores: array<u32>;

const NAN = 0x7fc00000u;
const INFINITY = 0x7f800000u;
// Largest relative error of an index, which has few roundings that do not cancel.
const ROUNDING = 1e-6;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let signal = id.x / VECTORS;
    let vector = id.x % VECTORS;
    if signal >= BANDS * CHANNELS { return; }
    var count = 0u;
    var mean = vec4f();
    var squares = vec4f();
    var is_nan = vec4<bool>();
    for (var block = 0u; block < BLOCKS; block++) {
        let more = min(BLOCK, SHIFTS - count);
        let other = seen[seen_at(signal, block, vector)];
        is_nan = is_nan | (other.squares < vec4f());
        let off = other.mean - mean;
        let share = f32(more) / f32(count + more);
        mean += off * share;
        squares += other.squares + off * off * (f32(count) * share);
        count += more;
    }
    let truth = seen[seen_at(signal, BLOCKS, vector)];
    let off = truth.mean - mean;
    // Indexes that differ by less than roundings to f32 are equal: an infinite score, or none.
    let rounding = ROUNDING * abs(mean);
    let is_flat = squares <= f32(SHIFTS) * rounding * rounding;
    is_nan = is_nan | (truth.squares < vec4f()) | (is_flat & (abs(off) <= rounding));
    let score = off / sqrt(max(squares, vec4f(1e-37)) / f32(SHIFTS));
    let endless = bitcast<vec4u>(off) & vec4u(0x80000000u) | vec4u(INFINITY);
    let bits = select(select(bitcast<vec4u>(score), endless, is_flat), vec4u(NAN), is_nan);
    for (var i = 0u; i < min(4u, BANDS - 4u * vector); i++) {
        scores[(4u * vector + i) * BANDS * CHANNELS + signal] = bits[i];
    }
}
