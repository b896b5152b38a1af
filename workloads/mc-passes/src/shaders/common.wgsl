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

// Returns the key of the mask of an image of the batch.
fn mask_of(image: u32) -> u32 {
    return scatter(passes[passes[0] + 1u] ^ scatter(batch.first + image));
}
