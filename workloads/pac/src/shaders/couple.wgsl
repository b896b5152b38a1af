// The index of one phase band, channel and amplitude band in each workgroup. Every thread has a histogram of its own
// in the workgroup's memory, so that nobody waits and no sum gets long.

const SIZE = 64u;

@group(0) @binding(1) var<storage, read> bins: array<u32>;
@group(0) @binding(2) var<storage, read> amplitudes: array<f32>;
// (amplitude band, phase band, channel)
@group(0) @binding(3) var<storage, read_write> index: array<f32>;

var<workgroup> sums: array<f32, BINS * SIZE>;
var<workgroup> counts: array<u32, BINS * SIZE>;
var<workgroup> means: array<f32, BINS>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
    @builtin(num_workgroups) groups: vec3u,
) {
    let phase = group.x;
    let amplitude = group.y * sizes.channels + phase % sizes.channels;
    let words = (sizes.samples + 3u) / 4u;
    for (var bin = 0u; bin < BINS; bin++) {
        sums[bin * SIZE + thread] = 0.0;
        counts[bin * SIZE + thread] = 0u;
    }
    for (var word = thread; word < words; word += SIZE) {
        let four = bins[phase * words + word];
        for (var i = 0u; i < min(4u, sizes.samples - 4u * word); i++) {
            let at = ((four >> (8u * i)) & 255u) * SIZE + thread;
            sums[at] += amplitudes[amplitude * sizes.samples + 4u * word + i];
            counts[at] += 1u;
        }
    }
    workgroupBarrier();
    for (var bin = thread; bin < BINS; bin += SIZE) {
        var sum = 0.0;
        var count = 0u;
        for (var i = 0u; i < SIZE; i++) {
            sum += sums[bin * SIZE + i];
            count += counts[bin * SIZE + i];
        }
        // A bin without samples is left out, which its negative mean says.
        means[bin] = select(-1.0, sum / f32(count), count > 0u);
    }
    workgroupBarrier();
    if thread == 0u {
        var total = 0.0;
        for (var bin = 0u; bin < BINS; bin++) { total += max(means[bin], 0.0); }
        // 1 + sum p ln p / ln BINS, as the sum of p ln(p BINS), where p BINS is near 1 and little is lost.
        var distance = 0.0;
        for (var bin = 0u; bin < BINS; bin++) {
            let p = means[bin] / total;
            if means[bin] >= 0.0 { distance += p * log(p * f32(BINS)); }
        }
        index[group.y * groups.x + phase] = distance / log(f32(BINS));
    }
}
