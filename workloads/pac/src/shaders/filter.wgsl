// Writes the spectrum of every signal: that of its channel, mean included, times the squared gains of its two bands.

@group(0) @binding(1) var<storage, read> spectra: array<vec2f>;
@group(0) @binding(2) var<storage, read> means: array<f32>;
@group(0) @binding(3) var<storage, read> gains: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> filtered: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let k = id.x;
    if k >= sizes.circle { return; }
    let signal = sizes.first + id.y;
    let channel = signal % sizes.channels;
    var input = spectra[channel * sizes.circle + k];
    if k == 0u { input.x += means[channel] * f32(sizes.circle); }
    let gain = gains[signal / sizes.channels * sizes.circle + k];
    filtered[id.y * sizes.circle + k] = product(input, gain);
}
