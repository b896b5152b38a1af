// One group per image.

@group(0) @binding(7) var<storage, read> y: array<real4>;

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    for (var c = thread; c < LANES; c += GROUP) {
        var sum = vec4f();
        for (var token = 0u; token < TOKENS; token++) {
            sum += vec4f(y[(group.x * TOKENS + token) * LANES + c]);
        }
        pool(sum, mask_of(group.x), c);
    }
    workgroupBarrier();
    project(group.x, thread);
}
