// Writes the signal minus its mean, then its reflection, and the reflection before it at the end of the circle.

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> means: array<f32>;
@group(0) @binding(3) var<storage, read_write> circle: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i >= sizes.circle { return; }
    let n = sizes.samples;
    let row = (sizes.first_channel + id.y) * n;
    let mean = means[id.y];
    var value = 0.0;
    if i < n {
        value = x[row + i] - mean;
    } else if i < n + sizes.extension {
        value = 2.0 * (x[row + n - 1u] - mean) - (x[row + 2u * (n - 1u) - i] - mean);
    } else if i >= sizes.circle - sizes.extension {
        value = 2.0 * (x[row] - mean) - (x[row + sizes.circle - i] - mean);
    }
    circle[id.y * sizes.circle + i] = vec2f(value, 0.0);
}
