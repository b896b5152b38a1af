// Computes the tokens of a batch, a workgroup for each: a few images have so few tokens that a thread for each would leave
// most of a large device idle.

@group(0) @binding(6) var<storage, read_write> x: array<real4>;

// Sums of the threads, lane by lane.
var<workgroup> sums: array<vec4f, GROUP * LANES>;

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32
) {
    let token = group.y * groups.x + group.x;
    if token >= batch.count * TOKENS { return; }
    let start = corner(token / TOKENS, token % TOKENS);
    var sum: array<vec4f, LANES>;
    for (var at = thread; at < COLORS * PATCH * PATCH_ROW; at += GROUP) { add_pixels(&sum, start, at); }
    for (var c = 0u; c < LANES; c++) { sums[c * GROUP + thread] = sum[c]; }
    workgroupBarrier();
    for (var gap = GROUP / 2u; gap > 0u; gap /= 2u) {
        if thread < gap {
            for (var c = 0u; c < LANES; c++) { sums[c * GROUP + thread] += sums[c * GROUP + thread + gap]; }
        }
        workgroupBarrier();
    }
    if thread < LANES { x[token * LANES + thread] = real4(sums[thread * GROUP]); }
}
