// The textbook: the number of samples of this phase band and channel.
fn divisor(bin: u32, own: u32) -> u32 { return own; }
