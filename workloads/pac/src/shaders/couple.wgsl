// Computes the indexes of one phase band with all bands of one amplitude signal in each workgroup.

@group(0) @binding(1) var<storage, read> bins: array<u32>;
// (signal, sample)
@group(0) @binding(2) var<storage, read> amplitudes: array<Value>;
// Behind the output of `means`: (amplitude band, phase band, channel).
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
    @builtin(num_workgroups) groups: vec3u,
) {
    let signal = sizes.first + group.y;
    let channel = signal % sizes.channels;
    let words = (sizes.samples + 3u) / 4u;
    let row = (group.x * sizes.channels + channel) * words;
    clear_histogram(thread);
    for (var word = thread; word < words; word += SIZE) {
        let four = bins[row + word];
        for (var i = 0u; i < min(4u, sizes.samples - 4u * word); i++) {
            let at = ((four >> (8u * i)) & 255u) * SIZE + thread;
            sums[at] += amplitudes[group.y * sizes.samples + 4u * word + i];
            counts[at] += 1u;
        }
    }
    let index = index_of_histograms(thread);
    if thread == 0u {
        let band = signal / sizes.channels * WIDTH;
        let to = 2u * sizes.all_channels + (band * groups.x + group.x) * sizes.all_channels + sizes.first_channel + channel;
        store(index, to, to + groups.x * sizes.all_channels, band + 1u < sizes.bands);
    }
}
