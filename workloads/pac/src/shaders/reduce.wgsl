// Computes the index of one pair in each workgroup, from the sums of its one-hot tensor over the samples.

@group(0) @binding(1) var<storage, read> bins: array<u32>;
// (pair, sample, bin), from pair `first` on
@group(0) @binding(2) var<storage, read> tensor: array<f32>;
// Behind the output of `means`: (amplitude band, phase band, channel).
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let pair = sizes.first + group.x;
    let row = pair % (sizes.bands * sizes.channels) * ((sizes.samples + 3u) / 4u);
    clear_histogram(thread);
    var columns: array<f32, BINS>;
    for (var t = thread; t < sizes.samples; t += SIZE) {
        let start = (group.x * sizes.samples + t) * BINS;
        for (var bin = 0u; bin < BINS; bin++) { columns[bin] += tensor[start + bin]; }
        let hot = (bins[row + t / 4u] >> (8u * (t % 4u))) & 255u;
        counts[hot * SIZE + thread] += 1u;
    }
    for (var bin = 0u; bin < BINS; bin++) { sums[bin * SIZE + thread] = columns[bin]; }
    let index = index_of_histograms(thread);
    let to = 2u * sizes.all_channels + pair;
    if thread == 0u { store(index, to, to, false); }
}
