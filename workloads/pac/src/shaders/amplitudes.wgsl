// Computes the amplitudes of both bands of a signal.

@group(0) @binding(1) var<storage, read> filtered: array<vec2f>;
@group(0) @binding(2) var<storage, read> hilbert: array<vec2f>;
// (signal, sample)
@group(0) @binding(3) var<storage, read_write> amplitudes: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let t = id.x;
    if t >= sizes.samples { return; }
    let x = filtered[id.y * sizes.circle + t];
    let y = hilbert[id.y * sizes.padded + t];
    amplitudes[id.y * sizes.samples + t] = sqrt(x * x + y * y);
}
