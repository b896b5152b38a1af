// Multiplies the spectrum of every row by the gain of its band, in place.

// (band, frequency), divided by the number of frequencies
@group(0) @binding(1) var<storage, read> gains: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> spectra: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= sizes.circle { return; }
    let band = (sizes.first + id.y) / sizes.channels;
    let at = id.y * sizes.circle + id.x;
    spectra[at] = product(spectra[at], gains[band * sizes.circle + id.x]);
}
