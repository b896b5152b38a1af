// The spectrum of every signal: that of its channel, times the squared gains of its two bands.

@group(0) @binding(1) var<storage, read> spectra: array<vec2f>;
@group(0) @binding(2) var<storage, read> gains: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> filtered: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let k = id.x;
    if k >= sizes.circle { return; }
    let signal = sizes.first + id.y;
    let input = spectra[signal % sizes.channels * sizes.circle + k];
    let gain = gains[signal / sizes.channels * sizes.circle + k];
    filtered[id.y * sizes.circle + k] = product(input, gain);
}
