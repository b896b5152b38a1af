// Makes the spectrum of every real row that of its analytic signal, in place: positive frequencies count twice, and
// negative ones not at all. All are divided by their number.

@group(0) @binding(1) var<storage, read_write> spectra: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let k = id.x;
    if k >= sizes.padded { return; }
    var weight = 0.0;
    if 2u * k < sizes.padded { weight = 2.0; }
    if k == 0u || 2u * k == sizes.padded { weight = 1.0; }
    spectra[id.y * sizes.padded + k] *= weight / f32(sizes.padded);
}
