// Parts that all kernels share: the current batch, the current pass, and the masks.

struct Batch {
    // Position of its first image in the iteration's order.
    first: u32,
    // Number of its images.
    count: u32,
}

@group(0) @binding(0) var<uniform> batch: Batch;
// Number of the current pass, followed by the keys of all passes of the trial.
@group(0) @binding(1) var<storage, read> passes: array<u32>;

// Number of vectors of four in a token.
const LANES = WIDTH / 4u;
// Number of tokens in a row of an image.
const COLUMNS = SIZE / PATCH;

const MIXED = 0u;
const PERCEPTRON = 1u << 20u;
const POOLED = 2u << 20u;

fn scatter(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// Returns the key of the mask of an image of the batch.
fn mask_of(image: u32) -> u32 {
    return scatter(passes[passes[0] + 1u] ^ scatter(batch.first + image));
}

fn factor(mask: u32, element: u32) -> f32 {
    return select(1.1111112, 0.0, scatter(mask ^ scatter(element)) < 429496730u);
}

fn factor4(mask: u32, element: u32) -> vec4f {
    return vec4f(
        factor(mask, element), factor(mask, element + 1u), factor(mask, element + 2u), factor(mask, element + 3u)
    );
}
