// The whole encoder in one kernel: one group per image, whose tokens never leave its memory. All threads of a group use the
// same weights, so that they are seldom loaded.

// Tokens, and after the mixing the partial sums of each thread.
var<workgroup> x: array<vec4f, TOKENS * LANES>;

fn embedded(image: u32, token: u32, c: u32) -> vec4f {
    return x[token * LANES + c];
}

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    for (var token = thread; token < TOKENS; token += GROUP) {
        let start = corner(group.x, token);
        var made: array<vec4f, LANES>;
        for (var at = 0u; at < COLORS * PATCH * PATCH_ROW; at++) { add_pixels(&made, start, at); }
        for (var c = 0u; c < LANES; c++) { x[token * LANES + c] = made[c]; }
    }
    workgroupBarrier();
    let mask = mask_of(group.x);
    var sum: array<vec4f, LANES>;
    for (var token = thread; token < TOKENS; token += GROUP) {
        let passed = pass_token(mix_token(group.x, token, mask), token, mask);
        for (var c = 0u; c < LANES; c++) { sum[c] += passed[c]; }
    }
    workgroupBarrier();
    if thread < TOKENS {
        for (var c = 0u; c < LANES; c++) { x[thread * LANES + c] = sum[c]; }
    }
    workgroupBarrier();
    if thread < LANES {
        var all = vec4f();
        for (var other = 0u; other < min(GROUP, TOKENS); other++) { all += x[other * LANES + thread]; }
        pool(all, mask, thread);
    }
    workgroupBarrier();
    project(group.x, thread);
}
