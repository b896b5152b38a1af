// The amplitudes of both bands of a signal.

@group(0) @binding(1) var<storage, read> filtered: array<vec2f>;
@group(0) @binding(2) var<storage, read> hilbert: array<vec2f>;
// (band, channel, sample)
@group(0) @binding(3) var<storage, read_write> amplitudes: array<f32>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let t = id.x;
    if t >= sizes.samples { return; }
    let x = filtered[id.y * sizes.circle + t];
    let y = hilbert[id.y * sizes.padded + t];
    let signal = sizes.first + id.y;
    let band = signal / sizes.channels * 2u;
    let row = band * sizes.channels + signal % sizes.channels;
    let both = sqrt(x * x + y * y);
    amplitudes[row * sizes.samples + t] = both.x;
    if band + 1u < sizes.bands { amplitudes[(row + sizes.channels) * sizes.samples + t] = both.y; }
}
