// Computes the tokens of a batch, two tokens per thread.

@group(0) @binding(6) var<storage, read_write> x: array<real4>;

@compute @workgroup_size(GROUP) fn main(@builtin(global_invocation_id) id: vec3u) {
    let count = batch.count * TOKENS;
    let first = id.x * 2u;
    if first >= count { return; }
    let second = min(first + 1u, count - 1u);
    let made = embed(array(corner(first / TOKENS, first % TOKENS), corner(second / TOKENS, second % TOKENS)));
    for (var c = 0u; c < LANES; c++) {
        x[first * LANES + c] = real4(made[c]);
        x[second * LANES + c] = real4(made[LANES + c]);
    }
}
