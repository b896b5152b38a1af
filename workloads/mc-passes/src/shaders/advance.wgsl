// The end of a pass.

@group(0) @binding(1) var<storage, read_write> passes: array<u32>;

@compute @workgroup_size(1) fn main() { passes[0] += 1u; }
