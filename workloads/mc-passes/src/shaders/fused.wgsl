// The whole encoder in one kernel: one group for each image, whose tokens never leave its memory.

var<workgroup> x: array<vec4f, TOKENS * LANES>;
// Sums over the tokens of each thread.
var<workgroup> sums: array<vec4f, 64u * LANES>;

fn embedded(image: u32, token: u32, c: u32) -> vec4f {
    return x[token * LANES + c];
}

@compute @workgroup_size(64) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    for (var first = 2u * thread; first < TOKENS; first += 128u) {
        let second = min(first + 1u, TOKENS - 1u);
        let made = embed(vec2u(corner(group.x, first), corner(group.x, second)));
        for (var c = 0u; c < LANES; c++) {
            x[first * LANES + c] = made[c];
            x[second * LANES + c] = made[LANES + c];
        }
    }
    workgroupBarrier();
    let mask = mask_of(group.x);
    var sum: array<vec4f, LANES>;
    for (var token = thread; token < TOKENS; token += 64u) {
        let passed = pass_token(mix_token(group.x, token, mask), token, mask);
        for (var c = 0u; c < LANES; c++) { sum[c] += passed[c]; }
    }
    for (var c = 0u; c < LANES; c++) { sums[thread * LANES + c] = sum[c]; }
    workgroupBarrier();
    if thread < LANES {
        var all = vec4f();
        for (var other = 0u; other < 64u; other++) { all += sums[other * LANES + thread]; }
        pool(all, mask, thread);
    }
    workgroupBarrier();
    project(group.x, thread);
}
