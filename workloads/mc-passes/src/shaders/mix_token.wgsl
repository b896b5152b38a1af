// Mixes the other tokens of an image into a token. `embedded` locates them.

@group(0) @binding(4) var<storage, read> mixing: array<real>;

fn mix_token(image: u32, to: u32, mask: u32) -> array<vec4f, LANES> {
    var y: array<vec4f, LANES>;
    for (var from_ = 0u; from_ < TOKENS; from_++) {
        let weight = f32(mixing[from_ * TOKENS + to]);
        for (var c = 0u; c < LANES; c++) { y[c] += weight * embedded(image, from_, c); }
    }
    for (var c = 0u; c < LANES; c++) {
        let element = to * WIDTH + c * 4u;
        y[c] = embedded(image, to, c) + max(y[c], vec4f()) * factor4(mask, MIXED + element);
    }
    return y;
}
