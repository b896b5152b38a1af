// Sizes that all kernels share, the current channels, and the chunk of signals. A signal is a pair of bands of one
// channel, its real and its imaginary part.
struct Sizes {
    samples: u32,
    extension: u32,
    circle: u32,
    padded: u32,
    // Number of channels of the input.
    all_channels: u32,
    // Number of current channels, and the first of them.
    channels: u32,
    first_channel: u32,
    // Number of bands of the current kind.
    bands: u32,
    // Number of the first signal of the chunk.
    first: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
