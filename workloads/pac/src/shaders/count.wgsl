// Adds the number of samples in each bin to that of the call; one workgroup per phase band and channel.

@group(0) @binding(1) var<storage, read> bins: array<u32>;
@group(0) @binding(2) var<storage, read_write> in_call: array<atomic<u32>>;

var<workgroup> counts: array<atomic<u32>, BINS>;

@compute @workgroup_size(64) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let words = (sizes.samples + 3u) / 4u;
    let row = (group.x * sizes.channels + group.y) * words;
    for (var word = thread; word < words; word += 64u) {
        let four = bins[row + word];
        for (var i = 0u; i < min(4u, sizes.samples - 4u * word); i++) {
            atomicAdd(&counts[(four >> (8u * i)) & 255u], 1u);
        }
    }
    workgroupBarrier();
    for (var bin = thread; bin < BINS; bin += 64u) {
        atomicAdd(&in_call[bin], atomicLoad(&counts[bin]));
    }
}
