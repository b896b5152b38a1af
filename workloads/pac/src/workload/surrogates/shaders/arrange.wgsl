// Puts the amplitudes of all bands at one time next to each other, four in a vector, with zeros for missing bands.

// (band, channel, sample)
@group(0) @binding(0) var<storage, read> amplitudes: array<f32>;
// (channel, sample, vector)
@group(0) @binding(1) var<storage, read_write> rows: array<vec4f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let t = id.x;
    if t >= SAMPLES { return; }
    for (var vector = 0u; vector < VECTORS; vector++) {
        var four = vec4f();
        for (var i = 0u; i < min(4u, BANDS - 4u * vector); i++) {
            four[i] = amplitudes[((4u * vector + i) * CHANNELS + id.y) * SAMPLES + t];
        }
        rows[(id.y * SAMPLES + t) * VECTORS + vector] = four;
    }
}
