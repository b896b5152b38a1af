// The features of each pass by themselves, for the host to add up.

@group(0) @binding(9) var<storage, read_write> output: array<vec4f>;

fn store(image: u32, at: u32, feature: vec4f) {
    output[image * (FEATURES / 4u) + at] = feature;
}
