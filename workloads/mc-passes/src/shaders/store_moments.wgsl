// Updates the means, and after each mean the sum of squared deviations from it, by one pass (Welford). Sums of squares
// would lose the variance in float32.

@group(0) @binding(9) var<storage, read_write> output: array<vec4f>;

fn store(image: u32, at: u32, feature: vec4f) {
    let place = ((batch.first + image) * (FEATURES / 4u) + at) * 2u;
    let pass_number = passes[0];
    if pass_number == 0u {
        output[place] = feature;
        output[place + 1u] = vec4f();
        return;
    }
    let mean = output[place];
    let next = mean + (feature - mean) / f32(pass_number + 1u);
    output[place] = next;
    output[place + 1u] += (feature - mean) * (feature - next);
}
