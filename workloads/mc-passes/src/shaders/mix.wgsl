// One group per image, so that the tokens of the others are loaded once for all threads.

@group(0) @binding(6) var<storage, read> x: array<real4>;
@group(0) @binding(7) var<storage, read_write> y: array<real4>;

fn embedded(image: u32, token: u32, c: u32) -> vec4f {
    return vec4f(x[(image * TOKENS + token) * LANES + c]);
}

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let mask = mask_of(group.x);
    for (var token = thread; token < TOKENS; token += GROUP) {
        let mixed = mix_token(group.x, token, mask);
        for (var c = 0u; c < LANES; c++) { y[(group.x * TOKENS + token) * LANES + c] = real4(mixed[c]); }
    }
}
