// Writes the samples that are kept, followed by zeros.

@group(0) @binding(1) var<storage, read> filtered: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> padded: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let t = id.x;
    if t >= sizes.padded { return; }
    var value = vec2f();
    if t < sizes.samples { value = filtered[id.y * sizes.circle + t]; }
    padded[id.y * sizes.padded + t] = value;
}
