// Adds the values of a residual branch to the tokens, after dropout.

@group(0) @binding(2) var<uniform> first_element: u32;
@group(0) @binding(3) var<storage, read> added: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(GROUP) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= batch.count * TOKENS * WIDTH { return; }
    let element = first_element + i % (TOKENS * WIDTH);
    y[i] += added[i] * factor(mask_of(i / (TOKENS * WIDTH)), element);
}
