// Projects the mean of the tokens to the features.

@group(0) @binding(8) var<storage, read> projection: array<real4>;

var<workgroup> pooled: array<vec4f, LANES>;

fn pool(sum: vec4f, mask: u32, c: u32) {
    pooled[c] = sum / f32(TOKENS) * factor4(mask, POOLED + c * 4u);
}

fn project(image: u32, thread: u32) {
    for (var at = thread; at < FEATURES / 4u; at += GROUP) {
        var feature = vec4f();
        for (var c = 0u; c < WIDTH; c++) {
            feature += pooled[c / 4u][c % 4u] * vec4f(projection[c * (FEATURES / 4u) + at]);
        }
        store(image, at, feature);
    }
}
