// The sizes that all kernels share, and the chunk of signals at hand. A signal is a pair of bands of one channel: the
// bands are the real and the imaginary part.
struct Sizes {
    channels: u32,
    samples: u32,
    extension: u32,
    circle: u32,
    padded: u32,
    // Bands of the kind at hand.
    bands: u32,
    // Number of the first signal of the chunk.
    first: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
