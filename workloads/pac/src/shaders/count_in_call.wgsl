// TensorPAC: the number of samples over all phase bands and channels.
@group(0) @binding(4) var<storage, read> in_call: array<u32>;

fn divisor(bin: u32, own: u32) -> u32 { return in_call[bin]; }
