// Stores the features of each pass separately; the host adds them up.

@group(0) @binding(9) var<storage, read_write> output: array<vec4f>;

fn store(image: u32, at: u32, feature: vec4f) {
    output[image * (FEATURES / 4u) + at] = feature;
}
