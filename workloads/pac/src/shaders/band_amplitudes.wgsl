// Computes the amplitudes of a band's analytic signal.

@group(0) @binding(1) var<storage, read> points: array<vec2f>;
// (row, sample)
@group(0) @binding(2) var<storage, read_write> amplitudes: array<f32>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= sizes.samples { return; }
    let point = points[id.y * sizes.padded + id.x];
    amplitudes[id.y * sizes.samples + id.x] = sqrt(dot(point, point));
}
