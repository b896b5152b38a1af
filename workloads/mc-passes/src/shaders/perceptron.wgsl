// One thread per token, in place.

@group(0) @binding(7) var<storage, read_write> y: array<real4>;

@compute @workgroup_size(GROUP) fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= batch.count * TOKENS { return; }
    var token: array<vec4f, LANES>;
    for (var c = 0u; c < LANES; c++) { token[c] = vec4f(y[id.x * LANES + c]); }
    token = pass_token(token, id.x % TOKENS, mask_of(id.x / TOKENS));
    for (var c = 0u; c < LANES; c++) { y[id.x * LANES + c] = real4(token[c]); }
}
