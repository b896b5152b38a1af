// The sizes that all kernels share, the channels at hand, and the chunk of signals. A signal is a pair of bands of one
// channel: the bands are the real and the imaginary part.
struct Sizes {
    samples: u32,
    extension: u32,
    circle: u32,
    padded: u32,
    // Channels of the input.
    all_channels: u32,
    // Channels at hand, and the number of the first of them.
    channels: u32,
    first_channel: u32,
    // Bands of the kind at hand.
    bands: u32,
    // Number of the first signal of the chunk.
    first: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
