// Computes the indexes of one phase band with both amplitude bands of one signal in each workgroup. Every thread has
// its own histogram in the workgroup's memory, so that no thread waits and no sum gets long.

@group(0) @binding(1) var<storage, read> bins: array<u32>;
// (signal, sample)
@group(0) @binding(2) var<storage, read> amplitudes: array<vec2f>;
// Stored after the output of `means`: (amplitude band, phase band, channel).
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

var<workgroup> sums: array<vec2f, BINS * SIZE>;
var<workgroup> counts: array<u32, BINS * SIZE>;
var<workgroup> bin_means: array<vec2f, BINS>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
    @builtin(num_workgroups) groups: vec3u,
) {
    let signal = sizes.first + group.y;
    let channel = signal % sizes.channels;
    let words = (sizes.samples + 3u) / 4u;
    let row = (group.x * sizes.channels + channel) * words;
    for (var bin = 0u; bin < BINS; bin++) {
        sums[bin * SIZE + thread] = vec2f();
        counts[bin * SIZE + thread] = 0u;
    }
    for (var word = thread; word < words; word += SIZE) {
        let four = bins[row + word];
        for (var i = 0u; i < min(4u, sizes.samples - 4u * word); i++) {
            let at = ((four >> (8u * i)) & 255u) * SIZE + thread;
            sums[at] += amplitudes[group.y * sizes.samples + 4u * word + i];
            counts[at] += 1u;
        }
    }
    workgroupBarrier();
    for (var bin = thread; bin < BINS; bin += SIZE) {
        var sum = vec2f();
        var count = 0u;
        for (var i = 0u; i < SIZE; i++) {
            sum += sums[bin * SIZE + i];
            count += counts[bin * SIZE + i];
        }
        let by = divisor(bin, count);
        // A bin that is left out has a negative mean.
        bin_means[bin] = select(vec2f(-1.0), sum / f32(by), by > 0u);
    }
    workgroupBarrier();
    if thread == 0u {
        var total = vec2f();
        for (var bin = 0u; bin < BINS; bin++) { total += max(bin_means[bin], vec2f()); }
        // 1 + sum p ln p / ln BINS, as the sum of p ln(p BINS), where p BINS is near 1 and little is lost.
        var distance = vec2f();
        var is_nan = vec2<bool>();
        for (var bin = 0u; bin < BINS; bin++) {
            let mean = bin_means[bin];
            if mean.x < 0.0 { continue; }
            is_nan = is_nan | (mean == vec2f());
            let p = mean / total;
            distance += p * log(max(p * f32(BINS), vec2f(1e-30)));
        }
        // A shader may assume that there are no NaNs, so NaN is encoded as a number that no index can have.
        let index = select(distance / log(f32(BINS)), vec2f(-1.0), is_nan);
        let band = signal / sizes.channels * 2u;
        let to = 2u * sizes.all_channels + (band * groups.x + group.x) * sizes.all_channels + sizes.first_channel + channel;
        result[to] = index.x;
        if band + 1u < sizes.bands { result[to + groups.x * sizes.all_channels] = index.y; }
    }
}
