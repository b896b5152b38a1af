// Spreads every amplitude of some pairs over all bins, of which one holds it and the others hold 0.

@group(0) @binding(1) var<storage, read> bins: array<u32>;
// (amplitude band, channel, sample)
@group(0) @binding(2) var<storage, read> amplitudes: array<f32>;
// (pair, sample, bin), from pair `first` on; pairs are (amplitude band, phase band, channel)
@group(0) @binding(4) var<storage, read_write> tensor: array<f32>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let t = id.x;
    if t >= sizes.samples { return; }
    let pair = sizes.first + id.y;
    let phases = sizes.bands * sizes.channels;
    let own = pair % phases * ((sizes.samples + 3u) / 4u) + t / 4u;
    let hot = (bins[own] >> (8u * (t % 4u))) & 255u;
    let row = pair / phases * sizes.channels + pair % sizes.channels;
    let amplitude = amplitudes[row * sizes.samples + t];
    let to = (id.y * sizes.samples + t) * BINS;
    for (var bin = 0u; bin < BINS; bin++) { tensor[to + bin] = select(0.0, amplitude, bin == hot); }
}
