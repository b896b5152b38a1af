// Turns positive frequencies back by a quarter turn, and negative ones forward, and divides all by their number. The
// mean, and the highest frequency of an even number, become 0.

@group(0) @binding(1) var<storage, read_write> spectra: array<vec2f>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let k = id.x;
    if k >= sizes.padded { return; }
    let at = id.y * sizes.padded + k;
    let z = spectra[at] / f32(sizes.padded);
    var turned = vec2f();
    if k > 0u && 2u * k < sizes.padded { turned = vec2f(z.y, -z.x); }
    if 2u * k > sizes.padded { turned = vec2f(-z.y, z.x); }
    spectra[at] = turned;
}
